// Where every value is computed, and what a body costs.
#include <algorithm>
#include <array>
#include <cstddef>

#include "core/tuned.h"
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
using kir::kNone;
using kir::Stride;

int8_t Codegen::LoadLevel(const Inst& inst, int region) const {
  const kir::Buffer& buffer = k_.buffers[inst.imm];
  int8_t level = kRowLevel;
  if (buffer.strides[k_.rank - 1] != Stride::kZero) level = kPointLevel;
  // Inside a loop that may run zero times nothing is read before the loop is entered.
  if (region) level = std::max<int8_t>(level, kPointLevel);
  if (region && buffer.strides[k_.rank] != Stride::kZero) level = kLoopLevel;
  // What the kernel itself writes is read where the program says.
  if (buffer.out) level = region ? kLoopLevel : kPointLevel;
  return level;
}

void Codegen::Analyse() {
  info_.assign(k_.body.size(), Info());
  vals_.assign(k_.body.size() * tuned::kMaxCopies, Operand());
  FindCounts();
  int region = 0, loops = 0, consts = 0;
  bool wide = false;
  Id repeat = kNone;
  for (const Inst& inst : k_.body) {
    for (Id operand : Taken(inst)) {
      if (operand != kNone) ++info_[operand].uses;
    }
  }
  FindNarrow();
  for (size_t i = 0; i < k_.body.size(); ++i) {
    const Inst& inst = k_.body[i];
    Info& info = info_[i];
    if (inst.op == Op::kLoop) region = ++loops;
    info.region = region;
    if (inst.op == Op::kEnd) region = 0;
    if (inst.op == Op::kRepeat) repeat = Id(i);
    if (inst.op == Op::kDone) repeat = kNone;
    repeats_ |= inst.op == Op::kRepeat;
    if (inst.op == Op::kLoop || inst.op == Op::kEnd || inst.op == Op::kBarrier) continue;
    if (inst.op == Op::kConst && info.uses == 0) continue;
    const bool stores_widened = inst.op == Op::kStore && info_[inst.a].widened;
    const bool narrow = info.widened || info.narrowed || stores_widened;
    if (SizeOf(inst.type) == 8 && !info.count && !narrow) wide = true;
    if (inst.op == Op::kConst && !info.count && !IsBool(inst.type) && SameConst(Id(i)) == Id(i))
      consts += inst.imm != 0;  // zeros are made where they are used
    for (Id operand : Taken(inst)) {
      if (operand == kNone) continue;
      int8_t level = info_[operand].level;
      if (k_.body[operand].op == Op::kReduce) level = kPointLevel;
      // Within its repeat a carry changes from one iteration to the next.
      const bool carried = repeat != kNone && operand > repeat && k_.body[operand].op == Op::kCarry;
      if (carried) level = kLoopLevel;
      info.level = std::max(info.level, level);
    }
    if (inst.op == Op::kParam && k_.scalars[inst.imm].each) {
      info.level = kLoopLevel;
      info.common = true;
    } else if (inst.op == Op::kCarry) {
      info.level = kPointLevel;
    } else if (repeat != kNone && info.level == kLoopLevel) {
      info.common = IsCommon(inst);
    }
    if (inst.op == Op::kIndex) {
      const int axis = int(inst.imm);
      info.level = axis < k_.rank - 1 ? kRowLevel : axis == k_.rank - 1 ? kPointLevel : kLoopLevel;
    } else if (inst.op == Op::kLoad) {
      info.level = std::max(info.level, LoadLevel(inst, info.region));
    } else if (inst.op == Op::kStore) {
      info.level = info.region ? kLoopLevel : kPointLevel;
    } else if (inst.op == Op::kReduce) {
      info.level = kLoopLevel;
    }
  }
  FindClamps();
  FindFlags();
  FindInverted();
  if (z_) FindTallies();
  if (z_ && !repeats_) {  // the operands of what is put off must live on, which carries do not
    FindSigns();
    FindUnder();
  }
  v_ = (z_ ? 16 : 8) / (wide ? 2 : 1);
  if (wide) {
    for (Info& info : info_) info.widened = info.narrowed = false;
  }
  if (z_ && space_ && !k_.has_loop && !repeats_) FindTables();
  FindParked();
  FindDivisors();
  resident_consts_ = consts <= (z_ ? 12 : 4);
  long_body_ = Cost(kPointLevel) > tuned::kShortBody;
}

