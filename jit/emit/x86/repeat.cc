// Repeats: carries in registers, the body emitted once. What does not change from one iteration to
// the next is computed before. Several vectors of columns go through one pass, instruction by
// instruction: an iteration waits for the one before it, and the others fill that time.
#include <algorithm>
#include <cstddef>

#include "core/tuned.h"
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
using kir::kNone;

void Codegen::EmitRepeat(Id begin, Id end) {
  for (Id i = begin + 1; i < end; ++i) {
    if (Of(i).level == kPointLevel && HasCode(k_.body[i].op)) ForCopies([&] { EmitInst(i); });
  }
  Gp count = RepeatCount(k_.body[begin].a);
  for (Id i = begin + 1; k_.body[i].op == Op::kCarry; ++i) ForCopies([&] { InitCarry(i); });
  const int each = int(k_.scalars.size()) - k_.plain_scalars();
  if (each) {
    each_ = cc_.newIntPtr("each");
    cc_.mov(each_, x86::qword_ptr(args_, offsetof(kir::KernelArgs, scalars)));
  }
  MovePointers(begin, end);
  Label top = cc_.newLabel();
  cc_.bind(top);
  asmjit::BaseNode* const body = cc_.cursor();
  const uint32_t known = cc_.virtRegs().size();
  level_ = kLoopLevel;
  EmitIteration(begin, end);
  AdvanceCarries(begin, end, body, known);
  level_ = kPointLevel;
  if (each) cc_.add(each_, each * 8);
  if (k_.moves) AdvanceLoopPointers();
  const Label out = cc_.newLabel();
  if (const Id goes_on = k_.body[end].a; goes_on != kNone) {
    const Gp word = cc_.newInt32("goes_on");
    const Vec fresh = NewFor(DType::kI32);  // like a count
    Copy(fresh, R(goes_on));
    cc_.vmovd(word, fresh.xmm());
    cc_.test(word, word);
    cc_.jz(out);
  }
  cc_.dec(count);
  cc_.jnz(top);
  cc_.bind(out);
}

// Where what moves with the iterations is in the first.
void Codegen::MovePointers(Id begin, Id end) {
  if (!k_.moves) return;
  lo_ = cc_.newInt64("lo");
  cc_.xor_(lo_, lo_);
  LoopPointers(begin, end);
}

void Codegen::EmitIteration(Id begin, Id end) {
  for (Id i = begin + 1; i < end; ++i) {
    if (Of(i).level != kLoopLevel || !HasCode(k_.body[i].op)) continue;
    if (!Of(i).common) {
      ForCopies([&] { EmitInst(i); });
      continue;
    }
    EmitInst(i);
    const Operand value = Val(i);
    ForCopies([&] { Set(i, value); });
  }
}

Codegen::Gp Codegen::RepeatCount(Id id) {
  const Inst& inst = k_.body[id];
  Gp count = cc_.newInt64("count");
  if (inst.op == Op::kConst) {
    cc_.mov(count, int64_t(inst.imm));
  } else if (inst.op == Op::kParam) {
    cc_.mov(count, x86::qword_ptr(args_, offsetof(kir::KernelArgs, scalars)));
    cc_.mov(count, x86::qword_ptr(count, int32_t(inst.imm) * 8));
  } else {  // through a fresh register, like a mask in BoolBits
    Vec fresh = NewFor(DType::kI64);
    Copy(fresh, R(id));
    cc_.vmovq(count, fresh.xmm());
  }
  return count;
}

// A carry has a register of its own, which every iteration writes.
void Codegen::InitCarry(Id id) {
  const Inst& inst = k_.body[id];
  if (Is(id, Form::kMaskedCount)) {
    const InstId add = BySize(inst.type, x86::Inst::kIdVaddps, x86::Inst::kIdVaddpd);
    return Set(id, Make(inst.type, add, R(inst.a), Zero(RegBytes(inst.type))));
  }
  if (!Val(inst.a).isReg()) return Set(id, R(inst.a));
  Operand own = IdentityRegShape(inst);
  MoveReg(own, Val(inst.a));
  Set(id, own);
}

// --- how many vectors of columns

int Codegen::RepeatCopies() const {
  int copies = tuned::kMaxCopies;
  for (size_t i = 0; i < k_.body.size(); ++i) {
    if (k_.body[i].op != Op::kRepeat) continue;
    size_t end = i;
    while (k_.body[end].op != Op::kDone) ++end;
    copies = std::min(copies, RepeatCopies(Id(i), Id(end)));
  }
  return copies;
}

