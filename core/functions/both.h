// Two or three operands as tensors of their common floating-point dtype, for elementwise composites.
// Called by the bodies in core/functions. Invariant: a number alone has its default dtype, one beside
// a tensor is weak.
#pragma once

#include <initializer_list>
#include <optional>

#include "core/functions/composite.h"

namespace frazil::ops {

inline DType FloatOf(std::initializer_list<const Arg*> all) {
  std::optional<DType> dtype;
  for (const Arg* a : all) {
    if (!a->tensor()) continue;
    // int8 and uint8 meet in float16, which holds both, not in the float for int16.
    const DType next = a->tensor()->dtype();
    dtype = dtype ? Promote(FloatFor(*dtype), FloatFor(next)) : next;
  }
  for (const Arg* a : all) {
    if (a->tensor()) continue;
    dtype = dtype ? Promote(*dtype, a->scalar().kind) : DefaultFor(a->scalar().kind);
  }
  return FloatFor(*dtype);
}

inline Tensor As(const Arg& a, DType dtype, bool array) {
  if (a.tensor()) return astype(*a.tensor(), dtype);
  return array ? full({}, a.scalar(), dtype) : scalar(a.scalar(), dtype);
}

struct Both {
  Both(const Arg& a, const Arg& b) {
    for (const Arg* given : {&a, &b}) {
      if (given->tensor() && !given->tensor()->ok()) {
        x = y = *given->tensor();
        return;
      }
    }
    const DType dtype = FloatOf({&a, &b});
    x = As(a, dtype, !b.tensor());
    y = As(b, dtype, false);
  }
  bool ok() const { return x.ok() && y.ok(); }
  const Tensor& error() const { return x.ok() ? y : x; }

  Tensor x, y;
};

template <typename Body>
Tensor OfBoth(CompositeId id, const Arg& a, const Arg& b, const Body& body) {
  const Both both(a, b);
  if (!both.ok()) return both.error();
  if (IsComplex(both.x.dtype())) {
    return TypeError("[", std::string(NameOf(id)),
                     "] is not defined for complex numbers: ", Describe(both.x), ".");
  }
  return Composite(id, {&both.x, &both.y}, {}, [&] { return body(both.x, both.y); });
}

inline Tensor Wider(const Tensor& x) { return astype(x, DType::kF64); }

}  // namespace frazil::ops
