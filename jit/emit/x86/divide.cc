// Division of floats by a divisor that many vectors share, such as a row's sum: exact, but without
// the divider, which takes 10 (f32) or 17 cycles (f64) for a vector of AVX-512. (AVX2's takes half
// of that for half a vector: nothing to gain.)
//
// With high = 1 / b rounded and low what that leaves of 1 / b, q = a high + a low is within one ulp
// of a / b, and q - (q b - a) high, rounded once, is a / b rounded: theorem 4.8 of Muller et al.,
// Handbook of Floating-Point Arithmetic (2018), after Markstein. It asks that nothing underflows or
// overflows, so quotients below `least`, which may, or that are no numbers, send the vector to the
// divider. So does any numerator if the divisor is not good; if it is, +0 gives +0 here, too (-0
// may not) and is let through, as it is frequent.
#include <algorithm>
#include <vector>

#include "core/tuned.h"
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
namespace I = x86::Inst;

namespace {

// Divisors from 2^-range to 2^range; quotients from 2^-least, where the product with the divisor
// and its rounding error are normal, too.
struct Limits {
  uint64_t one, low, high, least;
};

Limits LimitsOf(DType t) {
  const auto power = [&](int e) {
    return t == DType::kF64 ? uint64_t(1023 + e) << 52 : uint64_t(127 + e) << 23;
  };
  if (t == DType::kF64) return {power(0), power(-500), power(500), power(-900)};
  return {power(0), power(-64), power(64), power(-98)};
}

}  // namespace

// Behind the divisor's own code.
void Codegen::PrepareDivisor(Id id) {
  const DType t = k_.body[id].type;
  const Limits limits = LimitsOf(t);
  Divisor& d = divisors_[PlaceOfValue(id)];
  d.value = R(id);
  d.high = NewFor(t);
  d.low = NewFor(t);
  Copy(d.high, d.value);
  Copy(d.low, d.value);
  d.least = ConstReg(t, ~uint64_t{0});  // NaNs: always to the divider
  d.zero = ConstReg(t, ~uint64_t{0});
  Label done = cc_.newLabel();
  Gp count = cc_.newInt64();
  if (k_.has_loop) {
    cc_.mov(count, x86::qword_ptr(extents_, k_.rank * 8));
  } else {
    cc_.mov(count, col_end_);
    cc_.sub(count, col_begin_);
  }
  cc_.cmp(count, tuned::kDividedVectors * (k_.has_loop && space_ ? 1 : v_));
  cc_.jl(done);
  const Vec one = ConstReg(t, limits.one);
  cc_.emit(BySize(t, I::kIdVdivps, I::kIdVdivpd), d.high, one, d.value);
  Copy(d.low, d.high);
  cc_.emit(BySize(t, I::kIdVfnmadd213ps, I::kIdVfnmadd213pd), d.low, d.value, one);
  cc_.emit(BySize(t, I::kIdVmulps, I::kIdVmulpd), d.low, d.low, d.high);
  const Vec most = Make(t, BySize(t, I::kIdVmaxps, I::kIdVmaxpd), d.high, one);
  const Vec least = Make(t, BySize(t, I::kIdVmulps, I::kIdVmulpd), most, ConstMem(t, limits.least));
  const InstId compare = BySize(t, I::kIdVcmpps, I::kIdVcmppd);
  constexpr int kNotLess = 29, kNotMore = 18;  // false for NaN
  K within = NewK();  // asmjit takes the destination of a masked comparison for an input
  cc_.emit(compare, within, d.value, ConstMem(t, limits.low), kNotLess);
  cc_.k(within).emit(compare, within, d.value, ConstMem(t, limits.high), kNotMore);
  cc_.k(within).emit(BySize(t, I::kIdVmovaps, I::kIdVmovapd), d.least, least);
  const Vec zero = Zero(64);  // an instruction of its own, without the mask
  cc_.k(within).emit(BySize(t, I::kIdVmovaps, I::kIdVmovapd), d.zero, zero);
  cc_.bind(done);
}

Codegen::Vec Codegen::QuickDivide(const Inst& inst) {
  const DType t = inst.type;
  const Divisor& by = divisors_[PlaceOfValue(inst.b)];
  const Vec a = R(inst.a);
  Vec q = Make(t, BySize(t, I::kIdVmulps, I::kIdVmulpd), a, by.low);
  cc_.emit(BySize(t, I::kIdVfmadd231ps, I::kIdVfmadd231pd), q, a, by.high);
  Vec error = NewFor(t);
  Copy(error, q);
  cc_.emit(BySize(t, I::kIdVfmsub213ps, I::kIdVfmsub213pd), error, by.value, a);
  cc_.emit(BySize(t, I::kIdVfnmadd231ps, I::kIdVfnmadd231pd), q, error, by.high);
  const Vec size = Bits(Op::kAnd, t, q, ConstMem(t, SignBit(t) - 1));
  const InstId compare = BySize(t, I::kIdVcmpps, I::kIdVcmppd);
  constexpr int kLessOrNan = 25, kNotEqual = 4;
  Label done = cc_.newLabel();
  K doubtful = NewK();
  cc_.emit(compare, doubtful, size, by.least, kLessOrNan);
  cc_.k(doubtful).emit(BySize(t, I::kIdVpcmpd, I::kIdVpcmpq), doubtful, a, by.zero, kNotEqual);
  cc_.kortestw(doubtful, doubtful);
  cc_.jz(done);
  cc_.emit(BySize(t, I::kIdVdivps, I::kIdVdivpd), q, a, by.value);
  cc_.bind(done);
  return q;
}

}  // namespace frazil::jit
