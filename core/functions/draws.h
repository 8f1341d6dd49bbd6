// The states that a program draws random numbers from, so that it can be run again with the same
// numbers. Called by checkpoint (batch/checkpoint.h) around its function, and by every draw
// (random.cc). Invariants: the scopes of a thread nest; a program that is run again moves no
// generator.
#pragma once

#include <vector>

#include "core/tensor.h"

#pragma GCC visibility push(default)
namespace frazil::ops {

using DrawLog = std::vector<Tensor>;

class DrawScope {
 public:
  // Appends to `log`, or draws again from what it has.
  DrawScope(DrawLog* log, bool again);
  ~DrawScope();
  DrawScope(const DrawScope&) = delete;

  // The state for a draw from `generator`, and whether that moves on.
  static StatusOr<std::pair<Tensor, bool>> Next(const Tensor& generator);

 private:
  StatusOr<std::pair<Tensor, bool>> State(const Tensor& generator);

  DrawLog* const log_;
  const bool again_;
  size_t next_ = 0;
  DrawScope* const outer_;
};

}  // namespace frazil::ops
#pragma GCC visibility pop
