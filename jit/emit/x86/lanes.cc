// What has no vector instruction: one lane after another through the stack, in a small loop at run
// time.
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
namespace I = x86::Inst;

// fn makes element `lane` of the result; a, b and out are its memory operands.
Codegen::Vec Codegen::Lanes(DType out, DType in, const Vec& a, const Vec* b, const LaneFn& fn) {
  Gp lane = cc_.newInt64();
  Gp slots[3];
  for (int i = 0; i < 3; ++i) {
    slots[i] = cc_.newIntPtr();
    cc_.lea(slots[i], Scratch(i));
  }
  cc_.emit(I::kIdVmovups, x86::ptr(slots[0]), a);
  if (b) cc_.emit(I::kIdVmovups, x86::ptr(slots[1]), *b);
  const int in_size = SizeOf(in), out_size = SizeOf(out);
  auto at = [&](int slot, int size) {
    Mem m = x86::ptr(slots[slot], lane, size == 8 ? 3 : 2);
    m.setSize(uint32_t(size));
    return m;
  };
  Label top = cc_.newLabel();
  cc_.xor_(lane, lane);
  cc_.bind(top);
  fn(lane, at(0, in_size), at(1, in_size), at(2, out_size));
  cc_.inc(lane);
  cc_.cmp(lane, v_);
  cc_.jl(top);
  return MakeBytes(RegBytes(out), I::kIdVmovups, x86::ptr(slots[2]));
}

Codegen::Vec Codegen::DivRem64(const Inst& inst) {
  const Vec a = R(inst.a), b = R(inst.b);
  const bool rem = inst.op == Op::kRem, is_signed = IsSigned(inst.type);
  return Lanes(
      inst.type, inst.type, a, &b, [&](const Gp&, const Mem& ma, const Mem& mb, const Mem& out) {
        Label store = cc_.newLabel(), divide = cc_.newLabel();
        Gp x = cc_.newInt64(), y = cc_.newInt64(), high = cc_.newInt64(), result = cc_.newInt64();
        cc_.mov(y, mb);
        cc_.xor_(result, result);
        cc_.test(y, y);
        cc_.jz(store);  // x / 0 and x rem 0 are 0
        cc_.mov(x, ma);
        if (is_signed) {
          cc_.cmp(y, -1);
          cc_.jne(divide);
          if (!rem) {  // negation wraps, so INT_MIN / -1 is INT_MIN; the remainder is 0
            cc_.mov(result, x);
            cc_.neg(result);
          }
          cc_.jmp(store);
          cc_.bind(divide);
          cc_.cqo(high, x);
          cc_.idiv(high, x, y);
        } else {
          cc_.xor_(high, high);
          cc_.div(high, x, y);
        }
        cc_.mov(result, rem ? high : x);
        cc_.bind(store);
        cc_.mov(out, result);
      });
}

Codegen::Vec Codegen::Mulhi64(const Inst& inst) {
  const Vec a = R(inst.a), b = R(inst.b);
  const bool is_signed = IsSigned(inst.type);
  return Lanes(inst.type, inst.type, a, &b,
               [&](const Gp&, const Mem& ma, const Mem& mb, const Mem& out) {
                 Gp x = cc_.newInt64(), high = cc_.newInt64();
                 cc_.mov(x, ma);
                 if (is_signed)
                   cc_.imul(high, x, mb);
                 else
                   cc_.mul(high, x, mb);
                 cc_.mov(out, high);
               });
}

// i64 or u64 to f32 with one rounding. A u64 beyond 2^63 is halved, keeping the lost bit, and
// doubled afterwards.
Codegen::Vec Codegen::Int64ToF32Avx2(DType from, const Vec& v) {
  return Lanes(DType::kF32, from, v, nullptr,
               [&](const Gp&, const Mem& a, const Mem&, const Mem& out) {
                 Gp x = cc_.newInt64();
                 Vec f = cc_.newXmm();
                 cc_.emit(I::kIdVxorps, f, f, f);
                 cc_.mov(x, a);
                 if (!IsSigned(from)) {
                   Label big = cc_.newLabel(), done = cc_.newLabel();
                   Gp bit = cc_.newInt64();
                   cc_.test(x, x);
                   cc_.js(big);
                   cc_.emit(I::kIdVcvtsi2ss, f, f, x);
                   cc_.jmp(done);
                   cc_.bind(big);
                   cc_.mov(bit, x);
                   cc_.and_(bit, 1);
                   cc_.shr(x, 1);
                   cc_.or_(x, bit);
                   cc_.emit(I::kIdVcvtsi2ss, f, f, x);
                   cc_.emit(I::kIdVaddss, f, f, f);
                   cc_.bind(done);
                 } else {
                   cc_.emit(I::kIdVcvtsi2ss, f, f, x);
                 }
                 cc_.emit(I::kIdVmovss, out, f);
               });
}

}  // namespace frazil::jit
