// Conversions: the ones that jit/kir/legalize.h leaves. Each is exact or rounds once; float to
// integer truncates, saturates, and turns NaN into 0.
#include "core/check.h"
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
namespace I = x86::Inst;

namespace {

constexpr uint32_t kTwo31f = 0x4f000000, kTwo32f = 0x4f800000, kTwo63f = 0x5f000000;
constexpr uint64_t kTwo31 = 0x41e0000000000000, kTwo52 = 0x4330000000000000,
                   kTwo63 = 0x43e0000000000000, kTwo64 = 0x43f0000000000000,
                   kTwo84 = 0x4530000000000000;
constexpr uint64_t kMaxI32 = 0x41dfffffffc00000, kMinI32 = 0xc1e0000000000000,
                   kMaxU32 = 0x41efffffffe00000;
constexpr int kGe = 0x1d, kOrd = 7;

}  // namespace

void Codegen::EmitCast(Id id) {
  const Inst& inst = k_.body[id];
  const DType to = inst.type, from = k_.body[inst.a].type;
  FZ_CHECK(to != from);  // kir/verify.cc
  if (IsBool(from)) return Set(id, BoolTo(to, Val(inst.a)));
  if (Is(id, Form::kFlag)) return Set(id, BoolTo(to, Val(k_.body[inst.a].a)));
  const Vec v = R(inst.a);
  const bool from_small = SizeOf(from) < 4, to_small = SizeOf(to) < 4;
  if (from_small) {
    if (IsFloat(from)) return Set(id, FloatToFloat(to, from, v));
    return Set(id, SmallToInt(from, v));
  }
  if (IsFloat(from))
    return Set(id, IsFloat(to) ? FloatToFloat(to, from, v) : FloatToInt(to, from, v));
  if (IsFloat(to)) return Set(id, IntToFloat(to, from, v));
  Set(id, to_small ? IntToSmall(to, v) : IntToInt(to, from, v));
}

void Codegen::EmitBitcast(Id id) {
  // Equal sizes share a register form, so the bits are already there.
  Set(id, R(k_.body[id].a));
}

// One or zero.
Codegen::Vec Codegen::BoolTo(DType to, const Operand& v) {
  if (!z_ && to == DType::kI32) return MakeBytes(v_ * 4, I::kIdVpsrld, v, 31);
  const Mem one = ConstMem(to, OneOf(to));
  if (!z_) return Bits(Op::kAnd, to, MaskFor(v.as<Vec>(), to), one);
  Vec d = NewFor(to);
  const InstId id = IsFloat(to) ? BySize(to, I::kIdVbroadcastss, I::kIdVbroadcastsd)
                                : BySize(to, I::kIdVpbroadcastd, I::kIdVpbroadcastq);
  cc_.k(v.as<K>()).z().emit(id, d, one.cloneBroadcasted(Mem::Broadcast::kNone));
  return d;
}

Codegen::Vec Codegen::SmallToInt(DType from, const Vec& v) {
  const bool s = IsSigned(from);
  if (SizeOf(from) == 1) return Make(DType::kI32, s ? I::kIdVpmovsxbd : I::kIdVpmovzxbd, v.xmm());
  return Make(DType::kI32, s ? I::kIdVpmovsxwd : I::kIdVpmovzxwd, v);
}

// The low 8 or 16 bits of every 32-bit lane, packed.
Codegen::Vec Codegen::IntToSmall(DType to, const Vec& v) {
  const bool byte = SizeOf(to) == 1;
  Vec d = NewFor(to);
  if (z_) {
    cc_.emit(byte ? I::kIdVpmovdb : I::kIdVpmovdw, d, v);
    return d;
  }
  Vec low = MakeBytes(v_ * 4, I::kIdVpand, v, ConstMem(DType::kI32, byte ? 0xff : 0xffff));
  Vec high = low;
  if (v_ == 8) {
    high = cc_.newXmm();
    cc_.emit(I::kIdVextracti128, high, low, 1);
  }
  cc_.emit(I::kIdVpackusdw, d, low.xmm(), high.xmm());
  if (byte) cc_.emit(I::kIdVpackuswb, d, d, d);
  return d;
}

