#include "jit/emit/cuda/held.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/tuned.h"

namespace frazil::jit::cuda {
namespace {

using kir::Id;
using kir::Inst;
using kir::Kernel;
using kir::kNone;
using kir::Op;

class Finder {
 public:
  explicit Finder(const Kernel& kernel) : k_(kernel), number_(kernel.body.size()) {}

  HeldValues Run() {
    for (Id i = 0; i < Id(k_.body.size()); ++i) {
      const Inst& inst = k_.body[i];
      if (inst.op == Op::kLoop) {
        loop_begin_ = i;
        loop_ = loops_++;
      } else if (inst.op == Op::kEnd) {
        CloseLoop(i);
        loop_ = -1;
      } else if (inst.op == Op::kBarrier) {
        first_of_.clear();
      } else if (kir::HasValue(inst.op)) {
        Number(i);
      }
    }
    Place();
    return std::move(out_);
  }

 private:
  using Key = std::tuple<Op, DType, int, int, int, uint64_t, int>;
  struct Source {
    Id id;
    int loop;
  };

  int NumberOf(Id id) const { return id == kNone ? -1 : number_[id]; }
  bool InLoop() const { return loop_ >= 0; }

  // Equal numbers are equal values at equal indices. Loads mean another element outside loops.
  void Number(Id i) {
    const Inst& inst = k_.body[i];
    const bool unique =
        inst.op == Op::kReduce || (inst.op == Op::kLoad && k_.buffers[inst.imm].out);
    const int place = unique ? i + 1 : inst.op == Op::kLoad && InLoop() ? -1 : 0;
    const Key key{inst.op,  inst.type, NumberOf(inst.a), NumberOf(inst.b), NumberOf(inst.c),
                  inst.imm, place};
    number_[i] = numbers_.emplace(key, int(numbers_.size())).first->second;
    if (InLoop()) first_of_.emplace(number_[i], Source{i, loop_});
  }

  static bool IsPlainLoad(const Inst& inst) {
    return inst.op == Op::kLoad && inst.a == kNone && inst.b == kNone;
  }

  bool Varies(Id id) const {
    const Inst& inst = k_.body[id];
    return !IsPlainLoad(inst) || k_.buffers[inst.imm].strides.back() != kir::Stride::kZero;
  }

  // Walks from what a loop leaves behind to values that an earlier loop had.
  void CloseLoop(Id end) {
    std::vector<bool> seen(end - loop_begin_);
    for (Id i = loop_begin_ + 1; i < end; ++i) {
      const Inst& inst = k_.body[i];
      if (inst.op != Op::kStore && inst.op != Op::kReduce) continue;
      for (Id operand : {inst.a, inst.b, inst.c}) Need(operand, &seen);
    }
  }

  void Need(Id id, std::vector<bool>* seen) {
    if (id <= loop_begin_ || (*seen)[id - loop_begin_]) return;
    (*seen)[id - loop_begin_] = true;
    const Inst& inst = k_.body[id];
    const auto first = first_of_.find(number_[id]);
    const bool earlier = first != first_of_.end() && first->second.loop < loop_;
    const bool worth = inst.op == Op::kLoad ? Varies(id) : Cost(id) > tuned::kCheapOnGpu;
    if (earlier && worth) return Hold(first->second, id);
    for (Id operand : {inst.a, inst.b, inst.c}) Need(operand, seen);
  }

  // Instructions from the loads on; what is used twice counts twice.
  int Cost(Id id) const {
    if (id <= loop_begin_) return 0;
    const Inst& inst = k_.body[id];
    if (inst.op == Op::kLoad || inst.op == Op::kConst || inst.op == Op::kIndex) return 0;
    int cost = inst.op == Op::kCall                          ? tuned::kGpuCallCost
               : inst.op == Op::kDiv || inst.op == Op::kSqrt ? 8
                                                             : 1;
    for (Id operand : {inst.a, inst.b, inst.c}) {
      if (operand != kNone && cost <= tuned::kCheapOnGpu) cost += Cost(operand);
    }
    return cost;
  }

  void Hold(const Source& source, Id use) {
    auto it = std::find_if(out_.values.begin(), out_.values.end(),
                           [&](const Held& h) { return h.made == source.id; });
    if (it == out_.values.end()) {
      out_.values.push_back(
          {source.id, {}, source.loop, loop_, 0, IsPlainLoad(k_.body[source.id])});
      it = out_.values.end() - 1;
    }
    it->uses.push_back(use);
    it->last = loop_;
  }

  // An array takes the place of one that is read for the last time while it is made; loads are
  // made before anything is read.
  void Place() {
    struct Slot {
      int64_t offset;
      int bytes, busy_until;
    };
    std::vector<Slot> slots;
    std::stable_sort(out_.values.begin(), out_.values.end(),
                     [](const Held& a, const Held& b) { return a.first < b.first; });
    for (Held& h : out_.values) {
      const int bytes = SizeOf(k_.body[h.made].type);
      const auto slot = std::find_if(slots.begin(), slots.end(), [&](const Slot& s) {
        return s.bytes == bytes && (h.load ? s.busy_until < h.first : s.busy_until <= h.first);
      });
      if (slot == slots.end()) {
        h.offset = out_.bytes;
        slots.push_back({h.offset, bytes, h.last});
        out_.bytes += bytes;
        out_.registers += bytes > 4 ? 2 : 1;
      } else {
        h.offset = slot->offset;
        slot->busy_until = h.last;
      }
    }
  }

  const Kernel& k_;
  std::vector<int> number_;
  std::map<Key, int> numbers_;
  std::map<int, Source> first_of_;  // of each number, since the last barrier
  int loops_ = 0, loop_ = -1;
  Id loop_begin_ = 0;
  HeldValues out_;
};

}  // namespace

HeldValues FindHeld(const Kernel& kernel) {
  return kernel.has_loop ? Finder(kernel).Run() : HeldValues{};
}

}  // namespace frazil::jit::cuda
