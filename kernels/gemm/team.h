// The threads that work on one product together.
// Called by kernels/gemm/*.cc. Invariant: how work is spread never changes a result.
#pragma once

#include <cstdint>

#include "kernels/gemm/gemm.h"

namespace frazil::gemm {

class Team {
 public:
  Team() = default;  // the calling thread alone
  // `run` and `rows_done` outlive the team.
  Team(int threads, const ParallelRun& run, const RowsDone* rows_done = nullptr)
      : threads_(threads), run_(&run), rows_done_(rows_done) {}

  // The same threads, told of no rows.
  Team Quiet() const {
    Team team = *this;
    team.rows_done_ = nullptr;
    return team;
  }
  // To be called with each block of rows of the output when it is complete; may be null.
  const RowsDone* rows_done() const { return rows_done_; }

  int threads() const { return threads_; }

  // body(0) .. body(count - 1), on any of the threads.
  void Run(int64_t count, absl::FunctionRef<void(int64_t)> body) const {
    if (threads_ > 1 && count > 1) return (*run_)(count, body);
    for (int64_t i = 0; i < count; ++i) body(i);
  }

 private:
  int threads_ = 1;
  const ParallelRun* run_ = nullptr;
  const RowsDone* rows_done_ = nullptr;
};

}  // namespace frazil::gemm