Codegen::Vec Codegen::IntToInt(DType to, DType from, const Vec& v) {
  if (SizeOf(to) == SizeOf(from)) return v;
  if (SizeOf(to) == 8) return Make(to, IsSigned(from) ? I::kIdVpmovsxdq : I::kIdVpmovzxdq, v);
  return z_ ? Make(to, I::kIdVpmovqd, v) : Mask32(v);
}

// --- integer to float

Codegen::Vec Codegen::U32OrI32ToF64(DType from, const Vec& v, int wide_bytes) {
  if (IsSigned(from)) return MakeBytes(wide_bytes, I::kIdVcvtdq2pd, v);
  if (z_) return MakeBytes(wide_bytes, I::kIdVcvtudq2pd, v);
  // The bits below 2^52's own are the integer: subtracting 2^52 leaves it, exactly.
  uint64_t two52[4] = {kTwo52, kTwo52, kTwo52, kTwo52};
  const Mem magic = PoolBytes(two52, 32);
  Vec d = MakeBytes(wide_bytes, I::kIdVpmovzxdq, v);
  cc_.emit(I::kIdVpor, d, d, magic);
  cc_.emit(I::kIdVsubpd, d, d, magic);
  return d;
}

Codegen::Vec Codegen::IntToFloat(DType to, DType from, const Vec& v) {
  const bool s = IsSigned(from), to64 = SizeOf(to) == 8;
  if (SizeOf(from) == 4) {
    if (to64) return U32OrI32ToF64(from, v, v_ * 8);
    if (s) return Make(to, I::kIdVcvtdq2ps, v);
    if (z_) return Make(to, I::kIdVcvtudq2ps, v);
    // Both halves convert exactly; only the final sum rounds.
    Vec high = Make(to, I::kIdVcvtdq2ps, Make(from, I::kIdVpsrld, v, 16));
    Vec low = Make(to, I::kIdVcvtdq2ps, Make(from, I::kIdVpand, v, ConstMem(from, 0xffff)));
    Vec scaled = Make(to, I::kIdVmulps, high, ConstMem(DType::kF32, 0x47800000));
    return Make(to, I::kIdVaddps, scaled, low);
  }
  if (z_) {
    const InstId id =
        to64 ? (s ? I::kIdVcvtqq2pd : I::kIdVcvtuqq2pd) : (s ? I::kIdVcvtqq2ps : I::kIdVcvtuqq2ps);
    return Make(to, id, v);
  }
  if (!to64) return Int64ToF32Avx2(from, v);
  // The low half in a double of exponent 2^52, the high half (signed: biased) in one of 2^84; their
  // difference with the magic numbers is exact, only the sum rounds.
  Vec low = Make(from, I::kIdVpblendd, v, ConstMem(from, kTwo52), 0xAA);
  Vec high = Make(from, I::kIdVpsrlq, v, 32);
  high = Make(from, I::kIdVpxor, high, ConstMem(from, s ? kTwo84 | 0x80000000u : kTwo84));
  // 2^84 + 2^52, with the bias 2^63 added for signed values.
  const uint64_t magic = s ? 0x4530000080100000 : 0x4530000000100000;
  high = Make(to, I::kIdVsubpd, high, ConstMem(DType::kF64, magic));
  return Make(to, I::kIdVaddpd, high, low);
}

// --- float to integer

