// Writes down what ops a composite's body calls. Called by the session, which records calls, and by
// the eager door, which then runs the composite as a plan (jit/runtime/eager_composite.h).
// Invariant: the expansion depends on the composite's attributes and on metadata and identity of
// its operands alone.
#pragma once

#include <memory>

#include "tracer/node.h"

namespace frazil::tracer {

class ExpansionRecorder {
 public:
  // The call and what it points to have to outlive this.
  explicit ExpansionRecorder(const CompositeCall& call);
  // An op of the body that has run.
  void Add(const OpCall& call, const Tensor& output);
  // Null if the body failed or made nothing of its own.
  std::unique_ptr<Expansion> Finish(absl::Span<const Tensor> outputs);

 private:
  // The result of the body that `v` is, or -1.
  int32_t ResultOf(const Value& v) const;
  int32_t Operand(const Tensor& t);

  const CompositeCall& call_;
  const uint64_t serial_;  // the body's values are numbered on their own
  std::unique_ptr<Expansion> expansion_ = std::make_unique<Expansion>();
};

}  // namespace frazil::tracer
