// Writes down what ops a composite's body calls, as a program over its operands. Called by the
// session, which records calls, and by the eager door, which then runs the composite as a plan
// (jit/eager/eager_composite.h).
// Invariant: the program depends on the composite's attributes and on metadata and identity of
// its operands alone; no array but these and what the body made is in it.
#pragma once

#include <memory>

#include "tracer/program.h"

namespace frazil::tracer {

// A call's operands, which no other thread replaces.
class HeldInputs {
 public:
  explicit HeldInputs(absl::Span<const Tensor* const> inputs);
  HeldInputs(const HeldInputs&) = delete;
  HeldInputs& operator=(const HeldInputs&) = delete;

  absl::Span<const Tensor* const> get() const { return pointers_; }

 private:
  absl::InlinedVector<Tensor, 4> held_;
  absl::InlinedVector<const Tensor*, 4> pointers_;
};

class BodyRecorder {
 public:
  // The inputs have to outlive this.
  explicit BodyRecorder(const HeldInputs& inputs);
  // An op of the body that has run.
  void Add(const OpCall& call, const Tensor& output);
  // Null if the body failed, made nothing of its own, or met an array that is neither an input nor
  // its own: a cell's new content, which another thread put there.
  std::shared_ptr<const Program> Finish(absl::Span<const Tensor> outputs);

 private:
  // The result of the body that `v` is, or -1.
  ValueId ResultOf(const Value& v) const;
  ValueId Operand(const Tensor& t);

  const absl::Span<const Tensor* const> inputs_;
  const uint64_t serial_;  // the body's values are numbered on their own
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  bool closed_ = true;  // no array from elsewhere
};

}  // namespace frazil::tracer