void Codegen::FindCounts() {
  for (const Inst& inst : k_.body) {
    if (inst.op != Op::kRepeat) continue;
    const Op op = k_.body[inst.a].op;
    info_[inst.a].count = op == Op::kParam || op == Op::kConst;
  }
  for (const Inst& inst : k_.body) {
    if (inst.op == Op::kRepeat) continue;
    for (Id id : Taken(inst)) {
      if (id != kNone) info_[id].count = false;
    }
  }
}

// In a repeat: whether all operands are the same for every point.
bool Codegen::IsCommon(const Inst& inst) const {
  if (inst.op == Op::kLoad) return false;
  for (Id id : {inst.a, inst.b, inst.c}) {
    if (id == kNone || info_[id].level <= kRowLevel || info_[id].common) continue;
    return false;
  }
  return true;
}

// Whether the offset of a load or store is a small constant: it becomes part of the address.
bool Codegen::HasDistance(const Inst& inst) const {
  constexpr int64_t kFar = int64_t{1} << 24;
  const Id offset = inst.op == Op::kLoad ? inst.a : inst.op == Op::kStore ? inst.b : kNone;
  if (offset == kNone || k_.body[offset].op != Op::kConst) return false;
  const int64_t elements = int64_t(k_.body[offset].imm);
  return elements > -kFar && elements < kFar;
}

// The operands that instructions take from registers.
std::array<Codegen::Id, 3> Codegen::Taken(const Inst& inst) const {
  std::array<Id, 3> ids = {inst.a, inst.b, inst.c};
  if (HasDistance(inst)) ids[inst.op == Op::kStore] = kNone;
  return ids;
}

// The first constant with these bits; loops of one kernel often repeat their constants.
Codegen::Id Codegen::SameConst(Id id) const {
  const Inst& inst = k_.body[id];
  for (Id i = 0; i < id; ++i) {
    const Inst& other = k_.body[i];
    if (other.op == Op::kConst && !info_[i].count && other.imm == inst.imm && !IsBool(other.type) &&
        info_[i].uses > 0 && SizeOf(other.type) == SizeOf(inst.type)) {
      return i;
    }
  }
  return id;
}

int Codegen::Cost(int level) const {
  int cost = 0;
  for (size_t i = 0; i < k_.body.size(); ++i) {
    if (info_[i].level >= level && !info_[i].dropped) cost += CostOf(k_.body[i]);
  }
  return cost;
}

int Codegen::CostOf(const Inst& inst) {
  switch (inst.op) {
    case kir::Op::kParam:
    case kir::Op::kConst:
    case kir::Op::kLoop:
    case kir::Op::kEnd:
    case kir::Op::kBarrier:
    case kir::Op::kRepeat:
    case kir::Op::kCarry:
    case kir::Op::kNext:
    case kir::Op::kDone:
      return 0;
    case kir::Op::kDiv:
    case kir::Op::kRem:
      return IsFloat(inst.type) ? 1 : 12;
    case kir::Op::kMulhi:
      return 6;
    case kir::Op::kCast:
      return 4;
    case kir::Op::kMin:
    case kir::Op::kMax:
    case kir::Op::kReduce:
      return 3;
    case kir::Op::kLoad:
    case kir::Op::kStore:
      return inst.b != kNone ? 4 : 1;
    default:
      return 1;
  }
}

}  // namespace frazil::jit
