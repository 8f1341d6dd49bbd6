// The mathematical functions of kernels/fn.def, written once as templates over a value type V
// (kernels/fn_base.h says what a V needs). Called by legalisation, which inlines them into kernels,
// and by tests with a scalar V. Invariant: for all inputs within the error bounds of fn.def,
// special values as C99; no branch on data, no memory but the tables of kernels/fn_tables.h, no
// operation but IEEE arithmetic, fma and integers, so that the bits are the same wherever a kernel
// runs.
#pragma once

#include <cstdint>

#include "kernels/fn_arc.h"
#include "kernels/fn_atan.h"
#include "kernels/fn_exp.h"
#include "kernels/fn_hyperbolic.h"
#include "kernels/fn_log.h"
#include "kernels/fn_pow.h"
#include "kernels/fn_quotients.h"
#include "kernels/fn_tanh_erf.h"
#include "kernels/fn_trig.h"

namespace frazil {

enum class Fn : uint8_t {
#define FZ_FN(E, name, operands, ulp32, ulp64) E,
#include "kernels/fn.def"
#undef FZ_FN
};

// f(a) or f(a, b); the operands are both f32 or both f64 and so is the result.
template <class V>
V CallFn(Fn f, V a, V b = {}) {
  switch (f) {
    case Fn::kExp:
      return fn::Exp(a);
    case Fn::kExpm1:
      return fn::Expm1(a);
    case Fn::kLog:
      return fn::Log(a);
    case Fn::kLog1p:
      return fn::Log1p(a);
    case Fn::kSin:
      return fn::Sin(a);
    case Fn::kCos:
      return fn::Cos(a);
    case Fn::kTan:
      return fn::Tan(a);
    case Fn::kAtan:
      return fn::Atan(a);
    case Fn::kTanh:
      return fn::Tanh(a);
    case Fn::kErf:
      return fn::Erf(a);
    case Fn::kPow:
      return fn::Pow(a, b);
    case Fn::kLog2:
      return fn::Log2(a);
    case Fn::kLog10:
      return fn::Log10(a);
    case Fn::kAsin:
      return fn::Asin(a);
    case Fn::kAcos:
      return fn::Acos(a);
    case Fn::kSinh:
      return fn::Sinh(a);
    case Fn::kCosh:
      return fn::Cosh(a);
    case Fn::kAsinh:
      return fn::Asinh(a);
    case Fn::kAcosh:
      return fn::Acosh(a);
    case Fn::kAtanh:
      return fn::Atanh(a);
    case Fn::kRsqrt:
      return fn::Rsqrt(a);
    case Fn::kSigmoid:
      return fn::Sigmoid(a);
  }
  return a;
}

}  // namespace frazil
