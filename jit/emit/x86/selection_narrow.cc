// 64-bit integers that 32-bit lanes do for: one value of twice the width would halve the lanes of
// the whole kernel.
#include <algorithm>
#include <limits>

#include "jit/emit/x86/selection.h"

namespace frazil::jit {

using kir::Inst;
using kir::kNone;
using kir::Stride;

namespace {

using Range = std::pair<int64_t, int64_t>;
constexpr Range kAll32 = {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};

// The least and the greatest value of a 32-bit integer, as far as constants tell.
Range RangeOf(const kir::Kernel& k, kir::Id id) {
  Range range = {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  while (true) {  // a chain of selects, one of whose arms is a constant
    const Inst& inst = k.body[id];
    if (inst.op != kir::Op::kConst && inst.op != kir::Op::kSelect) return kAll32;
    const bool ends = inst.op == kir::Op::kConst;
    if (!ends && k.body[inst.b].op != kir::Op::kConst) return kAll32;
    const auto value = int64_t(int32_t(k.body[ends ? id : inst.b].imm));
    range = {std::min(range.first, value), std::max(range.second, value)};
    if (ends) return range;
    id = inst.c;
  }
}

}  // namespace

// A 32-bit integer that is cast to 64 bits only to be stored, next to each other, or to be compared
// with what is narrowed.
bool Selection::StaysNarrow(Id id) const {
  const Inst& cast = k_.body[id];
  if (!space_ || cast.op != Op::kCast || SizeOf(cast.type) != 8 || IsFloat(cast.type)) return false;
  const DType from = k_.body[cast.a].type;
  if (from != DType::kI32 && from != DType::kU32) return false;
  for (const Inst& inst : k_.body) {
    if (inst.a != id && inst.b != id && inst.c != id) continue;
    if (inst.op == Op::kEq || inst.op == Op::kNe) {
      if (info_[inst.a == id ? inst.b : inst.a].form != Form::kNarrowed) return false;
      continue;
    }
    const bool plain = inst.op == Op::kStore && inst.a == id && inst.c == kNone &&
                       (inst.b == kNone || HasDistance(inst));
    if (!plain || k_.buffers[inst.imm].strides[k_.rank - 1] != Stride::kOne) return false;
  }
  return true;
}

// What all points share, as the numbers of classes are, and what is compared with 32-bit integers
// that do not take all values: what lies beyond 32 bits becomes a value that they do not take.
bool Selection::CanNarrow(Id id) {
  const Inst& shared = k_.body[id];
  if (!space_ || shared.type != DType::kI64) return false;
  const bool param = shared.op == Op::kParam && !k_.scalars[shared.imm].each;
  const bool load = shared.op == Op::kLoad && shared.b == kNone && !k_.buffers[shared.imm].out &&
                    (shared.a == kNone || HasDistance(shared)) &&
                    k_.buffers[shared.imm].strides[k_.rank - 1] == Stride::kZero;
  if (!param && !load) return false;
  Range range = {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (const Inst& inst : k_.body) {
    if (inst.a != id && inst.b != id && inst.c != id) continue;
    if ((inst.op != Op::kEq && inst.op != Op::kNe) || inst.a == inst.b) return false;
    const Inst& cast = k_.body[inst.a == id ? inst.b : inst.a];
    if (cast.op != Op::kCast || k_.body[cast.a].type != DType::kI32) return false;
    const Range other = RangeOf(k_, cast.a);
    range = {std::min(range.first, other.first), std::max(range.second, other.second)};
  }
  if (range.second < range.first || range.second == kAll32.second) return false;
  info_[id].beyond = int32_t(range.second) + 1;
  return true;
}

void Selection::Widen() {
  for (size_t i = 0; i < k_.body.size(); ++i) {
    Form& form = info_[i].form;
    if (form != Form::kNarrowed) form = StaysNarrow(Id(i)) ? Form::kWidened : Form::kPlain;
  }
}

void Selection::FindNarrow() {
  if (k_.has_loop || k_.has_repeat()) {  // what is shared may be loaded in a loop
    Widen();
    return;
  }
  for (size_t i = 0; i < k_.body.size(); ++i) {
    if (CanNarrow(Id(i))) info_[i].form = Form::kNarrowed;
  }
  for (bool changed = true; changed;) {  // until all agree
    changed = false;
    Widen();
    for (const Inst& inst : k_.body) {
      if (inst.op != Op::kEq && inst.op != Op::kNe) continue;
      for (const auto& [shared, cast] : {std::pair(inst.a, inst.b), std::pair(inst.b, inst.a)}) {
        if (info_[shared].form != Form::kNarrowed || info_[cast].form == Form::kWidened) continue;
        info_[shared].form = Form::kPlain;
        changed = true;
      }
    }
  }
}

}  // namespace frazil::jit
