// Loops over the loop axis and what they reduce.
//
// A float sum or prod keeps its 64 (kLoop) or 8 (kSpace) lanes as positions: vectors of one step
// each. Short bodies are unrolled over all positions with the accumulators in registers; what
// remains, and long bodies, run one step at a time with the accumulators on the stack, at the
// position that the index asks for. Untouched lanes hold the identity. Other reductions may combine
// in any order and keep a few accumulators in registers.
#include <algorithm>

#include "core/check.h"
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
using kir::kNone;
using kir::ReduceKind;
using kir::Stride;
namespace I = x86::Inst;

namespace {

constexpr int kUnrollLimit = 56;

}  // namespace

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

// --- the loop

void Codegen::LoopBounds() {
  lo_ = cc_.newInt64("lo");
  hi_ = cc_.newInt64("hi");
  cc_.mov(hi_, x86::qword_ptr(extents_, k_.rank * 8));
  if (!k_.chunked) {
    cc_.xor_(lo_, lo_);
    return;
  }
  if (k_.rank >= 2) {
    cc_.mov(lo_, counters_[0]);
  } else {
    cc_.mov(lo_, col_);
  }
  Gp end = cc_.newInt64();
  cc_.imul(lo_, lo_, kir::kChunk);
  cc_.lea(end, x86::ptr(lo_, int32_t(kir::kChunk)));
  cc_.cmp(hi_, end);
  cc_.cmovg(hi_, end);
}

// Which buffers the loop walks through, and where it starts.
void Codegen::LoopPointers(Id begin, Id end) {
  walked_.assign(k_.buffers.size(), false);
  for (Id i = begin; i < end; ++i) {
    const Inst& inst = k_.body[i];
    if ((inst.op != Op::kLoad && inst.op != Op::kStore) || info_[i].level != kLoopLevel) continue;
    const Stride cls = k_.buffers[inst.imm].strides[k_.rank];
    if (cls != Stride::kZero && (space_ || cls == Stride::kAny)) walked_[inst.imm] = true;
  }
  for (size_t b = 0; b < k_.buffers.size(); ++b) {
    if (!walked_[b]) continue;
    loop_ptr_[b] = cc_.newIntPtr();
    cc_.mov(loop_ptr_[b], lo_);
    cc_.imul(loop_ptr_[b], StrideMem(int(b), k_.rank));
    const Stride col = k_.buffers[b].strides[k_.rank - 1];
    if (!space_ || col == Stride::kAny) {
      cc_.add(loop_ptr_[b], col_ptr_[b]);
    } else if (col == Stride::kZero) {
      cc_.add(loop_ptr_[b], row_ptr_[b]);
    } else {
      Place place;
      place.base = row_ptr_[b];
      place.index = col_;
      place.size = SizeOf(k_.buffers[b].dtype);
      Gp at = cc_.newIntPtr();
      cc_.lea(at, place.At(0));
      cc_.add(loop_ptr_[b], at);
    }
  }
}

void Codegen::AdvanceLoopPointers() {
  for (size_t b = 0; b < k_.buffers.size(); ++b) {
    if (!walked_[b]) continue;
    if (space_) {
      cc_.add(loop_ptr_[b], StrideMem(int(b), k_.rank));
    } else {
      cc_.add(loop_ptr_[b], vec_step_[b]);
    }
  }
}

void Codegen::EmitLoop(Id begin, Id end) {
  Label empty = cc_.newLabel(), done = cc_.newLabel();
  LoopBounds();
  accs_.clear();
  int cost = 0;
  bool laned = false;
  for (Id i = begin; i < end; ++i) {
    if (info_[i].level == kLoopLevel) cost += CostOf(k_.body[i]);
    if (k_.body[i].op != Op::kReduce) continue;
    laned |= k_.body[i].lanes != 0;
    ForCopies([&] {
      Accumulator acc;
      acc.id = i;
      acc.copy = copy_;
      acc.laned = k_.body[i].lanes != 0;
      acc.out = IdentityRegShape(k_.body[i]);
      accs_.push_back(std::move(acc));
    });
  }
  positions_ = space_ ? 8 : 64 / v_;
  int copies = laned ? positions_ : cost <= 4 ? 4 : cost <= 12 ? 2 : 1;
  if (copies > 8 || cost * copies > kUnrollLimit || point_copies_ > 1) copies = 1;
  cc_.cmp(lo_, hi_);
  cc_.jge(empty);
  for (Id i = begin; i < end; ++i) {
    if (info_[i].level != kPointLevel || k_.body[i].op == Op::kLoop) continue;
    ForCopies([&] { EmitInst(i); });
  }
  LoopPointers(begin, end);
  j_ = cc_.newInt64("j");
  cc_.mov(j_, lo_);
  InitAccumulators(copies);
  level_ = kLoopLevel;
  if (copies > 1) UnrolledLoop(begin, end, copies);
  StepLoop(begin, end, copies > 1);
  level_ = kPointLevel;
  for (Accumulator& acc : accs_) MoveReg(acc.out, FinishReduce(acc));
  if (!accs_.empty()) {
    cc_.jmp(done);
    cc_.bind(empty);
    for (Accumulator& acc : accs_) {
      const Inst& inst = k_.body[acc.id];
      const bool zero =
          acc.laned && ReduceKind(inst.imm) == ReduceKind::kSum;  // an empty sum is +0
      MoveReg(acc.out, zero ? Operand(Zero(RegBytes(inst.type))) : IdentityReg(inst));
    }
    cc_.bind(done);
  } else {
    cc_.bind(empty);
  }
  for (Accumulator& acc : accs_) {
    SetCopy(acc.copy);
    Set(acc.id, acc.out);
  }
  SetCopy(0);
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
    acc.stack = cc_.newStack(uint32_t(bytes * positions_), 64);
    if (copies > 1) continue;  // written after the unrolled loop
    const Vec identity = ConstReg(inst.type, Identity(inst));
    for (int i = 0; i < positions_; ++i) cc_.emit(I::kIdVmovups, AccMem(acc, i), identity);
  }
}

