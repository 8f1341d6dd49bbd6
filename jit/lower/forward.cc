#include "jit/lower/forward.h"

#include <cmath>
#include <type_traits>

#include "core/check.h"

namespace frazil::jit {
namespace {

using kir::K;
using kir::V;

// Numbers of kernels/fn.def, by the names the op table uses.
enum FnNumber : int {
#define FZ_FN(E, name, operands, ulp32, ulp64) E,
#include "kernels/fn.def"
#undef FZ_FN
};
V Fn(FnNumber fn, V a, V b = {}) { return a.builder->Call(fn, a, b); }

// The forward column holds an expression for elementwise ops, a ReduceKind for reductions, NONE
// otherwise.
struct None {};
constexpr None NONE;
V Expression(V v) { return v; }
template <typename T>
V Expression(T) {
  FZ_CHECK(!"an op without an expression");
  return {};
}
// `column()` is the entry, which is not evaluated unless it is a kind.
template <typename F>
kir::ReduceKind Kind(F column) {
  if constexpr (std::is_same_v<decltype(column()), kir::ReduceKind>) return column();
  FZ_CHECK(!"not a reduction");
  return kir::ReduceKind::kSum;
}

// a / b for floats as q * b + r, |r| < |b|, r of either sign. The quotient is taken in two steps,
// each of which leaves an exact remainder while a / b is below 2^22 (f32) or 2^51 (f64).
struct Division {
  V ratio;  // a / b, rounded
  V q, r;   // rounded down, and what remains
};

Division Divide(V a, V b) {
  const V zero = K(a, 0.0), one = K(a, 1.0);
  const V ratio = a / b;
  const V q1 = trunc(ratio);
  const V r1 = select(q1 == zero, a, fma(-q1, b, a));  // 0 * inf is not a remainder
  const V q2 = trunc(r1 / b);
  const V r2 = select(q2 == zero, r1, fma(-q2, b, r1));
  const V wrong = ((r2 < zero) & (b > zero)) | ((r2 > zero) & (b < zero));
  const V q = q1 + q2;
  return {ratio, select(wrong, q - one, q), select(wrong, r2 + b, r2)};
}

}  // namespace

V FloorDiv(V a, V b) {
  if (IsUnsigned(a.type)) return a / b;
  if (IsSigned(a.type)) {
    const V zero = K(a, 0.0), r = rem(a, b);
    return a / b - select(((r ^ b) < zero) & (r != zero), K(a, 1.0), zero);
  }
  // A quotient that is infinite stands, and so does one by an infinity: a zero with its sign.
  const Division d = Divide(a, b);
  const V infinity = K(a, INFINITY);
  return select((abs(d.ratio) == infinity) | (abs(b) == infinity), d.ratio, d.q);
}

V FloorMod(V a, V b) {
  if (IsUnsigned(a.type)) return rem(a, b);
  const V zero = K(a, 0.0);
  if (IsSigned(a.type)) {
    const V r = rem(a, b);
    return select(((r ^ b) < zero) & (r != zero), r + b, r);
  }
  const V r = Divide(a, b).r;
  return select(r == zero, select(b < zero, K(a, -0.0), zero), r);
}

V SignBit(V a) {
  if (!IsFloat(a.type)) return a < K(a, 0.0);
  // Of 16 bits before they are widened: GPUs drop the sign of a NaN there.
  const kir::Inst& made = a.builder->kernel()->body[a.id];
  if (made.op == kir::Op::kCast && IsHalf(a.builder->kernel()->body[made.a].type)) {
    const V half{a.builder, made.a, a.builder->kernel()->body[made.a].type};
    const V bits = cast(DType::kU32, bitcast(DType::kU16, half));
    return (bits >> KBits(bits, 15)) != KBits(bits, 0);
  }
  const bool f64 = a.type == DType::kF64;
  const V bits = bitcast(f64 ? DType::kU64 : DType::kU32, a);
  return (bits >> KBits(bits, f64 ? 63 : 31)) != KBits(bits, 0);
}

V Power(V a, V b) {
  if (IsFloat(a.type)) return Fn(kPow, a, b);
  const V zero = K(a, 0.0), one = K(a, 1.0);
  V result = one, square = a;
  const int bits = BitsOf(a.type) - (IsSigned(a.type) ? 1 : 0);
  for (int i = 0; i < bits; ++i) {
    const V bit = b & a.builder->ConstBits(a.type, uint64_t{1} << i);
    result = select(bit != zero, result * square, result);
    if (i + 1 < bits) square = square * square;
  }
  if (IsUnsigned(a.type)) return result;
  const V odd = (b & one) != zero;
  const V inverse = select(a == one, one, select(a == K(a, -1.0), select(odd, a, one), zero));
  return select(b < zero, inverse, result);
}

V Forward(OpId op, V a, V b, V c) {
  using enum kir::ReduceKind;
  switch (op) {
#define FZ_OP(name, klass, arity, types, result, forward, ...) \
  case OpId::k_##name:                                         \
    return Expression(forward);
#include "core/ops.def"
  }
  return {};
}

kir::ReduceKind ReduceKindOf(OpId op) {
  using enum kir::ReduceKind;
  const V a, b, c;  // the names that expressions know
  switch (op) {
#define FZ_OP(name, klass, arity, types, result, forward, ...) \
  case OpId::k_##name:                                         \
    return Kind([&] { return forward; });
#include "core/ops.def"
  }
  return kSum;
}

}  // namespace frazil::jit
