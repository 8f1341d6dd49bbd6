// Ops on complex numbers, written as ops on their real and imaginary parts.
// Called by Apply for every op with a complex operand that does not just move memory
// (core/op.h: TakesComplex), and by the functions that resolve arguments, before a number becomes
// an array. Invariant: three ops know how complex numbers lie in memory, the views real and imag
// and the op complex, so kernels, whoever runs them, compute with real numbers only.
//
// A complex op is a composite, on_parts: as one plan when it is called alone, and in a trace its
// parts fuse with those of its neighbours, because the real part of complex(a, b) is a (the pass
// "parts"): what a chain computes stays in registers as pairs. Gradients come from those of the
// parts. With g = dL/d(re) + i dL/d(im), which is what `.grad` holds, the gradients of real, imag
// and complex are complex(g, 0), complex(0, g), and real(g) with imag(g).
//
// Functions follow C99's Annex G and the array API in special values and branch cuts. They compute
// in float64, complex64 too, which is rounded once.
#pragma once

#include "core/functions/ops.h"

namespace frazil {

// A call with complex operands; TypeError if the op has no meaning for them.
Tensor ApplyToParts(const OpCall& call);

namespace ops {

struct Parts {
  Tensor re, im;
};
Parts PartsOf(const Tensor& x);  // of a real one: itself and 0
Tensor Join(const Parts& parts);

// An elementwise op of arguments that meet in the complex dtype `dtype` (where: but the first).
Tensor OnParts(OpId op, DType dtype, std::initializer_list<Arg> args);
Tensor CastParts(const Tensor& x, DType dtype);
Tensor PadParts(const Tensor& x, Dims low_high, const Scalar& value);

// A function of one complex number in float64, by its row in core/ops.def. Undefined: there is none.
using PartsFunction = Parts (*)(const Parts& z);
PartsFunction FunctionOfParts(OpId op);
Parts PowerOfParts(const Parts& base, const Parts& exponent);
Parts QuotientOfParts(const Parts& a, const Parts& b);
Parts ProductOfParts(const Parts& a, const Parts& b);

}  // namespace ops
}  // namespace frazil
