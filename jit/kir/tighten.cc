#include "jit/kir/tighten.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace frazil::kir {
namespace {

bool Moves(Op op) {
  switch (op) {
    case Op::kLoad:
    case Op::kParam:
    case Op::kConst:
    case Op::kIndex:
    case Op::kCarry:
    case Op::kReduce:
      return false;
    default:
      return HasValue(op);
  }
}

// The order of one repeat's body.
class Order {
 public:
  Order(const Kernel& kernel, Id begin, Id end)
      : k_(kernel), begin_(begin), end_(end), placed_(size_t(end - begin)) {
    users_.resize(placed_.size());
    left_.assign(placed_.size(), 0);
    replaces_.assign(placed_.size(), kNone);
    for (Id i = 0; i < Id(k_.body.size()); ++i) {
      for (Id id : Operands(i)) {
        ++left_[At(id)];
        if (Within(i) && Moves(k_.body[i].op)) users_[At(id)].push_back(i);
      }
      const Inst& inst = k_.body[i];
      const bool next = inst.op == Op::kNext && Within(i) && Within(inst.b);
      if (next && Moves(k_.body[inst.b].op)) replaces_[At(inst.b)] = inst.a;
    }
  }

  std::vector<Id> Run() {
    for (Id i = begin_; i < end_; ++i) Place(i);
    return std::move(order_);
  }

 private:
  // An instruction with which others go: before it the users of the carry that it replaces, behind
  // it its own users (list 0) and those of its operands.
  struct Visit {
    Id id;
    bool past_carry = false;
    size_t list = 0, user = 0;
  };

  bool Within(Id id) const { return id >= begin_ && id < end_; }
  size_t At(Id id) const { return size_t(id - begin_); }

  // Those made in the body, each once.
  std::vector<Id> Operands(Id id) const {
    const Inst& inst = k_.body[id];
    std::vector<Id> ids;
    for (Id operand : {inst.a, inst.b, inst.c}) {
      if (Within(operand) && std::find(ids.begin(), ids.end(), operand) == ids.end())
        ids.push_back(operand);
    }
    return ids;
  }

  bool Ready(Id id) const {
    for (Id operand : Operands(id)) {
      if (!placed_[At(operand)]) return false;
    }
    return true;
  }

  bool EndsOne(Id id) const {
    for (Id operand : Operands(id)) {
      const Op op = k_.body[operand].op;
      if (left_[At(operand)] == 1 && (Moves(op) || op == Op::kLoad)) return true;
    }
    return false;
  }

  // Whether nothing else takes the carry that `id` replaces.
  bool MayReplace(Id id) const {
    const Id carry = replaces_[At(id)];
    if (carry == kNone || !Within(carry)) return true;
    return std::all_of(users_[At(carry)].begin(), users_[At(carry)].end(),
                       [&](Id user) { return user == id || placed_[At(user)]; });
  }

  // `first` and what goes with it, as deep as a chain of instructions is long.
  void Place(Id first) {
    if (placed_[At(first)]) return;
    std::vector<Visit> visits = {{first}};
    while (!visits.empty()) {
      const Id next = Next(&visits.back());
      if (next == kNone) {
        visits.pop_back();
      } else {
        visits.push_back({next});
      }
    }
  }

  // What is to be placed next with an instruction, which is placed on the way.
  Id Next(Visit* visit) {
    const Id id = visit->id;
    if (!visit->past_carry) {
      if (const Id carry = replaces_[At(id)]; carry != kNone && Within(carry)) {
        const std::vector<Id>& users = users_[At(carry)];
        while (visit->user < users.size()) {
          const Id user = users[visit->user++];
          if (user > id && !placed_[At(user)] && Ready(user) && MayReplace(user)) return user;
        }
      }
      if (placed_[At(id)]) return kNone;  // it went along
      visit->past_carry = true;
      visit->user = 0;
      placed_[At(id)] = true;
      order_.push_back(id);
      for (Id operand : Operands(id)) --left_[At(operand)];
    }
    const std::vector<Id> operands = Operands(id);
    for (; visit->list <= operands.size(); ++visit->list, visit->user = 0) {
      const std::vector<Id>& users = users_[At(visit->list ? operands[visit->list - 1] : id)];
      while (visit->user < users.size()) {
        const Id user = users[visit->user++];
        if (!placed_[At(user)] && Ready(user) && EndsOne(user) && MayReplace(user)) return user;
      }
    }
    return kNone;
  }

  const Kernel& k_;
  const Id begin_, end_;
  std::vector<bool> placed_;
  std::vector<std::vector<Id>> users_;  // in the body, that may move
  std::vector<int> left_;               // instructions that still take a value
  std::vector<Id> replaces_;            // the carry of which a value is the next
  std::vector<Id> order_;
};

void Reorder(Kernel* kernel, Id begin, const std::vector<Id>& order) {
  std::vector<Id> to(kernel->body.size());
  for (size_t i = 0; i < to.size(); ++i) to[i] = Id(i);
  std::vector<Inst> body;
  for (size_t i = 0; i < order.size(); ++i) {
    to[size_t(order[i])] = begin + Id(i);
    body.push_back(kernel->body[size_t(order[i])]);
  }
  std::copy(body.begin(), body.end(), kernel->body.begin() + begin);
  for (Inst& inst : kernel->body) {
    for (Id* id : {&inst.a, &inst.b, &inst.c}) {
      if (*id != kNone) *id = to[size_t(*id)];
    }
  }
}

}  // namespace

Kernel Tighten(Kernel kernel) {
  for (Id begin = 0; begin < Id(kernel.body.size()); ++begin) {
    if (kernel.body[begin].op != Op::kRepeat) continue;
    Id end = ++begin;
    while (kernel.body[end].op != Op::kDone) ++end;
    const auto loops = [](const Inst& inst) { return inst.op == Op::kLoop; };
    if (std::none_of(kernel.body.begin() + begin, kernel.body.begin() + end, loops))
      Reorder(&kernel, begin, Order(kernel, begin, end).Run());
    begin = end;
  }
  return kernel;
}

}  // namespace frazil::kir
