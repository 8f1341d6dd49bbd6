// Integer operations that need more than one instruction.
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
namespace I = x86::Inst;

Codegen::Vec Codegen::Shift(const Inst& inst) {
  const DType t = inst.type;  // counts beyond the width already give 0, or the sign
  if (inst.op == Op::kShl)
    return Make(t, BySize(t, I::kIdVpsllvd, I::kIdVpsllvq), R(inst.a), S(inst.b));
  if (IsUnsigned(t)) return Make(t, BySize(t, I::kIdVpsrlvd, I::kIdVpsrlvq), R(inst.a), S(inst.b));
  if (SizeOf(t) == 4 || z_)
    return Make(t, BySize(t, I::kIdVpsravd, I::kIdVpsravq), R(inst.a), S(inst.b));
  const Vec a = R(inst.a);
  Vec sign = Make(t, I::kIdVpcmpgtq, Zero(RegBytes(t)), a);
  Vec folded = Make(t, I::kIdVpxor, a, sign);
  Vec shifted = Make(t, I::kIdVpsrlvq, folded, S(inst.b));
  return Make(t, I::kIdVpxor, shifted, sign);
}

Codegen::Vec Codegen::Mul64Avx2(const Vec& a, const Vec& b) {
  const DType t = DType::kI64;
  Vec cross1 = Make(t, I::kIdVpmuludq, Make(t, I::kIdVpsrlq, a, 32), b);
  Vec cross2 = Make(t, I::kIdVpmuludq, Make(t, I::kIdVpsrlq, b, 32), a);
  Vec cross = Make(t, I::kIdVpsllq, Make(t, I::kIdVpaddq, cross1, cross2), 32);
  return Make(t, I::kIdVpaddq, Make(t, I::kIdVpmuludq, a, b), cross);
}

// 32 bits: products of the even and of the odd lanes, high halves put together.
Codegen::Vec Codegen::MulhiHalf(const Inst& inst) {
  const DType t = inst.type;
  const InstId mul = IsSigned(t) ? I::kIdVpmuldq : I::kIdVpmuludq;
  const Vec a = R(inst.a), b = R(inst.b);
  Vec even = Make(t, mul, a, b);
  Vec odd = Make(t, mul, Make(t, I::kIdVpsrlq, a, 32), Make(t, I::kIdVpsrlq, b, 32));
  Vec low = Make(t, I::kIdVpsrlq, even, 32);
  if (!z_) return Make(t, I::kIdVpblendd, low, odd, 0xAA);
  K odd_lanes = NewK();
  Gp bits = cc_.newUInt32();
  cc_.mov(bits, 0xAAAA);
  cc_.kmovw(odd_lanes, bits);
  cc_.k(odd_lanes).emit(I::kIdVmovdqa32, low, odd);
  return low;
}

// 32-bit quotients are exact in f64: both operands are, and a quotient that is no integer is
// farther from the next one than half an ulp.
Codegen::Vec Codegen::DivRem32(const Inst& inst) {
  const DType t = inst.type;
  const Vec a = R(inst.a), b = R(inst.b);
  const int half_lanes = z_ ? 8 : 4, wide = half_lanes * 8;
  std::vector<Vec> parts;
  for (int half = 0; half < v_ / half_lanes; ++half) {
    auto widen = [&](const Vec& x) {
      Vec part = NewVec(half_lanes * 4);
      if (half == 0) {
        part = z_ ? Vec(x.ymm()) : Vec(x.xmm());
      } else if (z_) {
        cc_.emit(I::kIdVextracti32x8, part, x, 1);
      } else {
        cc_.emit(I::kIdVextracti128, part, x, 1);
      }
      return U32OrI32ToF64(t, part, wide);
    };
    Vec x = widen(a), y = widen(b);
    Vec q = MakeBytes(wide, I::kIdVdivpd, x, y);
    parts.push_back(F64ToIndefinite32(t, q, half_lanes * 4));
  }
  Vec q = parts[0];
  if (parts.size() == 2) {
    q = NewFor(t);
    cc_.emit(z_ ? I::kIdVinserti32x8 : I::kIdVinserti128, q,
             z_ ? Vec(parts[0].zmm()) : Vec(parts[0].ymm()), parts[1], 1);
  }
  Vec result = q;
  if (inst.op == Op::kRem) {
    Vec product = Make(t, I::kIdVpmulld, q, b);
    result = Make(t, I::kIdVpsubd, a, product);
  }
  if (z_) {  // x / 0 and x rem 0 are 0
    K nonzero = NewK();
    cc_.emit(I::kIdVptestmd, nonzero, b, b);
    Vec d = NewFor(t);
    cc_.k(nonzero).z().emit(I::kIdVmovdqa32, d, result);
    return d;
  }
  Vec zero = Make(t, I::kIdVpcmpeqd, b, Zero(RegBytes(t)));
  return Make(t, I::kIdVpandn, zero, result);
}

}  // namespace frazil::jit
