// How a composite announces itself to the thread's door. Called by the bodies in
// core/functions/*.cc. Invariants: everything the body reads is in inputs or attrs; numbers travel
// as immediates in inputs, so their values are kernel arguments; inputs are the body's own copies
// of cells, since another thread may replace a cell's content between two of its ops.
#pragma once

#include <initializer_list>
#include <optional>

#include "core/functions/composites.h"

namespace frazil::ops {

// The body of a composite, of its operands and attributes as it announces them, where gradients are
// made from these (autograd/composite.cc). Null: the tape keeps what its ops keep.
using BodyOfOperands = Tensor (*)(absl::Span<const Tensor> operands, AttrSpan attrs);
BodyOfOperands FindBody(CompositeId id);
// Whether an operand is so large that memory counts: what the body makes on the way is not made one
// by one then, even the first time.
bool TakesMuch(const CompositeCall& call);

template <typename Body>
Tensor Composite(CompositeId id, std::initializer_list<const Tensor*> inputs, AttrSpan attrs,
                 const Body& body) {
  Tensor out;
  ApplyComposite(
      {static_cast<uint32_t>(id), absl::MakeConstSpan(inputs.begin(), inputs.size()), attrs},
      [&](absl::Span<Tensor> outputs) { outputs[0] = body(); }, {&out, 1});
  return out;
}

// Integers as the float64 in which quotients and means are computed; floats stay.
inline Tensor AsFloat(const Tensor& x) { return x.ok() ? astype(x, QuotientFor(x.dtype())) : x; }

// A number as an immediate of the tensor's dtype, for use inside a composite.
inline Tensor Number(double v, const Tensor& like) {
  const DType dtype = like.ok() && IsInexact(like.dtype()) ? PartOf(like.dtype()) : DType::kF64;
  return scalar(Scalar::Float(v), dtype);
}

// Axes as an attribute: a bit mask. None if one is wrong or given twice: such a call is no
// composite, and the reduction inside says so.
inline std::optional<int64_t> AxisMask(const Axes& axes, int rank) {
  if (!axes.has_value()) return -1;
  int64_t mask = 0;
  for (const int64_t a : *axes) {
    if (a < -rank || a >= rank) return std::nullopt;
    const int64_t bit = int64_t{1} << (a < 0 ? a + rank : a);
    if (mask & bit) return std::nullopt;
    mask |= bit;
  }
  return mask;
}

}  // namespace frazil::ops
