// Loops that test their condition themselves (Loop::condition): how their bodies become fit for a
// plan. They come from the tracer, which finds them in programs (tracer/while_loop.h), as graphs of
// their own. Called by Compile, which has run the passes over the body, before groups are looked
// for.
//
// Where the body is one over small arrays it is a kernel of scalars (scalar_loop.h), with the test
// inside: the kernel ends behind the last iteration, or behind kAtOnce of them. Around it stands
// the loop itself, as steps, which calls it again until the condition is false; between two calls it
// can be interrupted. Every other body is steps, tested by LoopStep behind each iteration.
//
// Invariant: the results are those of the body run until its condition is false, at least once.
#pragma once

#include <limits>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "jit/graph/graph.h"

namespace frazil::jit {

// Iterations of one call of a kernel: about a millisecond.
inline constexpr int64_t kAtOnce = 1 << 14;
// Of a loop that ends when it wants to.
inline constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();

// Adds a loop and its results: the nodes of the body's outputs, or -1 of those not wanted.
std::vector<int32_t> AddLoop(Graph* graph, Loop loop, absl::Span<const int32_t> operands,
                             absl::FunctionRef<bool(int32_t output)> wanted);

// Outputs that a pass has made inputs, views or the same become values of their own again.
void SeparateOutputs(Graph* body);

// The loop as a kernel of scalars within it, if that is the faster way; otherwise nothing.
std::optional<Loop> InScalars(const Loop& loop);

}  // namespace frazil::jit
