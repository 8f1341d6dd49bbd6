// Loops over the loop axis and what they reduce.
//
// A float sum or prod keeps its 64 (kLoop) or 8 (kSpace) lanes as positions: vectors of one step
// each. Short bodies are unrolled over all positions with the accumulators in registers; what
// remains, and long bodies, run one step at a time with the accumulators on the stack, at the
// position that the index asks for. Untouched lanes hold the identity. Other reductions may combine
// in any order and keep a few accumulators in registers.
#include <algorithm>

#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
using kir::ReduceKind;
namespace I = x86::Inst;

// Steps that the lanes of a laned reduce fill.
int Codegen::Positions() const {
  if (!space_) return 64 / v_;
  for (const Inst& inst : k_.body) {
    if (inst.op == Op::kReduce && inst.lanes) return inst.lanes;
  }
  return 8;
}

// Bits of the value that changes nothing.
uint64_t Codegen::Identity(const Inst& inst) const {
  const DType t = inst.type;
  const bool wide = SizeOf(t) == 8;
  const uint64_t sign = wide ? uint64_t{1} << 63 : uint64_t{1} << 31;
  const uint64_t ones = wide ? ~uint64_t{0} : 0xffffffffu;
  const uint64_t inf = wide ? 0x7ff0000000000000 : 0x7f800000;
  switch (ReduceKind(inst.imm)) {
    case ReduceKind::kSum:
      return IsFloat(t) ? sign : 0;
    case ReduceKind::kProd:
      return IsFloat(t) ? (wide ? 0x3ff0000000000000 : 0x3f800000) : 1;
    case ReduceKind::kMax:
      return IsFloat(t) ? inf | sign : IsSigned(t) ? sign : 0;
    case ReduceKind::kMin:
      return IsFloat(t) ? inf : IsSigned(t) ? sign - 1 : ones;
    case ReduceKind::kAnd:
      return 1;
    case ReduceKind::kOr:
      return 0;
  }
  return 0;
}

Codegen::Operand Codegen::IdentityReg(const Inst& inst) {
  const uint64_t bits = Identity(inst);
  if (!IsBool(inst.type)) return ConstReg(inst.type, bits);
  if (!z_) return ConstReg(DType::kI32, bits ? 0xffffffffu : 0);
  K k = NewK();
  if (bits) {
    cc_.emit(v_ == 8 ? I::kIdKxnorb : I::kIdKxnorw, k, k, k);
  } else {
    cc_.kxorw(k, k, k);
  }
  return k;
}

Codegen::Operand Codegen::Combine(const Inst& inst, const Operand& a, const Operand& b) {
  const DType t = inst.type;
  const bool f = IsFloat(t);
  switch (ReduceKind(inst.imm)) {
    case ReduceKind::kSum:
      return Make(t,
                  f ? BySize(t, I::kIdVaddps, I::kIdVaddpd) : BySize(t, I::kIdVpaddd, I::kIdVpaddq),
                  a, b);
    case ReduceKind::kProd:
      if (!f && SizeOf(t) == 8 && !z_) return Mul64Avx2(a.as<Vec>(), b.as<Vec>());
      return Make(
          t, f ? BySize(t, I::kIdVmulps, I::kIdVmulpd) : BySize(t, I::kIdVpmulld, I::kIdVpmullq), a,
          b);
    case ReduceKind::kMax:
    case ReduceKind::kMin:
      return MinMax(t, ReduceKind(inst.imm) == ReduceKind::kMax, a.as<Vec>(), b.as<Vec>());
    default: {
      const bool all = ReduceKind(inst.imm) == ReduceKind::kAnd;
      if (!z_) return MakeBytes(v_ * 4, all ? I::kIdVpand : I::kIdVpor, a, b);
      K d = NewK();
      cc_.emit(all ? I::kIdKandw : I::kIdKorw, d, a, b);
      return d;
    }
  }
}

void Codegen::MoveReg(const Operand& to, const Operand& from) {
  if (to.as<asmjit::BaseReg>().group() == asmjit::RegGroup::kX86_K) {
    cc_.kmovw(to.as<K>(), from.as<K>());
  } else {
    Copy(to.as<Vec>(), from.as<Vec>());
  }
}

// A register of the value's kind, not yet written.
Codegen::Operand Codegen::IdentityRegShape(const Inst& inst) {
  if (IsBool(inst.type) && z_) return NewK();
  return NewFor(inst.type);
}

// Laned accumulators live on the stack between loops; the unrolled loop takes them into registers.
void Codegen::InitAccumulators(int copies) {
  for (Accumulator& acc : accs_) {
    const Inst& inst = k_.body[acc.id];
    const int count = acc.laned ? (copies > 1 ? positions_ : 0) : std::min(copies, 4);
    acc.regs.clear();
    for (int i = 0; i < count; ++i) acc.regs.push_back(IdentityReg(inst));
    if (!acc.laned) continue;
    const int bytes = RegBytes(inst.type);
    acc.pitch = bytes;
    acc.stack = cc_.newStack(uint32_t(bytes * positions_), 64);
    if (copies > 1) continue;  // written after the unrolled loop
    const Vec identity = ConstReg(inst.type, Identity(inst));
    for (int i = 0; i < positions_; ++i) cc_.emit(I::kIdVmovups, AccMem(acc, i), identity);
  }
}

