// Arithmetic, comparisons and bits. Both instruction sets side by side: a line for AVX-512, a line
// or a short exact sequence for AVX2 where it has no such instruction.
#include "core/check.h"
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
using kir::kNone;
namespace I = x86::Inst;

namespace {

uint64_t SignBit(DType t) { return SizeOf(t) == 8 ? uint64_t{1} << 63 : uint64_t{1} << 31; }

}  // namespace

void Codegen::EmitArith(Id id) {
  const Inst& inst = k_.body[id];
  const DType t = inst.type;
  const bool f = IsFloat(t);
  auto binary = [&](InstId op) { Set(id, Make(t, op, R(inst.a), S(inst.b))); };
  auto round = [&](int mode) {  // bit 3: no inexact flag
    Set(id, z_ ? Make(t, BySize(t, I::kIdVrndscaleps, I::kIdVrndscalepd), S(inst.a), mode | 8)
               : Make(t, BySize(t, I::kIdVroundps, I::kIdVroundpd), S(inst.a), mode | 8));
  };
  switch (inst.op) {
    case Op::kAdd:
      return f ? binary(BySize(t, I::kIdVaddps, I::kIdVaddpd))
               : binary(BySize(t, I::kIdVpaddd, I::kIdVpaddq));
    case Op::kSub:
      return f ? binary(BySize(t, I::kIdVsubps, I::kIdVsubpd))
               : binary(BySize(t, I::kIdVpsubd, I::kIdVpsubq));
    case Op::kMul:
      if (f) return binary(BySize(t, I::kIdVmulps, I::kIdVmulpd));
      if (SizeOf(t) == 8 && !z_) return Set(id, Mul64Avx2(R(inst.a), R(inst.b)));
      return binary(BySize(t, I::kIdVpmulld, I::kIdVpmullq));
    case Op::kDiv:
      if (f) return binary(BySize(t, I::kIdVdivps, I::kIdVdivpd));
      return Set(id, SizeOf(t) == 8 ? DivRem64(inst) : DivRem32(inst));
    case Op::kRem:
      return Set(id, SizeOf(t) == 8 ? DivRem64(inst) : DivRem32(inst));
    case Op::kMulhi:
      return Set(id, SizeOf(t) == 8 ? Mulhi64(inst) : MulhiHalf(inst));
    case Op::kMin:
    case Op::kMax:
      return Set(id, MinMax(t, inst.op == Op::kMax, R(inst.a), R(inst.b)));
    case Op::kNeg:
      if (f) return Set(id, Bits(Op::kXor, t, R(inst.a), ConstMem(t, SignBit(t))));
      return Set(id, Make(t, BySize(t, I::kIdVpsubd, I::kIdVpsubq), Zero(RegBytes(t)), S(inst.a)));
    case Op::kAbs:
      return Set(id, Abs(inst));
    case Op::kFma: {
      if (!Val(inst.c).isReg() && Dead(inst.a)) {  // a constant added: no copy of it
        Vec d = R(inst.a);
        const Vec b = R(inst.b);
        cc_.emit(BySize(t, I::kIdVfmadd213ps, I::kIdVfmadd213pd), d, b, S(inst.c));
        return Set(id, d);
      }
      Vec d = Owned(inst.c);
      const Vec a = R(inst.a);
      cc_.emit(BySize(t, I::kIdVfmadd231ps, I::kIdVfmadd231pd), d, a, S(inst.b));
      return Set(id, d);
    }
    case Op::kSqrt:
      return Set(id, Make(t, BySize(t, I::kIdVsqrtps, I::kIdVsqrtpd), S(inst.a)));
    case Op::kFloor:
      return round(1);
    case Op::kCeil:
      return round(2);
    case Op::kTrunc:
      return round(3);
    case Op::kRint:
      return round(0);
    case Op::kLt:
    case Op::kLe:
    case Op::kEq:
    case Op::kNe:
      return Set(id, Compare(inst));
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
      return Set(id, IsBool(t) ? BoolOp(inst) : Operand(Bits(inst.op, t, R(inst.a), S(inst.b))));
    case Op::kNot:
      return Set(id, IsBool(t) ? BoolOp(inst)
                               : Operand(Bits(Op::kXor, t, R(inst.a), ConstMem(t, ~uint64_t{0}))));
    case Op::kShl:
    case Op::kShr:
      return Set(id, Shift(inst));
    case Op::kSelect:
      if (IsBool(t) && z_) {
        K yes = NewK(), no = NewK();
        cc_.kandw(yes, KOf(inst.a), KOf(inst.b));
        cc_.kandnw(no, KOf(inst.a), KOf(inst.c));
        cc_.korw(yes, yes, no);
        return Set(id, yes);
      }
      return Set(id, Blend(IsBool(t) ? DType::kI32 : t, Val(inst.a), R(inst.b), S(inst.c)));
    default:
      status_ =
          NotImplementedError("[x86] no code for ", kir::Name(inst.op), ": kernel ", k_.name, ".");
  }
}

