// A line on standard error that says how far long work is: compiling a plan's kernels
// (jit/plan/plan_builder.cc), taking weights out of a file (frozen/loaded.cc). fz.progress is the same for loops in Python; here Python cannot run,
// because the host's lock is held and operands are plain pointers meanwhile.
// Invariant: nothing is written unless FRAZIL_PROGRESS or a terminal asks for it and the work takes
// long; a line that was begun is taken away at the end.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/threads/mutex.h"

namespace frazil {

class ProgressLine {
 public:
  ProgressLine(std::string_view what, int64_t total);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // One more is done. Any thread.
  void Advance();

 private:
  const std::string_view what_;
  const int64_t total_;
  const bool shown_;
  const int64_t begin_;
  Mutex mutex_;
  int64_t done_ ABSL_GUARDED_BY(mutex_) = 0, last_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t wide_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace frazil
