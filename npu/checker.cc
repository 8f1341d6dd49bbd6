#include "npu/checker.h"

#include <algorithm>

#include "core/str.h"

namespace frazil::npu {
namespace {

void Join(const Clock& from, Clock* to) {
  for (size_t i = 0; i < kNumQueues; ++i) (*to)[i] = std::max((*to)[i], from[i]);
}

FaultCode CodeOf(Conflict conflict) {
  switch (conflict) {
    case Conflict::kUninit:
      return FaultCode::kUninitRead;
    case Conflict::kRaw:
      return FaultCode::kRaceRaw;
    case Conflict::kWar:
      return FaultCode::kRaceWar;
    default:
      return FaultCode::kRaceWaw;
  }
}

}  // namespace

Checker::Checker() : pcs_(1) {
  for (int s = 0; s < kNumSpaces; ++s) shadows_.emplace_back(Space(s));
}

void Checker::StartBlock(int block) {
  for (Shadow& shadow : shadows_) shadow.StartBlock();
  block_start_ = uint32_t(pcs_.size());
  blocks_.emplace_back(block_start_, block);
  clocks_ = {};
  flags_ = {};
  scalar_version_ = 0;
  seen_version_ = {};
}

Checker::Flag& Checker::FlagOf(const Issue& issue) {
  return flags_[size_t((issue.v[0] * kNumQueues + issue.v[1]) * kFlagsPerPair + issue.v[2])];
}

// What is dispatched comes after everything that the scalar unit has done or waited for.
void Checker::Dispatch(Queue queue) {
  if (queue == kS) return;
  Clock& clock = clocks_[queue];
  clock[kS] = clocks_[kS][kS];
  if (seen_version_[queue] == scalar_version_) return;
  seen_version_[queue] = scalar_version_;
  Join(clocks_[kS], &clock);
}

void Checker::JoinAll() {
  for (const Clock& clock : clocks_) Join(clock, &clocks_[kS]);
  ++scalar_version_;
}

bool Checker::Synchronise(const Issue& issue, Fault* fault) {
  if (issue.op == Op::kHALT || (issue.op == Op::kBAR && issue.queue == kS)) JoinAll();
  if (issue.op == Op::kWAIT) {
    Flag& flag = FlagOf(issue);
    Join(flag.set, &clocks_[issue.queue]);
    flag.waited = uint32_t(pcs_.size() - 1);
    if (issue.queue == kS) ++scalar_version_;
  }
  if (issue.op == Op::kSET) {
    Flag& flag = FlagOf(issue);
    const Clock& clock = clocks_[issue.queue];
    if (flag.waited > clock[issue.v[1]]) {
      fault->code = FaultCode::kFlagOverflow;
      fault->other_pc = pcs_[flag.waited];
      fault->detail = StrCat("nothing orders ", Name(issue.queue), " after the last WAIT of ",
                             Name(Queue(issue.v[1])));
      return false;
    }
    flag.set = clock;
  }
  return true;
}

bool Checker::Fail(const Issue& issue, const Access& access, const Touch& touch,
                   Fault* fault) const {
  fault->code = CodeOf(touch.conflict);
  fault->operand = access.operand;
  fault->address = touch.address;
  fault->address_end = touch.address_end;
  if (touch.conflict == Conflict::kUninit) return false;
  const uint32_t number = NumberOf(touch.other);
  fault->other_pc = pcs_[number];
  const Queue queue = QueueOf(touch.other);
  if (number >= block_start_) {
    fault->detail = StrCat("no flags lead from ", Name(queue), " to ", Name(issue.queue));
    return false;
  }
  const auto block = std::upper_bound(blocks_.begin(), blocks_.end(), number,
                                      [](uint32_t n, const auto& b) { return n < b.first; });
  fault->detail = StrCat("scope grid: the other access is that of ", Name(queue), " in block ",
                         std::prev(block)->second, ", and blocks have no order");
  return false;
}

bool Checker::Before(const Issue& issue, const Accesses& accesses, Fault* fault) {
  const uint32_t number = uint32_t(pcs_.size());
  if (number > kMaxNumber) {
    fault->code = FaultCode::kSimInternal;
    fault->detail = StrCat("check numbers ", kMaxNumber, " instructions at most");
    return false;
  }
  pcs_.push_back(issue.pc);
  Dispatch(issue.queue);
  clocks_[issue.queue][issue.queue] = number;
  if (!Synchronise(issue, fault)) return false;
  for (const Access& access : accesses) {
    Touch touch{MakeEpoch(number, issue.queue), &clocks_[issue.queue], block_start_, access.write};
    if (!shadows_[access.space()].Apply(access, &touch)) return Fail(issue, access, touch, fault);
  }
  return true;
}

}  // namespace frazil::npu