// mask ? yes : no.
Codegen::Vec Codegen::Blend(DType type, const Operand& mask, const Vec& yes, const Operand& no) {
  Vec d = NewFor(type);
  if (z_) {  // a masked move: asmjit takes the destination of vblendm for an input and would load
             // it
    if (no.isMem()) {
      Mem plain = no.as<Mem>().cloneBroadcasted(Mem::Broadcast::kNone);
      cc_.emit(BySize(type, I::kIdVbroadcastss, I::kIdVbroadcastsd), d, plain);
    } else {
      Copy(d, no.as<Vec>());
    }
    cc_.k(mask.as<K>()).emit(BySize(type, I::kIdVmovaps, I::kIdVmovapd), d, yes);
    return d;
  }
  const Vec m = MaskFor(mask.as<Vec>(), type);
  Vec otherwise = NewFor(type);
  if (no.isMem()) {
    cc_.emit(I::kIdVmovups, otherwise, no);
  } else {
    otherwise = no.as<Vec>();
  }
  cc_.emit(BySize(type, I::kIdVblendvps, I::kIdVblendvpd), d, otherwise, yes, m);
  return d;
}

Codegen::Vec Codegen::Bits(Op op, DType type, const Vec& a, const Operand& b) {
  const InstId id512 = op == Op::kAnd  ? BySize(type, I::kIdVpandd, I::kIdVpandq)
                       : op == Op::kOr ? BySize(type, I::kIdVpord, I::kIdVporq)
                                       : BySize(type, I::kIdVpxord, I::kIdVpxorq);
  const bool f = IsFloat(type);
  const InstId id256 = op == Op::kAnd  ? (f ? I::kIdVandps : I::kIdVpand)
                       : op == Op::kOr ? (f ? I::kIdVorps : I::kIdVpor)
                                       : (f ? I::kIdVxorps : I::kIdVpxor);
  return Make(type, z_ ? id512 : id256, a, b);
}

Codegen::Vec Codegen::Abs(const Inst& inst) {
  const DType t = inst.type;
  if (IsFloat(t)) return Bits(Op::kAnd, t, R(inst.a), ConstMem(t, SignBit(t) - 1));
  if (IsUnsigned(t)) return R(inst.a);
  if (SizeOf(t) == 4) return Make(t, I::kIdVpabsd, S(inst.a));
  if (z_) return Make(t, I::kIdVpabsq, S(inst.a));
  const Vec a = R(inst.a);
  Vec sign = Make(t, I::kIdVpcmpgtq, Zero(RegBytes(t)), a);
  Vec flipped = Make(t, I::kIdVpxor, a, sign);
  return Make(t, I::kIdVpsubq, flipped, sign);
}

// AVX2: all ones in the lanes where a > b, unsigned types by moving both to the signed range.
Codegen::Vec Codegen::GreaterAvx2(DType type, const Vec& a, const Vec& b) {
  Vec x = a, y = b;
  if (IsUnsigned(type)) {
    const Mem sign = ConstMem(type, SignBit(type));
    x = Make(type, I::kIdVpxor, a, sign);
    y = Make(type, I::kIdVpxor, b, sign);
  }
  return Make(type, BySize(type, I::kIdVpcmpgtd, I::kIdVpcmpgtq), x, y);
}

Codegen::Vec Codegen::MinMax(DType type, bool max, const Vec& a, const Vec& b) {
  if (!IsFloat(type)) {
    if (SizeOf(type) == 4) {
      const InstId id = IsSigned(type) ? (max ? I::kIdVpmaxsd : I::kIdVpminsd)
                                       : (max ? I::kIdVpmaxud : I::kIdVpminud);
      return Make(type, id, a, b);
    }
    if (z_) {
      const InstId id = IsSigned(type) ? (max ? I::kIdVpmaxsq : I::kIdVpminsq)
                                       : (max ? I::kIdVpmaxuq : I::kIdVpminuq);
      return Make(type, id, a, b);
    }
    const Vec greater = GreaterAvx2(type, a, b);
    return max ? Make(type, I::kIdVblendvpd, b, a, greater)
               : Make(type, I::kIdVblendvpd, a, b, greater);
  }
  if (z_) {  // vrange orders the zeros and drops NaNs; where there is one, the sum is a NaN
    Vec d = Make(type, BySize(type, I::kIdVrangeps, I::kIdVrangepd), a, b, max ? 5 : 4);
    K nan = NewK();
    cc_.emit(BySize(type, I::kIdVcmpps, I::kIdVcmppd), nan, a, b, 3);
    cc_.k(nan).emit(BySize(type, I::kIdVaddps, I::kIdVaddpd), d, a, b);
    return d;
  }
  // min(a,b) and min(b,a) differ only for two zeros (or-ing keeps the sign) and NaNs (or-ing keeps
  // the NaN); for max and-ing the zeros is right and NaNs are or-ed in.
  const InstId op =
      max ? BySize(type, I::kIdVmaxps, I::kIdVmaxpd) : BySize(type, I::kIdVminps, I::kIdVminpd);
  Vec x = Make(type, op, a, b), y = Make(type, op, b, a);
  if (!max) return Make(type, BySize(type, I::kIdVorps, I::kIdVorpd), x, y);
  Vec nan = Make(type, BySize(type, I::kIdVcmpps, I::kIdVcmppd), a, b, 3);
  Vec both = Make(type, BySize(type, I::kIdVandps, I::kIdVandpd), x, y);
  return Make(type, BySize(type, I::kIdVorps, I::kIdVorpd), both, nan);
}