Codegen::Mem Codegen::AccMem(const Accumulator& acc, int position) {
  const DType type = k_.body[acc.id].type;
  Mem mem = acc.stack;
  mem.addOffset(position * acc.pitch);
  if (panel_at_.isValid()) mem.setIndex(panel_at_, Log2(SizeOf(type)));
  mem.setSize(uint32_t(RegBytes(type)));
  return mem;
}

// The stack accumulator that the current index belongs to.
Codegen::Mem Codegen::AccMemAt(const Accumulator& acc, const Gp& lane) {
  Mem mem = acc.stack;
  mem.setIndex(lane, Log2(SizeOf(k_.body[acc.id].type)));
  mem.setSize(uint32_t(RegBytes(k_.body[acc.id].type)));
  return mem;
}
// reg = reg combined with the element, only in active lanes where lanes run along the loop.
void Codegen::Accumulate(Accumulator* acc, const Operand& reg) {
  const Inst& inst = k_.body[acc->id];
  const Operand value = Val(inst.a).isReg() ? Val(inst.a) : Operand(R(inst.a));
  const Operand next = Combine(inst, reg, value);
  if (space_ || !masked_) return MoveReg(reg, next);
  if (!z_) {
    const Vec mask = IsBool(inst.type) ? tail_.m32 : MaskFor(tail_.m32, inst.type);
    cc_.emit(I::kIdVpblendvb, reg, reg, next, mask);
  } else if (!IsBool(inst.type)) {
    cc_.k(tail_.k).emit(BySize(inst.type, I::kIdVmovaps, I::kIdVmovapd), reg, next);
  } else {  // reg = tail ? next : reg
    K on = NewK(), off = NewK();
    cc_.kandw(on, tail_.k, next.as<K>());
    cc_.kandnw(off, tail_.k, reg.as<K>());
    cc_.korw(reg.as<K>(), on, off);
  }
}

// --- the end

Codegen::Operand Codegen::FinishReduce(const Accumulator& acc) {
  const Inst& inst = k_.body[acc.id];
  std::vector<Operand> parts = acc.regs;
  if (!acc.laned && panel_at_.isValid()) parts = {Make(inst.type, I::kIdVmovups, AccMem(acc, 0))};
  if (acc.laned) parts = {HalvePositions(acc, 0, 1)};
  while (parts.size() > 1) {
    const size_t half = parts.size() / 2;
    for (size_t i = 0; i < half; ++i) parts[i] = Combine(inst, parts[i], parts[i + half]);
    parts.resize(half);
  }
  return space_ ? parts[0] : HalveLanes(inst, parts[0]);
}

// What the halving of positions leaves at `position` while there are `count`. One branch after the
// other, so that few registers are held; the first halving reads the stack.
Codegen::Operand Codegen::HalvePositions(const Accumulator& acc, int position, int count) {
  const Inst& inst = k_.body[acc.id];
  if (count == positions_) {
    Vec value = NewFor(inst.type);
    cc_.emit(I::kIdVmovups, value, AccMem(acc, position));
    return value;
  }
  const Operand low = HalvePositions(acc, position, 2 * count);
  if (2 * count == positions_) return Combine(inst, low, AccMem(acc, position + count));
  return Combine(inst, low, HalvePositions(acc, position + count, 2 * count));
}

// Combines lane i with lane i + half, again and again. Exchanging the halves instead of extracting
// one leaves the result in every lane.
Codegen::Operand Codegen::HalveLanes(const Inst& inst, const Operand& value) {
  if (IsBool(inst.type)) return HalveBool(inst, value);
  Vec v = value.as<Vec>();
  const int bytes = v_ * SizeOf(inst.type);
  auto halve = [&](const Vec& swapped) { v = Combine(inst, v, swapped).as<Vec>(); };
  if (bytes == 64) halve(MakeBytes(64, I::kIdVshuff64x2, v, v, 0x4E));
  if (bytes == 64) halve(MakeBytes(64, I::kIdVshuff64x2, v, v, 0xB1));
  if (bytes == 32) {
    halve(z_ ? MakeBytes(32, I::kIdVshuff64x2, v, v, 1) : MakeBytes(32, I::kIdVperm2i128, v, v, 1));
  }
  halve(MakeBytes(bytes, I::kIdVpshufd, v, 0x4E));
  if (SizeOf(inst.type) == 4) halve(MakeBytes(bytes, I::kIdVpshufd, v, 0xB1));
  return v;
}

Codegen::Operand Codegen::HalveBool(const Inst& inst, const Operand& value) {
  const int full = (1 << v_) - 1;
  Gp bits = BoolBits(value), result = cc_.newUInt32(), ones = cc_.newUInt32();
  cc_.mov(result, 0);
  cc_.mov(ones, z_ ? full : -1);
  if (ReduceKind(inst.imm) == ReduceKind::kAnd) {
    cc_.cmp(bits, full);
    cc_.cmove(result, ones);
  } else {
    cc_.test(bits, bits);
    cc_.cmovne(result, ones);
  }
  if (z_) {
    K k = NewK();
    cc_.kmovw(k, result);
    return k;
  }
  Vec d = NewVec(v_ * 4);
  cc_.vmovd(d.xmm(), result);
  cc_.emit(I::kIdVpbroadcastd, d, d.xmm());
  return d;
}

}  // namespace frazil::jit
