// The worker pool: splits a range among threads. Called by plans and library kernels.
// Invariant: the calling thread works too; results never depend on the number of threads or on how
// a range is split; nested calls run in the calling thread; after fork the child builds its own
// pool.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"

#pragma GCC visibility push(default)
namespace frazil {

inline constexpr int kMostThreads = 4096;
int NumThreads();   // in a body of ParallelFor: 1
int PoolThreads();  // in a body, too, those of the pool
// From 1 to kMostThreads; before: FRAZIL_NUM_THREADS, else the cores this process may use.
void SetNumThreads(int n);

// Calls body(begin, end) over disjoint parts of [0, n), each a multiple of `grain` except the last.
// Work that may be abandoned (core/threads/long_work.h) is cut into `min_parts` at least and stops
// between parts: some are then never done.
void ParallelFor(int64_t n, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> body,
                 int64_t min_parts = 1);

}  // namespace frazil
#pragma GCC visibility pop
