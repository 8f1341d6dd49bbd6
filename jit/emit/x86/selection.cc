#include "jit/emit/x86/selection.h"

#include <algorithm>

#include "core/tuned.h"

namespace frazil::jit {

using kir::Inst;
using kir::kNone;
using kir::Stride;

Selection::Selection(const kir::Kernel& kernel, Isa isa)
    : k_(kernel),
      z_(isa == Isa::kAvx512),
      space_(kernel.vec == kir::VecAxis::kSpace),
      none_(kernel.vec == kir::VecAxis::kNone),
      info_(kernel.body.size()) {}

int8_t Selection::LoadLevel(const Inst& inst, int region) const {
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

void Selection::Select() {
  FindCounts();
  for (const Inst& inst : k_.body) {
    for (const Id operand : Taken(inst)) {
      if (operand != kNone) ++info_[operand].uses;
    }
  }
  FindNarrow();
  FindLevels();
  using Rule = bool (Selection::*)(Id);
  const auto apply = [&](Where where, Form form, Rule rule) {
    if ((where >= Where::kAvx512 && !z_) || (where == Where::kAvx512Once && repeats_)) return;
    for (size_t i = 0; i < k_.body.size(); ++i) {
      if ((this->*rule)(Id(i))) info_[i].form = form;
    }
  };
#define FZ_FORM(name, where, doc) apply(Where::where, Form::k##name, &Selection::name);
#include "jit/emit/x86/selection.def"
#undef FZ_FORM
  if (v_ < (z_ ? 16 : 8)) {  // something is wide: nothing is gained
    for (Info& info : info_) {
      if (info.form == Form::kWidened || info.form == Form::kNarrowed) info.form = Form::kPlain;
    }
  }
  FindParked();
  FindDivisors();
  long_body_ = Cost(kPointLevel) > tuned::kShortBody;
}

// Where every value is computed.
void Selection::FindLevels() {
  int region = 0, loops = 0, consts = 0;
  bool wide = false;
  Id repeat = kNone;
  for (size_t i = 0; i < k_.body.size(); ++i) {
    const Inst& inst = k_.body[i];
    Info& info = info_[i];
    if (inst.op == Op::kLoop) region = ++loops;
    info.region = region;
    if (inst.op == Op::kEnd) region = 0;
    if (inst.op == Op::kRepeat) {
      repeat = Id(i);
      if (k_.moves) info.region = region = ++loops;
    }
    if (inst.op == Op::kDone) {
      repeat = kNone;
      region = 0;
    }
    repeats_ |= inst.op == Op::kRepeat;
    if (inst.op == Op::kLoop || inst.op == Op::kEnd || inst.op == Op::kBarrier) continue;
    if (inst.op == Op::kConst && info.uses == 0) continue;
    const bool stores_widened = inst.op == Op::kStore && info_[inst.a].form == Form::kWidened;
    const bool narrow =
        info.form == Form::kWidened || info.form == Form::kNarrowed || stores_widened;
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
      // Long bodies have no registers for what is loaded once.
      if (none_ && repeat != kNone) info.level = kLoopLevel;
    } else if (inst.op == Op::kStore) {
      info.level = info.region ? kLoopLevel : kPointLevel;
    } else if (inst.op == Op::kReduce) {
      info.level = kLoopLevel;
    }
  }
  v_ = none_ ? 4 : (z_ ? 16 : 8) / (wide ? 2 : 1);
  resident_consts_ = consts <= (z_ ? 12 : 4);
}

void Selection::FindCounts() {
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
bool Selection::IsCommon(const Inst& inst) const {
  if (inst.op == Op::kLoad) return false;
  for (Id id : {inst.a, inst.b, inst.c}) {
    if (id == kNone || info_[id].level <= kRowLevel || info_[id].common) continue;
    return false;
  }
  return true;
}

// Whether the offset of a load or store is a small constant: it becomes part of the address.
bool Selection::HasDistance(const Inst& inst) const {
  constexpr int64_t kFar = int64_t{1} << 24;
  const Id offset = inst.op == Op::kLoad ? inst.a : inst.op == Op::kStore ? inst.b : kNone;
  if (offset == kNone || k_.body[offset].op != Op::kConst) return false;
  const int64_t elements = int64_t(k_.body[offset].imm);
  return elements > -kFar && elements < kFar;
}

// The operands that instructions take from registers.
std::array<Selection::Id, 3> Selection::Taken(const Inst& inst) const {
  std::array<Id, 3> ids = {inst.a, inst.b, inst.c};
  if (HasDistance(inst)) ids[inst.op == Op::kStore] = kNone;
  return ids;
}

// The first constant with these bits; loops of one kernel often repeat their constants.
Selection::Id Selection::SameConst(Id id) const {
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

int Selection::Cost(int level) const {
  int cost = 0;
  for (size_t i = 0; i < k_.body.size(); ++i) {
    if (info_[i].level >= level && info_[i].form != Form::kDropped) cost += CostOf(k_.body[i]);
  }
  return cost;
}

int Selection::CostOf(const Inst& inst) {
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

int Selection::RegBytes(DType type) const {
  if (IsBool(type)) return v_ * 4;  // AVX2 only
  return std::max(16, v_ * SizeOf(type));
}

// Where columns lie side by side in all operands, and no mask has to be kept.
bool Selection::HasPanels() const {
  if (repeats_ || !k_.has_loop || (k_.chunked && k_.rank < 2)) return false;
  for (const kir::Buffer& buffer : k_.buffers) {
    if (buffer.strides[k_.rank - 1] == Stride::kAny) return false;
  }
  const std::vector<bool> kept = KeptInPanels();
  for (size_t i = 0; i < k_.body.size(); ++i) {
    const Inst& inst = k_.body[i];
    if (IsBool(inst.type) && (kept[i] || inst.op == Op::kReduce)) return false;
  }
  return true;
}

// Which pass or loop an instruction belongs to. What a loop holds of a column is made before it.
std::vector<int> Selection::PanelParts() const {
  std::vector<int> parts(k_.body.size());
  int part = 0;
  for (size_t i = 0; i < k_.body.size(); ++i) {
    if (k_.body[i].op == Op::kLoop) ++part;
    const bool before = part % 2 == 1 && info_[i].level == kPointLevel && HasCode(k_.body[i].op);
    parts[i] = before ? part - 1 : part;
    if (k_.body[i].op == Op::kEnd) ++part;
  }
  return parts;
}

// The part that a value is first known in: a result of a reduction after its loop.
int Selection::KnownIn(const std::vector<int>& parts, Id id) const {
  return parts[id] + (k_.body[id].op == Op::kReduce);
}

// The values of a column that another part takes than the one they are known in.
std::vector<bool> Selection::KeptInPanels() const {
  const std::vector<int> parts = PanelParts();
  std::vector<bool> kept(k_.body.size());
  for (size_t i = 0; i < k_.body.size(); ++i) {
    for (Id operand : Taken(k_.body[i])) {
      if (operand == kNone) continue;
      const bool reduced = k_.body[operand].op == Op::kReduce;
      if (!reduced && info_[operand].level != kPointLevel) continue;
      if (KnownIn(parts, operand) != parts[i]) kept[operand] = true;
    }
  }
  return kept;
}

}  // namespace frazil::jit
