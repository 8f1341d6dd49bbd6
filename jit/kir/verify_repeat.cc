#include "jit/kir/verify_repeat.h"

namespace frazil::kir {
namespace {

class RepeatVerifier {
 public:
  explicit RepeatVerifier(const Kernel& kernel)
      : k_(kernel), uniform_(kernel.body.size(), false), next_(kernel.body.size(), kNone) {}

  Status Run() {
    for (at_ = 0; at_ < Id(k_.body.size()); ++at_) {
      const Inst& inst = k_.body[at_];
      FZ_RETURN_IF_ERROR(Order(inst));
      FZ_RETURN_IF_ERROR(Check(inst));
      uniform_[at_] = Uniform(inst);
    }
    return absl::OkStatus();
  }

 private:
  template <typename... Args>
  Status Fail(const Args&... args) const {
    return ValueError("[kir] ", k_.name, " at %", at_, " ", Name(k_.body[at_].op), ": ", args...,
                      ".");
  }

  bool IsEach(const Inst& inst) const { return inst.op == Op::kParam && k_.scalars[inst.imm].each; }

  // The same at every point: made of scalars and constants alone.
  bool Uniform(const Inst& inst) const {
    if (!HasValue(inst.op) || inst.op == Op::kCarry || inst.op == Op::kReduce ||
        inst.op == Op::kIndex || inst.op == Op::kLoad || IsEach(inst)) {
      return false;
    }
    for (Id id : {inst.a, inst.b, inst.c}) {
      if (id != kNone && !uniform_[id]) return false;
    }
    return true;
  }

  // Carries first, nexts last.
  Status Order(const Inst& inst) const {
    const Op before = at_ == 0 ? Op::kStore : k_.body[at_ - 1].op;
    if (inst.op == Op::kCarry && before != Op::kRepeat && before != Op::kCarry)
      return Fail("not directly behind a repeat and its carries");
    if (before == Op::kNext && inst.op != Op::kNext && inst.op != Op::kDone)
      return Fail("between the nexts of a repeat and its done");
    return absl::OkStatus();
  }

  Status Check(const Inst& inst) {
    switch (inst.op) {
      case Op::kBarrier:
        barrier_ = at_;
        if (latest_ != kNone) return Fail("the kernel has the repeat at %", latest_);
        return absl::OkStatus();
      case Op::kRepeat:
        return CheckRepeat(inst);
      case Op::kCarry:
        if (inst.a > open_) return Fail("starts from the carry %", inst.a, " of the same repeat");
        return absl::OkStatus();
      case Op::kNext:
        return CheckNext(inst);
      case Op::kDone:
        return CheckDone(inst);
      case Op::kParam:
        if (IsEach(inst) && open_ == kNone)
          return Fail("scalar ", k_.scalars[inst.imm].name,
                      " has a value for each iteration, there is none outside a repeat");
        return absl::OkStatus();
      default:
        return absl::OkStatus();
    }
  }

  Status CheckRepeat(const Inst& inst) {
    if (barrier_ != kNone) return Fail("the kernel has the barrier at %", barrier_);
    if (!uniform_[inst.a])
      return Fail("the count %", inst.a, " is not made of scalars and constants alone");
    if (latest_ != kNone && k_.plain_scalars() != int(k_.scalars.size())) {
      return Fail("scalar ", k_.scalars.back().name,
                  " has a value for each iteration, of the repeat at %", latest_, " already");
    }
    open_ = latest_ = at_;
    return absl::OkStatus();
  }

  Status CheckNext(const Inst& inst) {
    if (open_ == kNone) return Fail("no repeat is open");
    if (inst.a < open_ || k_.body[inst.a].op != Op::kCarry)
      return Fail("operand %", inst.a, " is not a carry of the repeat at %", open_);
    if (next_[inst.a] != kNone)
      return Fail("the carry %", inst.a, " has a next already, at %", next_[inst.a]);
    next_[inst.a] = at_;
    return absl::OkStatus();
  }

  Status CheckDone(const Inst& inst) {
    if (inst.a != kNone && (inst.a < open_ || k_.body[inst.a].op != Op::kCarry))
      return Fail("operand %", inst.a, " is not a carry of the repeat at %", open_);
    if (k_.body[open_ + 1].op != Op::kCarry) return Fail("the repeat at %", open_, " has no carry");
    for (Id id = open_ + 1; k_.body[id].op == Op::kCarry; ++id) {
      if (next_[id] == kNone) return Fail("the carry %", id, " has no next");
    }
    open_ = kNone;
    return absl::OkStatus();
  }

  const Kernel& k_;
  std::vector<bool> uniform_;
  std::vector<Id> next_;  // of each carry, once it is known
  Id at_ = 0;
  Id open_ = kNone;     // the repeat around this instruction
  Id latest_ = kNone;   // the latest repeat
  Id barrier_ = kNone;  // the latest barrier
};

}  // namespace

Status CheckRepeats(const Kernel& kernel) { return RepeatVerifier(kernel).Run(); }

}  // namespace frazil::kir
