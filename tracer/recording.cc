#include "tracer/recording.h"

#include <cstdio>

#include "core/config.h"
#include "tracer/explain.h"

namespace frazil::tracer {
namespace {

bool SameContent(const Node& a, const Node& b) {
  if (a.composite != b.composite || a.op != b.op || a.attrs != b.attrs ||
      a.operands != b.operands || a.slots.size() != b.slots.size()) {
    return false;
  }
  for (size_t i = 0; i < a.slots.size(); ++i) {
    const SlotGuard &x = a.slots[i], &y = b.slots[i];
    if (x.layout != y.layout || x.dtype != y.dtype || x.immediate != y.immediate ||
        !(x.device == y.device))
      return false;
  }
  return true;
}

SegmentCompiler* g_compiler = nullptr;

}  // namespace

void SetSegmentCompiler(SegmentCompiler* compiler) { g_compiler = compiler; }
SegmentCompiler* GetSegmentCompiler() { return g_compiler; }

Recording::~Recording() = default;

Node* Recording::AddChild(Node* parent, std::unique_ptr<Node> child) {
  absl::MutexLock lock(&mutex_);
  for (Node* c = parent->children.load(std::memory_order_acquire); c; c = c->next) {
    if (SameContent(*c, *child)) return c;
  }
  child->next = parent->children.load(std::memory_order_relaxed);
  Node* published = child.get();
  nodes_.push_back(std::move(child));
  parent->child_count.fetch_add(1, std::memory_order_relaxed);
  parent->children.store(published, std::memory_order_release);
  parent->predicted.store(published, std::memory_order_release);
  return published;
}

std::shared_ptr<const SegmentPlan> Recording::FindPlan(Node* end, const LiveMask& live, bool blas) {
  absl::MutexLock lock(&mutex_);
  for (const auto& entry : end->plans) {
    if (entry.blas == blas && entry.live == live) return entry.plan;
  }
  return nullptr;
}

bool Recording::FirstBorrowed(OpId op) {
  absl::MutexLock lock(&mutex_);
  return borrowed_.insert(op).second;
}

Recording::Planned Recording::StorePlan(Node* end, const LiveMask& live, bool blas,
                                        std::shared_ptr<const SegmentPlan> plan) {
  absl::MutexLock lock(&mutex_);
  Planned before{Cause::kPlan, {}};
  for (const Node::PlanEntry& other : end->plans) {
    if (other.blas == blas) {
      before = {Cause::kWanted, other.live};
    } else if (other.live == live) {
      before = {Cause::kPrecision, live};
      break;
    }
  }
  if (end->plans.empty()) ++stats_.segments;
  ++stats_.plans;
  stats_.kernels_compiled += plan->compiled();
  if (end->plans.size() >= kMaxPlans) end->plans.erase(end->plans.begin());
  end->plans.push_back({live, blas, std::move(plan)});
  return before;
}

std::string Recording::Note(const Explanation& explanation, std::string_view effect) {
  TraceEvent event{explanation.cause, Here(), StrCat(Sentence(explanation), effect, ".")};
  std::string line = Line(event);
  if (LogEnabled("guard")) std::fprintf(stderr, "[trace] %s\n", line.c_str());
  absl::MutexLock lock(&mutex_);
  ++stats_.causes[static_cast<int>(event.cause)];
  for (TraceEvent& e : events_) {
    if (e.cause == event.cause && e.where == event.where && e.text == event.text) {
      ++e.times;
      return line;
    }
  }
  events_.push_back(std::move(event));
  if (events_.size() > kMaxEvents) {
    events_.pop_front();
    ++dropped_events_;
  }
  return line;
}

std::string Recording::Line(const TraceEvent& event) const {
  return StrCat(name_, event.where.empty() ? "" : StrCat(" (", event.where, ")"), ": ", event.text);
}

std::string Recording::Explain() {
  absl::MutexLock lock(&mutex_);
  std::string out =
      StrCat(name_, ": ", stats_.calls, " calls, ", stats_.replayed, " replayed, ", stats_.recorded,
             " recorded, ", stats_.fallbacks, " fell back; ", stats_.plans, " plans, ",
             stats_.kernels_compiled, " kernels compiled.\n");
  if (dropped_events_) StrAppend(&out, "  (", dropped_events_, " earlier events are not shown)\n");
  for (const TraceEvent& e : events_) {
    StrAppend(&out, "  ", Line(e), e.times > 1 ? StrCat(" (", e.times, " times)") : "", "\n");
  }
  return out;
}

std::vector<TraceEvent> Recording::Events() {
  absl::MutexLock lock(&mutex_);
  return {events_.begin(), events_.end()};
}

TraceStats Recording::stats() {
  absl::MutexLock lock(&mutex_);
  return stats_;
}

void Recording::Clear() {
  absl::MutexLock lock(&mutex_);
  // Nodes stay allocated: another thread may stand on one. They are unreachable for new calls.
  root_.children.store(nullptr, std::memory_order_release);
  root_.predicted.store(nullptr, std::memory_order_release);
  root_.child_count.store(0, std::memory_order_relaxed);
  root_.plans.clear();
  for (auto& node : nodes_) node->plans.clear();
  events_.clear();
  stats_ = {};
}

}  // namespace frazil::tracer
