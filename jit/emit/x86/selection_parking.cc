// A kernel that computes the same value in two loops, as softmax does its exponentials, computes it
// in the first and parks it in the output that the second writes at the same place: a load of what
// L1 holds instead of all instructions before it.
//
// The output may lie over an operand, which the planner allowed since nothing is loaded behind the
// store. Parking moves the first store up, so nothing may be loaded behind that one either.
#include <algorithm>
#include <array>
#include <map>

#include "core/tuned.h"
#include "jit/emit/x86/selection.h"

namespace frazil::jit {

using kir::Inst;
using kir::kNone;
using kir::Stride;

// For each instruction the first one that makes the same value, in whichever loop.
std::vector<Selection::Id> Selection::SameValues() const {
  std::map<std::array<uint64_t, 7>, Id> known;
  std::vector<Id> first(k_.body.size());
  const auto number = [&](Id id) { return id == kNone ? ~uint64_t{0} : uint64_t(first[id]); };
  for (size_t i = 0; i < k_.body.size(); ++i) {
    const Inst& inst = k_.body[i];
    const bool own = !HasCode(inst.op) || inst.op == Op::kStore ||
                     (inst.op == Op::kLoad && k_.buffers[inst.imm].out);
    const std::array<uint64_t, 7> key = {uint64_t(inst.op),     uint64_t(inst.type), inst.imm,
                                         number(inst.a),        number(inst.b),      number(inst.c),
                                         own ? i : ~uint64_t{0}};
    first[i] = known.try_emplace(key, Id(i)).first->second;
  }
  return first;
}

void Selection::FindParked() {
  if (space_ || k_.chunked || repeats_) return;
  Id store = kNone;  // the last loop's only one, and all that it does
  for (size_t i = 0; i < k_.body.size(); ++i) {
    const Inst& inst = k_.body[i];
    if (inst.op == Op::kLoop) store = kNone;
    if (inst.op != Op::kStore && inst.op != Op::kReduce) continue;
    if (store != kNone || inst.op == Op::kReduce || !info_[i].region) {
      store = Id(k_.body.size());
    } else {
      store = Id(i);
    }
  }
  if (store == kNone || size_t(store) == k_.body.size()) return;
  const Inst& out = k_.body[store];
  const kir::Buffer& buffer = k_.buffers[out.imm];
  const auto touches = [&](const Inst& inst) {
    return (inst.op == Op::kLoad || inst.op == Op::kStore) && inst.imm == out.imm;
  };
  if (out.b != kNone || out.c != kNone || buffer.strides[k_.rank] != Stride::kOne ||
      SizeOf(buffer.dtype) < 4 || std::count_if(k_.body.begin(), k_.body.end(), touches) != 1)
    return;
  // It has a register of its own, as wide as its type.
  const auto is_whole = [&](Id id) {
    const Form form = info_[id].form;
    return form != Form::kNothing && form != Form::kWidened && form != Form::kNarrowed;
  };
  const std::vector<Id> same = SameValues();
  for (Id id = store; id-- > 0 && info_[id].region == info_[store].region;) {
    const Id made = same[id];
    if (made == id || info_[made].region == info_[id].region || !info_[made].region ||
        !is_whole(made) || !is_whole(id))
      continue;
    if (k_.body[id].type != buffer.dtype || info_[id].level != kLoopLevel ||
        info_[made].level != kLoopLevel)
      continue;
    if (Park(made, id, store)) return;
  }
}

// `again`, which `store` needs, is `made` once more.
bool Selection::Park(Id made, Id again, Id store) {
  std::vector<bool> needed(k_.body.size());
  needed[store] = true;
  for (Id i = store + 1; i-- > 0;) {
    if (!needed[i] || i == again) continue;
    for (Id operand : Taken(k_.body[i])) {
      if (operand != kNone) needed[operand] = true;
    }
  }
  if (!needed[again]) return false;
  std::vector<Id> dropped;
  int saved = 0;
  for (size_t i = size_t(made) + 1; i < k_.body.size(); ++i) {
    const bool drop = info_[i].region == info_[store].region && info_[i].level == kLoopLevel &&
                      HasCode(k_.body[i].op) && !needed[i];
    if (drop) {
      dropped.push_back(Id(i));
      saved += CostOf(k_.body[i]);
    } else if (k_.body[i].op == Op::kLoad && Id(i) != again) {
      return false;
    }
  }
  if (saved < tuned::kWorthParking) return false;
  for (const Id i : dropped) info_[i].form = Form::kDropped;
  info_[again].form = Form::kTakenBack;
  info_[made].also = Also::kPark;
  parking_ = int(k_.body[store].imm);
  return true;
}

}  // namespace frazil::jit