// As many as hide the latency, as long as everything stays in registers.
int Codegen::RepeatCopies(Id begin, Id end) const {
  int cost = 0;
  for (Id i = begin; i < end; ++i) {
    if (Of(i).level == kLoopLevel) cost += CostOf(k_.body[i]);
  }
  int copies = std::min(CopiesForLatency(begin, end), tuned::kMaxEmitted / std::max(cost, 1));
  for (const bool masks : {false, true}) {
    const int registers = masks ? 7 : z_ ? 32 : 16, scratch = masks ? 1 : z_ ? 2 : 3;
    const Pressure pressure = PressureOf(begin, end, masks);
    if (pressure.copy)
      copies = std::min(copies, (registers - scratch - pressure.common) / pressure.copy);
  }
  return std::max(copies, 1);
}

// The longest way from a carry to a next, in cycles, over the time that its work takes alone.
int Codegen::CopiesForLatency(Id begin, Id end) const {
  std::vector<int> ready(size_t(end - begin), 0);
  int work = 0, way = 0;
  for (Id i = begin + 1; i < end; ++i) {
    const Inst& inst = k_.body[i];
    if (Of(i).level != kLoopLevel) continue;
    int start = 0;
    for (Id id : {inst.a, inst.b, inst.c}) {
      if (id > begin) start = std::max(start, ready[size_t(id - begin)]);
    }
    if (!HasCode(inst.op)) {
      way = std::max(way, start);
      continue;
    }
    const bool slow = IsFloat(inst.type) && (inst.op == Op::kDiv || inst.op == Op::kSqrt);
    const bool compares = inst.op >= Op::kLt && inst.op <= Op::kNe;
    const bool simple = !compares && (!IsFloat(inst.type) || inst.op == Op::kNeg ||
                                      inst.op == Op::kAbs || inst.op == Op::kSelect);
    const int cost = slow ? 2 * SizeOf(inst.type) : CostOf(inst);
    ready[size_t(i - begin)] = start + (slow ? 20 : simple ? cost : 3 + cost);
    if (!Of(i).common) work += cost;
  }
  // Two instructions begin in a cycle at best; a quarter more covers what does not fall into place.
  return work ? (2 * way * 5 / 4 + work - 1) / work : 1;
}

// What is made when nothing but its own next needs the carry any more, and takes the carry's place.
std::vector<bool> Codegen::MadeInCarries(Id begin, Id end) const {
  std::vector<Id> last(size_t(end), kNone);  // the last use
  std::vector<bool> made(size_t(end), false);
  for (Id i = begin + 1; i < end; ++i) {
    const Inst& inst = k_.body[i];
    for (Id id : {inst.op == Op::kNext ? kNone : inst.a, inst.b, inst.c})
      if (id != kNone && inst.op != Op::kCarry) last[size_t(id)] = i;
  }
  for (Id i = begin + 1; i < end; ++i) {
    const Inst& inst = k_.body[i];
    if (inst.op != Op::kNext || Of(inst.b).level != kLoopLevel) continue;
    if (HasCode(k_.body[inst.b].op) && !Of(inst.b).common && last[size_t(inst.a)] <= inst.b)
      made[size_t(inst.b)] = true;
  }
  return made;
}

// Registers that hold values while the body runs, of masks (AVX-512) or of vectors.
Codegen::Pressure Codegen::PressureOf(Id begin, Id end, bool masks) const {
  Pressure p;
  std::vector<Id> last(size_t(end), kNone);  // the last use by what changes, `end` for nexts
  for (Id i = begin + 1; i < end; ++i) {
    const Inst& inst = k_.body[i];
    if (Of(i).level != kLoopLevel) continue;
    for (Id id : {inst.a, inst.b, inst.c}) {
      if (id != kNone) last[size_t(id)] = HasCode(inst.op) ? i : end;
    }
  }
  const auto counts = [&](Id id) { return masks == (z_ && IsBool(k_.body[id].type)); };
  const std::vector<bool> made = MadeInCarries(begin, end);
  int live = 0, most = 0;  // of what an iteration makes
  std::vector<int> ends(size_t(end) + 1, 0);
  for (Id i = 0; i < end; ++i) {
    if (last[size_t(i)] == kNone || !counts(i)) continue;
    const bool constant = k_.body[i].op == Op::kConst && !IsBool(k_.body[i].type);
    if (constant && (!resident_consts_ || SameConst(i) != i)) continue;
    if (Of(i).level == kLoopLevel || Of(i).level == kPointLevel) continue;
    ++p.common;
  }
  for (Id i = 0; i < end; ++i) {
    live -= ends[size_t(i)];
    if (last[size_t(i)] == kNone || !counts(i) || Of(i).level < kPointLevel) continue;
    if (Of(i).common) {
      ++p.common;
    } else if (Of(i).level == kPointLevel) {
      ++p.copy;
    } else if (!made[size_t(i)]) {
      ++live;
      ++ends[size_t(last[size_t(i)])];
      most = std::max(most, live);
    }
  }
  p.copy += most;
  return p;
}

}  // namespace frazil::jit