Codegen::Vec Codegen::FloatToInt(DType to, DType from, const Vec& v) {
  const bool s = IsSigned(to), from64 = SizeOf(from) == 8, to64 = SizeOf(to) == 8;
  if (!z_) return FloatToIntAvx2(to, from, v);
  if (!s) {  // max(x, 0) is 0 for a NaN; the conversion gives all ones beyond the range
    Vec x = Make(from, BySize(from, I::kIdVmaxps, I::kIdVmaxpd), v, Zero(RegBytes(from)));
    const InstId id = to64 ? (from64 ? I::kIdVcvttpd2uqq : I::kIdVcvttps2uqq)
                           : (from64 ? I::kIdVcvttpd2udq : I::kIdVcvttps2udq);
    return Make(to, id, x);
  }
  // Beyond the range the conversion gives INT_MIN, which is right below; above and for NaNs it is
  // replaced.
  const InstId id = to64 ? (from64 ? I::kIdVcvttpd2qq : I::kIdVcvttps2qq)
                         : (from64 ? I::kIdVcvttpd2dq : I::kIdVcvttps2dq);
  Vec d = Make(to, id, v);
  const uint64_t limit = to64 ? (from64 ? kTwo63 : kTwo63f) : (from64 ? kTwo31 : kTwo31f);
  K above = NewK(), ordered = NewK();
  const InstId cmp = BySize(from, I::kIdVcmpps, I::kIdVcmppd);
  cc_.emit(cmp, above, v, ConstMem(from, limit), kGe);
  cc_.emit(cmp, ordered, v, v, kOrd);
  const uint64_t max = to64 ? ~uint64_t{0} >> 1 : 0x7fffffff;
  const Mem max_mem = ConstMem(to, max).cloneBroadcasted(Mem::Broadcast::kNone);
  cc_.k(above).emit(to64 ? I::kIdVpbroadcastq : I::kIdVpbroadcastd, d, max_mem);
  Vec out = NewFor(to);
  cc_.k(ordered).z().emit(to64 ? I::kIdVmovdqa64 : I::kIdVmovdqa32, out, d);
  return out;
}

Codegen::Vec Codegen::FloatToIntAvx2(DType to, DType from, const Vec& v) {
  const bool s = IsSigned(to);
  if (SizeOf(to) == 8) {
    const Vec wide = SizeOf(from) == 8 ? v : Make(DType::kF64, I::kIdVcvtps2pd, v);
    return F64ToInt64Avx2(to, wide);
  }
  if (SizeOf(from) == 8) {  // clamped in f64, where every limit is exact
    Vec x = v;
    if (s) {
      Vec ordered = Make(from, I::kIdVcmppd, v, v, kOrd);
      x = Make(from, I::kIdVandpd, v, ordered);
    }
    x = Make(from, I::kIdVmaxpd, x, s ? ConstMem(from, kMinI32) : ConstMem(from, 0));
    x = Make(from, I::kIdVminpd, x, ConstMem(from, s ? kMaxI32 : kMaxU32));
    if (s) return Make(to, I::kIdVcvttpd2dq, x);
    x = Make(from, I::kIdVroundpd, x, 3 | 8);
    return Mask32(Make(from, I::kIdVaddpd, x, ConstMem(from, kTwo52)));
  }
  if (s) {
    Vec d = Make(to, I::kIdVcvttps2dq, v);
    Vec above = Make(from, I::kIdVcmpps, v, ConstMem(from, kTwo31f), kGe);
    Vec ordered = Make(from, I::kIdVcmpps, v, v, kOrd);
    d = Make(to, I::kIdVpxor, d, above);  // 0x80000000 becomes 0x7fffffff
    return Make(to, I::kIdVpand, d, ordered);
  }
  Vec x = Make(from, I::kIdVmaxps, v, Zero(RegBytes(from)));
  Vec half = Make(from, I::kIdVcmpps, x, ConstMem(from, kTwo31f), kGe);
  Vec above = Make(from, I::kIdVcmpps, x, ConstMem(from, kTwo32f), kGe);
  Vec offset = Make(from, I::kIdVandps, half, ConstMem(from, kTwo31f));
  Vec d = Make(to, I::kIdVcvttps2dq, Make(from, I::kIdVsubps, x, offset));
  d = Make(to, I::kIdVpxor, d, Make(to, I::kIdVpslld, half, 31));
  return Make(to, I::kIdVpor, d, above);
}

