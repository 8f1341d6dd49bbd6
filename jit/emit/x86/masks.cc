// Masks of lanes, and bools as bytes in memory.

#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::kNone;
namespace I = x86::Inst;

Codegen::Mask Codegen::TailMask() const { return masked_ ? tail_ : Mask(); }

Codegen::Mask Codegen::MaskWith(Id pred) {
  Mask mask = TailMask();
  if (pred == kNone) return mask;
  Mask out;
  out.any = true;
  if (z_) {
    out.k = KOf(pred);
    if (mask.any) {
      out.k = NewK();
      cc_.kandw(out.k, KOf(pred), mask.k);
    }
  } else {
    out.m32 = R(pred);
    if (mask.any) out.m32 = MakeBytes(v_ * 4, I::kIdVpand, R(pred), mask.m32);
  }
  return out;
}

Codegen::Vec Codegen::Mask64(const Vec& m32) {
  return MakeBytes(v_ * 8, I::kIdVpmovsxdq, m32.xmm());
}

Codegen::Vec Codegen::Mask32(const Vec& m64) {
  Vec high = cc_.newXmm(), d = cc_.newXmm();
  cc_.vextracti128(high, m64.ymm(), 1);
  cc_.vshufps(d, m64.xmm(), high, 0x88);
  return d;
}

Codegen::Gp Codegen::BoolBits(const Operand& mask) {
  Gp bits = cc_.newUInt32();
  if (z_) {
    // Through a fresh mask: asmjit would put a spilled one into the second move as a memory
    // operand, which it does not have.
    K fresh = NewK();
    const InstId move = v_ == 8 ? I::kIdKmovb : I::kIdKmovw;
    cc_.emit(move, fresh, mask);
    cc_.emit(move, bits, fresh);
  } else {
    cc_.emit(I::kIdVmovmskps, bits, mask);
  }
  return bits;
}

Codegen::Gp Codegen::MaskBits(const Mask& mask) {
  if (mask.any) return z_ ? BoolBits(mask.k) : BoolBits(mask.m32);
  Gp bits = cc_.newUInt32();
  cc_.mov(bits, (1 << v_) - 1);
  return bits;
}

// --- bools in memory

Codegen::Operand Codegen::BytesToBool(const Vec& bytes) {
  if (z_) {
    K k = NewK();
    cc_.emit(I::kIdVptestmb, k, bytes.xmm(), bytes.xmm());
    if (v_ == 8) cc_.kmovb(k, k);  // bits beyond the lanes stay zero everywhere
    return k;
  }
  Vec wide = MakeBytes(v_ * 4, I::kIdVpmovzxbd, bytes.xmm());
  return MakeBytes(v_ * 4, I::kIdVpcmpgtd, wide, Zero(v_ * 4));
}

Codegen::Vec Codegen::BoolToBytes(const Operand& mask) {
  static constexpr uint8_t kOnes[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  Mem ones = PoolBytes(kOnes, 16);
  Vec d = cc_.newXmm();
  if (z_) {
    cc_.k(mask.as<K>()).z().emit(I::kIdVmovdqu8, d, ones);
    return d;
  }
  Vec m = mask.as<Vec>();
  if (v_ == 8) {
    Vec high = cc_.newXmm();
    cc_.vextracti128(high.as<x86::Xmm>(), m.ymm(), 1);
    cc_.emit(I::kIdVpackssdw, d, m.xmm(), high);
  } else {
    cc_.emit(I::kIdVpackssdw, d, m.xmm(), m.xmm());
  }
  cc_.emit(I::kIdVpacksswb, d, d, d);
  cc_.emit(I::kIdVpand, d, d, ones);
  return d;
}

}  // namespace frazil::jit