Codegen::Mem Codegen::AccMem(const Accumulator& acc, int position) {
  const int bytes = RegBytes(k_.body[acc.id].type);
  Mem mem = acc.stack;
  mem.addOffset(position * bytes);
  mem.setSize(uint32_t(bytes));
  return mem;
}

// The stack accumulator that the current index belongs to.
Codegen::Mem Codegen::AccMemAt(const Accumulator& acc, const Gp& lane) {
  Mem mem = acc.stack;
  mem.setIndex(lane, SizeOf(k_.body[acc.id].type) == 8 ? 3 : 2);
  mem.setSize(uint32_t(RegBytes(k_.body[acc.id].type)));
  return mem;
}

void Codegen::UnrolledLoop(Id begin, Id end, int copies) {
  Label top = cc_.newLabel(), done = cc_.newLabel();
  const int step = space_ ? copies : copies * v_;
  Gp rest = cc_.newInt64("rest");
  cc_.mov(rest, hi_);
  cc_.sub(rest, j_);
  cc_.sub(rest, step);
  cc_.js(done);
  if (!space_) FullLanes();
  cc_.bind(top);
  for (int copy = 0; copy < copies; ++copy) {
    copy_disp_ = space_ ? 0 : copy * v_;
    LoopBody(begin, end);
    for (Accumulator& acc : accs_) Accumulate(&acc, acc.regs[size_t(copy) % acc.regs.size()]);
    AdvanceLoopPointers();
    if (space_) cc_.inc(j_);
  }
  copy_disp_ = 0;
  if (!space_) cc_.add(j_, step);
  cc_.sub(rest, step);
  cc_.jns(top);
  cc_.bind(done);
  for (Accumulator& acc : accs_) {
    if (!acc.laned) continue;
    for (int i = 0; i < positions_; ++i) cc_.emit(I::kIdVmovups, AccMem(acc, i), acc.regs[i]);
  }
}

void Codegen::StepLoop(Id begin, Id end, bool short_rest) {
  Label top = cc_.newLabel(), done = cc_.newLabel();
  Gp rest = cc_.newInt64("rest");
  cc_.mov(rest, hi_);
  cc_.sub(rest, j_);
  if (short_rest) cc_.jle(done);
  cc_.bind(top);
  if (!space_) {
    Gp count = cc_.newInt64("count");
    cc_.mov(count, v_);
    cc_.cmp(rest, v_);
    cc_.cmovl(count, rest);
    SetTailMask(count);
  }
  Gp lane;
  ForCopies([&] {
    LoopBody(begin, end);
    for (Accumulator& acc : accs_) {
      if (acc.copy == copy_) StepAccumulator(&acc, &lane);
    }
  });
  AdvanceLoopPointers();
  const int step = space_ ? 1 : v_;
  cc_.add(j_, step);
  cc_.sub(rest, step);
  cc_.jg(top);
  cc_.bind(done);
  if (!space_) FullLanes();
}

// One step into the accumulator, which a laned reduce finds on the stack.
void Codegen::StepAccumulator(Accumulator* acc, Gp* lane) {
  const Inst& inst = k_.body[acc->id];
  if (!acc->laned) return Accumulate(acc, acc->regs[0]);
  if (!lane->isValid()) {  // j mod lanes; in kSpace a position is a whole vector of columns
    *lane = cc_.newInt64("lane");
    cc_.mov(*lane, j_);
    cc_.sub(*lane, lo_);
    cc_.and_(*lane, space_ ? 7 : 63);
    if (space_) cc_.shl(*lane, v_ == 16 ? 4 : v_ == 8 ? 3 : 2);
  }
  const Mem mem = AccMemAt(*acc, *lane);
  if (space_) {  // sums and products commute
    cc_.emit(I::kIdVmovups, mem, Combine(inst, R(inst.a), mem));
    return;
  }
  Vec value = NewFor(inst.type);
  cc_.emit(I::kIdVmovups, value, mem);
  Accumulate(acc, value);
  cc_.emit(I::kIdVmovups, mem, value);
}

void Codegen::LoopBody(Id begin, Id end) {
  for (Id i = begin + 1; i < end; ++i) {
    if (info_[i].level == kLoopLevel && k_.body[i].op != Op::kReduce) EmitInst(i);
  }
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
  if (acc.laned) {  // the first halving reads the stack
    const int half = positions_ / 2;
    parts.clear();
    for (int i = 0; i < half; ++i) {
      Vec low = NewFor(inst.type);
      cc_.emit(I::kIdVmovups, low, AccMem(acc, i));
      parts.push_back(Combine(inst, low, AccMem(acc, i + half)));
    }
  }
  while (parts.size() > 1) {
    const size_t half = parts.size() / 2;
    for (size_t i = 0; i < half; ++i) parts[i] = Combine(inst, parts[i], parts[i + half]);
    parts.resize(half);
  }
  return space_ ? parts[0] : HalveLanes(inst, parts[0]);
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