Codegen::Vec Codegen::F64ToInt64Avx2(DType to, const Vec& v) {
  const DType f = DType::kF64;
  auto convert = [&](const Vec& x) {
    return Lanes(to, f, x, nullptr, [&](const Gp&, const Mem& a, const Mem&, const Mem& out) {
      Gp r = cc_.newInt64();
      cc_.cvttsd2si(r, a);
      cc_.mov(out, r);
    });
  };
  if (IsSigned(to)) {
    Vec ordered = Make(f, I::kIdVcmppd, v, v, kOrd);
    Vec above = Make(f, I::kIdVcmppd, v, ConstMem(f, kTwo63), kGe);
    Vec d = convert(v);
    d = Make(to, I::kIdVpxor, d, above);
    return Make(to, I::kIdVpand, d, ordered);
  }
  Vec x = Make(f, I::kIdVmaxpd, v, Zero(RegBytes(f)));
  Vec half = Make(f, I::kIdVcmppd, x, ConstMem(f, kTwo63), kGe);
  Vec above = Make(f, I::kIdVcmppd, x, ConstMem(f, kTwo64), kGe);
  Vec d = convert(Make(f, I::kIdVsubpd, x, Make(f, I::kIdVandpd, half, ConstMem(f, kTwo63))));
  d = Make(to, I::kIdVpxor, d, Make(to, I::kIdVpsllq, half, 63));
  return Make(to, I::kIdVpor, d, above);
}

// What f64 gives for a 32-bit quotient: the integer, or anything for a quotient that division
// defines otherwise.
Codegen::Vec Codegen::F64ToIndefinite32(DType to, const Vec& v, int bytes) {
  if (IsSigned(to)) return MakeBytes(bytes, I::kIdVcvttpd2dq, v);
  if (z_) return MakeBytes(bytes, I::kIdVcvttpd2udq, v);
  uint64_t two52[4] = {kTwo52, kTwo52, kTwo52, kTwo52};
  Vec x = MakeBytes(32, I::kIdVroundpd, v, 3 | 8);
  cc_.emit(I::kIdVaddpd, x, x, PoolBytes(two52, 32));
  return Mask32(x);
}

// --- float to float

Codegen::Vec Codegen::FloatToFloat(DType to, DType from, const Vec& v) {
  if (from == DType::kF16) return Make(DType::kF32, I::kIdVcvtph2ps, v);
  if (from == DType::kBF16) {
    Vec d = Make(DType::kF32, I::kIdVpmovzxwd, v);
    cc_.emit(I::kIdVpslld, d, d, 16);
    return d;
  }
  if (to == DType::kF16) return Make(to, I::kIdVcvtps2ph, v, 0);
  if (to == DType::kBF16) return ToBF16(v);
  return Make(to, to == DType::kF64 ? I::kIdVcvtps2pd : I::kIdVcvtpd2ps, v);
}

// Adds just below half of the last kept bit, plus that bit: nearest even. NaNs stay NaNs by force.
Codegen::Vec Codegen::ToBF16(const Vec& v) {
  const DType t = DType::kI32;
  Vec odd = Make(t, I::kIdVpsrld, v, 16);
  odd = Bits(Op::kAnd, t, odd, ConstMem(t, 1));
  Vec sum = Make(t, I::kIdVpaddd, v, ConstMem(t, 0x7fff));
  sum = Make(t, I::kIdVpaddd, sum, odd);
  Vec d = Make(t, I::kIdVpsrld, sum, 16);
  if (z_) {
    K nan = NewK();
    cc_.emit(I::kIdVcmpps, nan, v, v, 3);
    Mem canonical = ConstMem(t, 0x7fc0).cloneBroadcasted(Mem::Broadcast::kNone);
    cc_.k(nan).emit(I::kIdVpbroadcastd, d, canonical);
  } else {
    Vec nan = Make(t, I::kIdVcmpps, v, v, 3);
    Vec canonical = ConstReg(t, 0x7fc0);
    d = Make(t, I::kIdVblendvps, d, canonical, nan);
  }
  return IntToSmall(DType::kBF16, d);
}

}  // namespace frazil::jit
