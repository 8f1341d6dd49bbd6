// Arithmetic and bits. Both instruction sets side by side: a line for AVX-512, a line
// or a short exact sequence for AVX2 where it has no such instruction.
#include <algorithm>

#include "core/tuned.h"
#include "jit/emit/x86/codegen.h"
#include "kernels/fn_tables.h"

namespace frazil::jit {

using kir::Inst;
using kir::kNone;
namespace I = x86::Inst;

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
      if (Is(id, Form::kMaskedCount)) return Set(id, MaskedCount(inst));
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
      if (Is(id, Form::kQuick)) return Set(id, QuickDivide(inst));
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
      // Over a factor that nobody else wants if not over the sum: no copy.
      if (!Dead(inst.c) && (Dead(inst.a) || Dead(inst.b)) && inst.a != inst.b) {
        const Id over = Dead(inst.a) ? inst.a : inst.b;
        Vec d = R(over);
        const Vec factor = R(over == inst.a ? inst.b : inst.a);
        cc_.emit(BySize(t, I::kIdVfmadd213ps, I::kIdVfmadd213pd), d, factor, S(inst.c));
        return Set(id, d);
      }
      Vec d = Owned(inst.c);
      const Vec a = R(inst.a);
      cc_.emit(BySize(t, I::kIdVfmadd231ps, I::kIdVfmadd231pd), d, a, S(inst.b));
      return Set(id, d);
    }
    case Op::kSqrt:
      if (Is(id, Form::kQuick)) return Set(id, QuickRoot(inst));
      return Set(id, Make(t, BySize(t, I::kIdVsqrtps, I::kIdVsqrtpd), S(inst.a)));
    case Op::kScale:
      if (!z_) {
        status_ = NotImplementedError("[x86] AVX2 has no scale: kernel ", k_.name, ".");
        return;
      }
      return binary(BySize(t, I::kIdVscalefps, I::kIdVscalefpd));
    case Op::kLookup:
      return Set(id, Lookup(inst));
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
      if (Is(id, Form::kNothing)) return;
      return Set(id, Compare(inst));
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
      if (Is(id, Form::kNothing)) return;
      if (Is(id, Form::kSign)) {
        const Inst& part = k_.body[inst.b];
        Vec d = Owned(inst.a);
        const Vec b = R(part.a);
        cc_.emit(BySize(t, I::kIdVpternlogd, I::kIdVpternlogq), d, b, S(part.b),
                 inst.op == Op::kOr ? 0xF8 : 0x78);
        return Set(id, d);
      }
      if (Is(id, Form::kUnder)) return Set(id, Compare(k_.body[inst.b], false, KOf(inst.a)));
      return Set(id, IsBool(t) ? BoolOp(inst) : Operand(Bits(inst.op, t, R(inst.a), S(inst.b))));
    case Op::kNot:
      if (Is(id, Form::kInverted)) return Set(id, Compare(k_.body[inst.a], true));
      return Set(id, IsBool(t) ? BoolOp(inst)
                               : Operand(Bits(Op::kXor, t, R(inst.a), ConstMem(t, ~uint64_t{0}))));
    case Op::kShl:
    case Op::kShr:
      return Set(id, Shift(inst));
    case Op::kSelect:
      if (Is(id, Form::kClamp)) {
        const bool min = inst.b == k_.body[inst.a].a;
        return Set(id, Make(t,
                            min ? BySize(t, I::kIdVminps, I::kIdVminpd)
                                : BySize(t, I::kIdVmaxps, I::kIdVmaxpd),
                            R(inst.b), S(inst.c)));
      }
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

Codegen::Vec Codegen::MaskedCount(const Inst& sum) {
  const Id carry = Is(sum.a, Form::kMaskedCount) ? sum.a : sum.b;
  const Inst& number = k_.body[carry == sum.a ? sum.b : sum.a];
  const Vec d = R(carry);
  const K on = KOf(k_.body[number.a].a);
  const Mem one = ConstMem(sum.type, OneOf(sum.type));
  cc_.k(on).emit(BySize(sum.type, x86::Inst::kIdVaddps, x86::Inst::kIdVaddpd), d, d, one);
  return d;
}

// Tables that the points take from registers: an instruction that loads a whole vector besides may
// wait for the load.
void Codegen::FindTables() {
  for (size_t i = 0; i < k_.body.size(); ++i) {
    const Inst& inst = k_.body[i];
    if (inst.op != Op::kLookup || RegBytes(inst.type) != 64) continue;
    const auto same = [&](const auto& table) { return table.first == inst.imm; };
    if (std::none_of(tables_.begin(), tables_.end(), same)) tables_.emplace_back(inst.imm, Vec());
  }
  if (tables_.size() > tuned::kMostTables) tables_.clear();
}

void Codegen::LoadTables() {
  for (auto& [table, reg] : tables_)
    reg = MakeBytes(64, I::kIdVmovups, PoolBytes(fn::kTables[table], 64));
}

// Entry (a mod 16) of a table. vpermps looks at the low 4 (512 bits) or 3 bits of an index.
Codegen::Vec Codegen::Lookup(const Inst& inst) {
  const float* table = fn::kTables[inst.imm];
  const Vec index = R(inst.a);
  const int bytes = RegBytes(inst.type);
  for (const auto& [held, reg] : tables_) {
    if (held == inst.imm) return MakeBytes(64, I::kIdVpermps, index, reg);
  }
  if (bytes == 64) return MakeBytes(64, I::kIdVpermps, index, PoolBytes(table, 64));
  // The lower half of the lanes may be all there is: the rest is garbage.
  const Vec wide = index.ymm();
  const Vec high = MakeBytes(32, I::kIdVpermps, wide, PoolBytes(table + 8, 32));
  const Vec low = MakeBytes(32, I::kIdVpermps, wide, PoolBytes(table, 32));
  const Vec sign = MakeBytes(bytes, I::kIdVpslld, index, 28);  // bit 3 to the top
  Vec d = NewVec(bytes);
  if (z_) {
    K upper = NewK();
    cc_.emit(I::kIdVpmovd2m, upper, sign);
    Copy(d, bytes == 32 ? low : Vec(low.xmm()));
    cc_.k(upper).emit(I::kIdVmovaps, d, bytes == 32 ? high : Vec(high.xmm()));
  } else {
    cc_.emit(I::kIdVblendvps, d, bytes == 32 ? low : Vec(low.xmm()),
             bytes == 32 ? high : Vec(high.xmm()), sign);
  }
  return d;
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

}  // namespace frazil::jit