// --- comparisons

Codegen::Operand Codegen::Compare(const Inst& inst) {
  const DType t = k_.body[inst.a].type;
  if (IsBool(t)) return BoolOp(inst);
  if (!z_) return CompareAvx2(inst);
  K d = NewK();
  if (IsFloat(t)) {
    const int predicate = inst.op == Op::kLt   ? 0x11
                          : inst.op == Op::kLe ? 0x12
                          : inst.op == Op::kEq ? 0x00
                                               : 0x04;
    cc_.emit(BySize(t, I::kIdVcmpps, I::kIdVcmppd), d, R(inst.a), S(inst.b), predicate);
  } else {
    const int predicate = inst.op == Op::kLt   ? 1
                          : inst.op == Op::kLe ? 2
                          : inst.op == Op::kEq ? 0
                                               : 4;
    const InstId id = IsSigned(t) ? BySize(t, I::kIdVpcmpd, I::kIdVpcmpq)
                                  : BySize(t, I::kIdVpcmpud, I::kIdVpcmpuq);
    cc_.emit(id, d, R(inst.a), S(inst.b), predicate);
  }
  return d;
}

Codegen::Operand Codegen::CompareAvx2(const Inst& inst) {
  const DType t = k_.body[inst.a].type;
  Vec d;
  bool invert = false;
  if (IsFloat(t)) {
    const int predicate = inst.op == Op::kLt   ? 0x11
                          : inst.op == Op::kLe ? 0x12
                          : inst.op == Op::kEq ? 0x00
                                               : 0x04;
    d = Make(t, BySize(t, I::kIdVcmpps, I::kIdVcmppd), R(inst.a), S(inst.b), predicate);
  } else if (inst.op == Op::kLt) {
    d = GreaterAvx2(t, R(inst.b), R(inst.a));
  } else if (inst.op == Op::kLe) {
    d = GreaterAvx2(t, R(inst.a), R(inst.b));
    invert = true;
  } else {
    d = Make(t, BySize(t, I::kIdVpcmpeqd, I::kIdVpcmpeqq), R(inst.a), S(inst.b));
    invert = inst.op == Op::kNe;
  }
  if (SizeOf(t) == 8) d = Mask32(d);
  if (invert) d = MakeBytes(v_ * 4, I::kIdVpxor, d, ConstMem(DType::kI32, 0xffffffffu));
  return d;
}

Codegen::Operand Codegen::BoolOp(const Inst& inst) {
  if (z_) {
    K d = NewK();
    const bool byte = v_ == 8;  // the byte forms keep the bits beyond the lanes zero
    switch (inst.op) {
      case Op::kAnd:
        cc_.kandw(d, KOf(inst.a), KOf(inst.b));
        break;
      case Op::kOr:
        cc_.korw(d, KOf(inst.a), KOf(inst.b));
        break;
      case Op::kXor:
      case Op::kNe:
        cc_.kxorw(d, KOf(inst.a), KOf(inst.b));
        break;
      case Op::kEq:
        cc_.emit(byte ? I::kIdKxnorb : I::kIdKxnorw, d, KOf(inst.a), KOf(inst.b));
        break;
      case Op::kNot:
        cc_.emit(byte ? I::kIdKnotb : I::kIdKnotw, d, KOf(inst.a));
        break;
      case Op::kLt:
        cc_.kandnw(d, KOf(inst.a), KOf(inst.b));
        break;
      default: {  // le: !a | b
        K inverse = NewK();
        cc_.emit(byte ? I::kIdKnotb : I::kIdKnotw, inverse, KOf(inst.a));
        cc_.korw(d, inverse, KOf(inst.b));
      }
    }
    return d;
  }
  const int bytes = v_ * 4;
  switch (inst.op) {
    case Op::kAnd:
      return MakeBytes(bytes, I::kIdVpand, R(inst.a), R(inst.b));
    case Op::kOr:
      return MakeBytes(bytes, I::kIdVpor, R(inst.a), R(inst.b));
    case Op::kXor:
    case Op::kNe:
      return MakeBytes(bytes, I::kIdVpxor, R(inst.a), R(inst.b));
    case Op::kEq:
      return MakeBytes(bytes, I::kIdVpcmpeqd, R(inst.a), R(inst.b));
    case Op::kLt:
      return MakeBytes(bytes, I::kIdVpandn, R(inst.a), R(inst.b));
    case Op::kNot:
      return MakeBytes(bytes, I::kIdVpxor, R(inst.a), ConstMem(DType::kI32, 0xffffffffu));
    default: {
      Vec inverse = MakeBytes(bytes, I::kIdVpxor, R(inst.a), ConstMem(DType::kI32, 0xffffffffu));
      return MakeBytes(bytes, I::kIdVpor, inverse, R(inst.b));
    }
  }
}

// --- integers

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
