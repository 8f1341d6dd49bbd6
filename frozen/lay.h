// How the weights of a loaded program lie in memory: those that it only turns before it multiplies
// by them, as each nn.Linear does, lie turned, so that products of few rows read them as they lie.
// Called by frozen/loaded.cc. Invariant: elements and shapes stay; results do not depend on layouts.
#pragma once

#include "absl/types/span.h"
#include "core/tensor.h"
#include "frozen/program.h"

namespace frazil::frozen {

// `tensors`: in the program's order.
Status LayWeights(const Program& program, absl::Span<Tensor> tensors);

}  // namespace frazil::frozen
