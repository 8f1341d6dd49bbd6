#include "tracer/recording.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>

#include "absl/hash/hash.h"
#include "core/check.h"
#include "core/config.h"
#include "core/threads/asymmetric_fence.h"
#include "tracer/explain.h"
#include "tracer/program_text.h"

namespace frazil::tracer {

bool Node::SameContent(const Node& other) const {
  return composite == other.composite && op == other.op && attrs == other.attrs &&
         operands == other.operands && slots == other.slots;
}

std::vector<const Node*> PathTo(const Node& end) {
  std::vector<const Node*> path(static_cast<size_t>(end.depth));
  for (const Node* n = &end; n->parent; n = n->parent) path[n->depth - 1] = n;
  return path;
}

Program ProgramOf(absl::Span<const Node* const> path) {
  Program program;
  program.calls.reserve(path.size());
  for (const Node* node : path) {
    program.parameters.insert(program.parameters.end(), node->slots.begin(), node->slots.end());
    program.calls.push_back({std::make_shared<const CallRecord>(*node), node->operands});
  }
  return program;
}

namespace {

uint64_t PlanHash(const Node& end, const LiveMask& live) {
  return absl::HashOf(end.path_hash, live);
}

void PutInBucket(ChildIndex* index, Node* child) {
  std::atomic<Node*>& head = index->Bucket(child->hash);
  child->next_in_bucket.store(head.load());
  head.store(child);
}

// Called with the recording's mutex held, after `child` became one of `count` children.
void AddToIndex(Node* parent, Node* child, int count) {
  if (ChildIndex* index = parent->index.load()) return PutInBucket(index, child);
  if (count <= Node::kScanned) return;
  auto index = std::make_unique<ChildIndex>();
  for (Node* c = parent->children.load(); c; c = c->next.load()) PutInBucket(index.get(), c);
  parent->index.store(index.release());
}

template <typename F>
void ForEach(Node* root, const F& f) {
  for (Node* node = root;;) {  // a path may be too long to recurse along it
    f(node);
    if (Node* child = node->children.load()) {
      node = child;
      continue;
    }
    while (node != root && !node->next.load()) node = node->parent;
    if (node == root) return;
    node = node->next.load();
  }
}

// Calls leave(link, used) with the link to each node but the root, what is below it first, and the
// latest use of the node or anything below. It returns the link to go on with.
template <typename F>
void ForEachFromBelow(Node* root, const F& leave) {
  struct Level {
    std::atomic<Node*>* at;  // the link to the child that is next
    uint64_t used;
  };
  const auto level = [](Node* node) {
    return Level{&node->children, node->used.load(std::memory_order_relaxed)};
  };
  std::vector<Level> levels = {level(root)};
  for (;;) {
    if (Node* child = levels.back().at->load()) {
      levels.push_back(level(child));
      continue;
    }
    const uint64_t used = levels.back().used;
    levels.pop_back();
    if (levels.empty()) return;
    Level& above = levels.back();
    above.used = std::max(above.used, used);  // what was used late keeps its parents
    above.at = leave(above.at, used);
  }
}

constexpr uint64_t kEver = std::numeric_limits<uint64_t>::max();

SegmentCompiler* g_compiler = nullptr;

}  // namespace

void SetSegmentCompiler(SegmentCompiler* compiler) { g_compiler = compiler; }
SegmentCompiler* GetSegmentCompiler() { return g_compiler; }

Recording::Recording(std::string name, bool records_views)
    : name_(std::move(name)), records_views_(records_views) {
  root_.path_hash = absl::HashOf(name_);
  Bounds::Register(this);
}

Recording::~Recording() {
  Bounds::Unregister(this);
  Clear();
  Reclaim();
  FZ_CHECK(Visits(0) == 0 && Visits(1) == 0 && retired_.empty());
}

// ---- Visits. A visit counts itself and then looks at the epoch; Reclaim sets the epoch and then
// looks at the counts. Whichever comes second sees the other.

Recording::Shard* Recording::OtherShard() {
  for (Shard* s = shards_; s != &shards_[kShards - 1]; ++s) {
    const ThreadState* owner = s->owner.load(std::memory_order_relaxed);
    if (owner == &State()) return s;
    if (!owner && s->owner.compare_exchange_strong(owner, &State())) return s;
  }
  return &shards_[kShards - 1];
}

uint64_t Recording::Enter(Shard* shard) {
  for (;;) {
    const uint64_t epoch = epoch_.load();
    shard->Add(&shard->visits[epoch & 1], 1);
    LightFence();
    if (epoch_.load() == epoch) return epoch;
    shard->Add(&shard->visits[epoch & 1], -1);
  }
}

void Recording::Leave(Shard* shard, uint64_t epoch) {
  if (!shard) shard = &shards_[kShards - 1];
  shard->Add(&shard->visits[epoch & 1], -1);
  if (any_retired_.load(std::memory_order_relaxed)) Reclaim();
}

int64_t Recording::Visits(uint64_t epoch) const {
  int64_t visits = 0;
  for (const Shard& s : shards_) visits += s.visits[epoch & 1].load(std::memory_order_acquire);
  return visits;
}

void Recording::Retire(std::unique_ptr<Node> node) {
  retired_.emplace_back(epoch_.load(), std::move(node));
  any_retired_.store(true, std::memory_order_relaxed);
}

void Recording::Reclaim() {
  Retired free;  // after the lock
  MutexLock lock(&mutex_);
  uint64_t epoch = epoch_.load();
  // Looking once more after the fence, which is dear.
  const auto unvisited = [&] { return Visits(epoch - 1) == 0; };
  for (int i = 0; i < 3 && unvisited() && (HeavyFence(), unvisited()); ++i) epoch_.store(++epoch);
  const auto old = [epoch](const auto& r) { return r.first + 3 <= epoch; };
  const auto kept = std::partition(retired_.begin(), retired_.end(), std::not_fn(old));
  free.assign(std::make_move_iterator(kept), std::make_move_iterator(retired_.end()));
  retired_.erase(kept, retired_.end());
  any_retired_.store(!retired_.empty(), std::memory_order_relaxed);
}

// ---- Children

Node* Recording::FindEqual(Node* parent, const Node& child) {
  ChildIndex* index = parent->index.load();
  const auto next = index ? &Node::next_in_bucket : &Node::next;
  Node* c = index ? index->Bucket(child.hash).load() : parent->children.load();
  for (; c; c = (c->*next).load()) {
    if (c->hash == child.hash && c->SameContent(child)) return c;
  }
  return nullptr;
}

Node* Recording::AddChild(Node* parent, std::unique_ptr<Node> child) {
  child->path_hash = (parent->path_hash ^ child->hash) * 0x9E3779B97F4A7C15u;
  child->bytes = BytesOf(*child) + static_cast<int64_t>(sizeof(Node) - sizeof(CallRecord) +
                                                        sizeof(Parameter) * child->slots.size());
  child->used.store(Bounds::Advance(), std::memory_order_relaxed);
  Node* published = child.get();
  bool thrashing = false;
  {
    MutexLock lock(&mutex_);
    if (parent->evicted.load(std::memory_order_relaxed)) {
      // What nobody else can reach lives as long as this visit.
      child->evicted.store(true, std::memory_order_relaxed);
      Retire(std::move(child));
      return published;
    }
    if (Node* equal = FindEqual(parent, *child)) return equal;
    Bounds::CountNodes(1, child->bytes);
    thrashing = Bounds::Made(child->path_hash, false);
    child->next.store(parent->children.load());
    parent->children.store(child.release());
    const int count = parent->child_count.fetch_add(1, std::memory_order_relaxed) + 1;
    AddToIndex(parent, published, count);
    parent->predicted.store(published);
  }
  if (thrashing) NoteThrashing("recorded calls", Setting::k_segment_entries);
  Bounds::Enforce();
  return published;
}

void Recording::Predict(Node* parent, Node* child) {
  parent->predicted.store(child);
  // Unlink marks a child before it looks at the prediction: one of the two sees the other.
  if (child->evicted.load()) parent->predicted.compare_exchange_strong(child, nullptr);
}

// ---- Plans

const SegmentPlan* Recording::FindPlan(Node* end, const LiveMask& live, Precision precision,
                                       Pin* pin, int64_t* gain) {
  const uint64_t now = Bounds::Now();
  end->used.store(now, std::memory_order_relaxed);
  const KeptPlan* latest = pin->Take(end->latest);
  if (__builtin_expect(latest && latest->Is(live, precision), 1)) {
    latest->used.store(now, std::memory_order_relaxed);
    *gain = latest->gain;
    return latest->plan.get();
  }
  MutexLock lock(&mutex_);
  Node::PlanEntry* entry = FindEntry(end, live, precision);
  if (!entry || !entry->kept) return nullptr;
  entry->kept->used.store(now, std::memory_order_relaxed);
  end->latest.store(entry->kept.get(), std::memory_order_release);
  *gain = entry->kept->gain;
  return pin->Hold(entry->kept->plan);
}

Node::PlanEntry* Recording::FindEntry(Node* end, const LiveMask& live, Precision precision) {
  for (Node::PlanEntry& entry : end->plans) {
    if (entry.precision == precision && entry.live == live) return &entry;
  }
  return nullptr;
}

// The entry, or a new one, perhaps in the place of the least recently used.
Node::PlanEntry* Recording::MakeEntry(Node* end, const LiveMask& live, Precision precision,
                                      Garbage* garbage) {
  if (Node::PlanEntry* found = FindEntry(end, live, precision)) return found;
  if (end->plans.size() < kMaxPlans) {
    end->plans.push_back({live, precision, Bounds::Now(), nullptr});
    return &end->plans.back();
  }
  const auto entry =
      std::min_element(end->plans.begin(), end->plans.end(),
                       [](const auto& a, const auto& b) { return a.used() < b.used(); });
  if (entry->kept) DropPlan(end, &*entry, garbage);
  entry->live = live;
  entry->precision = precision;
  entry->failures = entry->wait = 0;
  return &*entry;
}

bool Recording::MayCompile(Node* end, const LiveMask& live, Precision precision) {
  MutexLock lock(&mutex_);
  Node::PlanEntry* entry = FindEntry(end, live, precision);
  if (!entry || entry->wait == 0) return true;
  --entry->wait;
  ++stats_.causes[static_cast<int>(Cause::kNotCompiled)];
  return false;
}

void Recording::CompileFailed(Node* end, const LiveMask& live, Precision precision) {
  constexpr int kLongest = 10;  // 1024 flushes
  Garbage garbage;
  MutexLock lock(&mutex_);
  if (end->evicted.load(std::memory_order_relaxed)) return;
  Node::PlanEntry* entry = MakeEntry(end, live, precision, &garbage);
  entry->wait = 1 << std::min(entry->failures++, kLongest);
  entry->failed = Bounds::Now();
}

bool Recording::FirstBorrowed(OpId op) {
  MutexLock lock(&mutex_);
  return borrowed_.insert(op).second;
}

Recording::Planned Recording::StorePlan(Node* end, const LiveMask& live, Precision precision,
                                        std::shared_ptr<const SegmentPlan> plan, int64_t gain) {
  Planned before{Cause::kPlan, {}, precision};
  Garbage garbage;
  bool thrashing = false;
  const uint64_t now = Bounds::Advance();
  {
    MutexLock lock(&mutex_);
    if (end->plans.empty()) ++stats_.segments;
    ++stats_.plans;
    stats_.kernels_compiled += plan->compiled();
    for (const Node::PlanEntry& other : end->plans) {
      if (other.precision == precision && other.live == live) {
        before.cause = other.failures ? Cause::kPlan : Cause::kReplanned;
        break;
      }
      if (other.precision == precision) {
        before = {Cause::kWanted, other.live, precision};
      } else if (other.live == live) {
        before = {Cause::kPrecision, live, other.precision};
      }
    }
    if (end->evicted.load(std::memory_order_relaxed)) return before;  // for this one call
    Node::PlanEntry* entry = MakeEntry(end, live, precision, &garbage);
    if (entry->kept) DropPlan(end, entry, &garbage);
    Bounds::CountPlans(1, plan->bytes());
    thrashing = Bounds::Made(PlanHash(*end, live), true);
    entry->failures = entry->wait = 0;
    entry->kept =
        std::shared_ptr<const KeptPlan>(new KeptPlan{live, precision, std::move(plan), gain, now});
  }
  if (thrashing) NoteThrashing("plans", Setting::k_plan_entries);
  Bounds::Enforce();
  return before;
}

void Recording::DropPlan(Node* end, Node::PlanEntry* entry, Garbage* garbage) {
  Bounds::CountPlans(-1, -entry->kept->plan->bytes());
  if (end->latest.load(std::memory_order_relaxed) == entry->kept.get())
    end->latest.store(nullptr, std::memory_order_relaxed);
  garbage->Add(std::move(entry->kept));
}

void Recording::NoteThrashing(std::string_view what, Setting limit) {
  Note({Cause::kThrashing,
        {{"what", std::string(what)}, {"limit", StrCat(Name(limit), " = ", Get(limit))}}});
}

// ---- Calls that gain nothing

void Recording::CountGain(Shard* shard, int64_t gain) {
  const bool rests = resting_.load(std::memory_order_relaxed);
  if (rests) {  // this call was to see
    if (gain > 0) resting_.store(false, std::memory_order_relaxed);
    return;
  }
  if (shard->owner.load(std::memory_order_relaxed) == nullptr) return;
  if (shard->gains.Add(gain) != GainCount::Verdict::kLoses) return;
  resting_.store(true, std::memory_order_relaxed);
  if (!told_resting_.exchange(true, std::memory_order_relaxed)) Note({Cause::kSmall, {}});
}

// ---- Eviction

void Recording::Unlink(std::atomic<Node*>* at, Garbage* garbage) {
  Node* child = at->load();
  Node* parent = child->parent;
  child->evicted.store(true);
  parent->lost.store(true, std::memory_order_relaxed);
  at->store(child->next.load());
  if (ChildIndex* index = parent->index.load()) {
    at = &index->Bucket(child->hash);
    while (at->load() != child) at = &at->load()->next_in_bucket;
    at->store(child->next_in_bucket.load());
  }
  parent->child_count.fetch_sub(1, std::memory_order_relaxed);
  Node* predicted = child;
  parent->predicted.compare_exchange_strong(predicted, nullptr);
  for (Node::PlanEntry& entry : child->plans) {
    if (entry.kept) DropPlan(child, &entry, garbage);
  }
  Bounds::CountNodes(-1, -child->bytes);
  Retire(std::unique_ptr<Node>(child));
}

int64_t Recording::EvictAll(Victims* victims, Garbage* garbage) {
  int64_t count = 0;
  ForEachFromBelow(&root_, [&](std::atomic<Node*>* at, uint64_t used) {
    mutex_.AssertHeld();
    Node* node = at->load();
    if (!victims->Take(used)) return &node->next;
    if (victims->until != kEver) Bounds::Evicted(node->path_hash, false);
    Unlink(at, garbage);
    ++count;
    return at;
  });
  return count;
}

void Recording::WeighNodes(std::vector<Weight>* out) {
  MutexLock lock(&mutex_);
  ForEachFromBelow(&root_, [&](const std::atomic<Node*>* at, uint64_t used) {
    Node* node = at->load();
    out->push_back({used, node->bytes});
    return &node->next;
  });
}

int64_t Recording::EvictNodes(Victims* victims, Garbage* garbage) {
  MutexLock lock(&mutex_);
  return EvictAll(victims, garbage);
}

void Recording::WeighPlans(std::vector<Weight>* out) {
  MutexLock lock(&mutex_);
  ForEach(&root_, [&](Node* node) {
    for (const Node::PlanEntry& e : node->plans) {
      if (e.kept) out->push_back({e.used(), e.kept->plan->bytes()});
    }
  });
}

std::vector<PlanReport> Recording::Plans() {
  struct Kept {
    std::shared_ptr<const SegmentPlan> plan;
    Program program;
    std::string origin;
  };
  std::vector<Kept> kept;
  {
    MutexLock lock(&mutex_);
    ForEach(&root_, [&](Node* node) {
      for (const Node::PlanEntry& e : node->plans) {
        if (!e.kept) continue;
        Program program = ProgramOf(PathTo(*node));
        const auto results = node->first_result + static_cast<int>(node->results.size());
        for (int r = 0; r < results; ++r) {
          if (IsLive(e.live, static_cast<size_t>(r))) program.outputs.push_back({r, {}});
        }
        kept.push_back({e.kept->plan, std::move(program), node->origin});
      }
    });
  }
  std::vector<PlanReport> reports;
  for (const Kept& k : kept) {
    reports.push_back(k.plan->report());
    const auto text = Print(k.program);
    reports.back().program = text.ok() ? *text : std::string(text.status().message());
    reports.back().where = StrCat("segment of ", k.program.calls.size(), " calls",
                                  k.origin.empty() ? "" : StrCat(" that ends at ", k.origin));
  }
  return reports;
}

int64_t Recording::EvictPlans(Victims* victims, Garbage* garbage) {
  int64_t count = 0;
  MutexLock lock(&mutex_);
  ForEach(&root_, [&](Node* node) {
    mutex_.AssertHeld();
    for (Node::PlanEntry& e : node->plans) {
      if (!e.kept || !victims->Take(e.used())) continue;
      Bounds::Evicted(PlanHash(*node, e.live), true);
      DropPlan(node, &e, garbage);
      ++count;
    }
  });
  return count;
}

std::string Recording::Note(const Explanation& explanation, std::string_view effect) {
  return NoteAt(Here(), explanation, effect);
}

std::string Recording::NoteAt(std::string where, const Explanation& explanation,
                              std::string_view effect) {
  TraceEvent event{explanation.cause, std::move(where), StrCat(Sentence(explanation), effect, ".")};
  std::string line = Line(event);
  if (LogEnabled("guard") || event.cause == Cause::kThrashing)
    std::fprintf(stderr, "[trace] %s\n", line.c_str());
  MutexLock lock(&mutex_);
  ++stats_.causes[static_cast<int>(event.cause)];
  const bool eviction = Info(event.cause).kind == CauseKind::kEviction;
  for (TraceEvent& e : events_) {
    if (e.cause == event.cause && (eviction || (e.where == event.where && e.text == event.text))) {
      event.times = e.times + 1;
      e = std::move(event);
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

std::string Recording::Explain(const TraceStats& total) {
  MutexLock lock(&mutex_);
  std::string out = StrCat(name_, ": ", total.calls, " calls, ", total.replayed, " replayed, ",
                           total.skipped ? StrCat(total.skipped, " skipped, ") : "", total.recorded,
                           " recorded, ", total.fallbacks, " fell back; ", total.plans, " plans, ",
                           total.kernels_compiled, " kernels compiled.\n");
  if (dropped_events_) StrAppend(&out, "  (", dropped_events_, " earlier events are not shown)\n");
  for (const TraceEvent& e : events_) {
    StrAppend(&out, "  ", Line(e), e.times > 1 ? StrCat(" (", e.times, " times)") : "", "\n");
  }
  for (const std::string& line : SharedLines()) StrAppend(&out, "  ", line, "\n");
  return out;
}

std::vector<TraceEvent> Recording::Events() {
  MutexLock lock(&mutex_);
  return {events_.begin(), events_.end()};
}

TraceStats Recording::stats() {
  TraceStats stats;
  {
    MutexLock lock(&mutex_);
    stats = stats_;
    AddShards(&stats, 1);
    stats.last_kernels = last_kernels_.load(std::memory_order_relaxed);
  }
  for (int i = 0; i < kNumCauses; ++i) stats.causes[i] += SharedCount(static_cast<Cause>(i));
  return stats;
}

void Recording::AddShards(TraceStats* stats, int64_t sign) const {
  for (const Shard& s : shards_) {
    stats->calls += sign * s.calls.load(std::memory_order_acquire);
    stats->replayed += sign * s.replayed.load(std::memory_order_acquire);
    stats->untraced += sign * s.untraced.load(std::memory_order_acquire);
    stats->matched_ops += sign * s.matched.load(std::memory_order_acquire);
  }
}

void Recording::Clear() {
  Garbage garbage;  // freed after the lock
  {
    MutexLock lock(&mutex_);
    Victims all{kEver, 0};
    EvictAll(&all, &garbage);
    events_.clear();
    stats_ = {};
    AddShards(&stats_, -1);
    last_kernels_.store(0, std::memory_order_relaxed);
    resting_.store(false, std::memory_order_relaxed);
    told_resting_.store(false, std::memory_order_relaxed);
  }
  Reclaim();
}

}  // namespace frazil::tracer
