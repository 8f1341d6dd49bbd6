#include "npu/queues.h"

#include <algorithm>

#include "core/str.h"
#include "npu/asm.h"

namespace frazil::npu {
namespace {

bool DrainsAll(const Issue& issue) {
  return issue.op == Op::kHALT || (issue.op == Op::kBAR && issue.queue == kS);
}

std::string FlagText(const Issue& issue) {
  return StrCat(Name(Queue(issue.v[0])), ">", Name(Queue(issue.v[1])), " #", issue.v[2]);
}

}  // namespace

void Queues::StartBlock() {
  for (auto& queue : queues_) queue.clear();
  flags_ = {};
}

bool Queues::Empty() const {
  return std::all_of(queues_.begin(), queues_.end(), [](const auto& q) { return q.empty(); });
}

bool Queues::CanRun(const Issue& head) {
  if (head.op == Op::kWAIT) return FlagOf(head);
  if (head.op == Op::kSET) return !FlagOf(head);  // a second SET waits for the WAIT of the first
  return true;
}

bool Queues::RunHead(Queue queue, Fault* fault) {
  const Issue head = queues_[queue].front();
  queues_[queue].pop_front();
  if (head.op == Op::kSET || head.op == Op::kWAIT) {
    FlagOf(head) = head.op == Op::kSET;
    return true;
  }
  if (!effects_ || effects_->On(head, false, fault)) return true;
  // The scalar unit is elsewhere by now.
  fault->pc = head.pc;
  fault->queue = head.queue;
  fault->instruction = Text(program_.code[head.pc]);
  return false;
}

bool Queues::Advance(Fault* fault) {
  for (bool moved = true; moved;) {
    moved = false;
    for (int q = kLD; q < kNumQueues; ++q) {
      while (!queues_[size_t(q)].empty() && CanRun(queues_[size_t(q)].front())) {
        if (!RunHead(Queue(q), fault)) return false;
        moved = true;
      }
    }
  }
  return true;
}

bool Queues::Enqueue(const Issue& issue, Fault* fault) {
  auto& queue = queues_[issue.queue];
  if (queue.size() == depth_) return Stuck(issue, fault);
  queue.push_back(issue);
  return Advance(fault);
}

// All queues have been advanced before, so whatever the scalar unit has to wait for now will not
// come.
bool Queues::On(const Issue& issue, bool taken, Fault* fault) {
  if (issue.queue != kS) return Enqueue(issue, fault);
  if (DrainsAll(issue)) {
    if (!Empty()) return Stuck(issue, fault);
    return issue.op != Op::kHALT || Leak(fault);
  }
  if (issue.op != Op::kSET && issue.op != Op::kWAIT) return true;
  if (!CanRun(issue)) return Stuck(issue, fault);
  FlagOf(issue) = issue.op == Op::kSET;
  return Advance(fault);
}

bool Queues::Leak(Fault* fault) const {
  for (size_t i = 0; i < flags_.size(); ++i) {
    if (!flags_[i]) continue;
    Issue flag;
    flag.v = {i / kFlagsPerPair / kNumQueues, i / kFlagsPerPair % kNumQueues, i % kFlagsPerPair};
    fault->code = FaultCode::kFlagLeak;
    fault->detail = FlagText(flag);
    return false;
  }
  return true;
}

bool Queues::Stuck(const Issue& issue, Fault* fault) {
  fault->code = FaultCode::kDeadlock;
  if (issue.queue != kS) {
    fault->detail = StrCat(Name(issue.queue), " has no slot: ", depth_, " instructions wait in it");
  } else if (DrainsAll(issue)) {
    fault->detail = "not every queue can be drained";
  } else {
    fault->detail = StrCat("the scalar unit waits for flag ", FlagText(issue));
  }
  fault->graph = Graph(issue);
  return false;
}

// Empty queues are shown where somebody waits for them.
std::string Queues::Graph(const Issue& issue) {
  std::string edges;
  uint32_t shown = 1 << kS;
  const auto edge = [&](Queue from, Queue to, std::string_view text) {
    StrAppend(&edges, "  \"", Name(from), "\" -> \"", Name(to), "\" [label=\"", text, "\"];\n");
    shown |= 1u << to;
  };
  // A flag comes from its first queue, or goes when the second takes it.
  const auto flag = [&](Queue from, const Issue& head) {
    edge(from, Queue(head.v[head.op == Op::kWAIT ? 0 : 1]), FlagText(head));
  };
  for (int q = kLD; q < kNumQueues; ++q) {
    if (queues_[size_t(q)].empty()) continue;
    shown |= 1u << q;
    flag(Queue(q), queues_[size_t(q)].front());
    if (DrainsAll(issue)) edge(kS, Queue(q), "drain");
  }
  if (issue.queue != kS) {
    edge(kS, issue.queue, "slot");
  } else if (!DrainsAll(issue)) {
    flag(kS, issue);
  }
  std::string nodes;
  for (int q = kS; q < kNumQueues; ++q) {
    if (!(shown >> q & 1)) continue;
    const auto& queue = queues_[size_t(q)];
    const bool empty = q != kS && queue.empty();
    const Issue* head = q == kS ? &issue : empty ? nullptr : &queue.front();
    StrAppend(
        &nodes, "  \"", Name(Queue(q)), "\" [label=\"", Name(Queue(q)), "\\n",
        head ? StrCat("pc ", head->pc, ": ", Text(program_.code[head->pc])) : std::string("empty"));
    if (q != kS && queue.size() > 1) StrAppend(&nodes, ", ", queue.size() - 1, " more");
    StrAppend(&nodes, "\"];\n");
    if (empty) edge(Queue(q), kS, "next instruction");
  }
  return StrCat("digraph deadlock {\n", nodes, edges, "}\n");
}

}  // namespace frazil::npu
