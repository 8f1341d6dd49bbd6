#include "tracer/bounds.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/eviction_history.h"
#include "core/threads/at_fork.h"
#include "tracer/explain.h"
#include "tracer/recording.h"

namespace frazil::tracer {
namespace {

struct State {
  std::atomic<int64_t> nodes{0}, node_bytes{0}, plans{0}, plan_bytes{0};
  Mutex registry;
  std::vector<Recording*> recordings ABSL_GUARDED_BY(registry);
  Mutex history;
  EvictionHistory node_history ABSL_GUARDED_BY(history), plan_history ABSL_GUARDED_BY(history);
};
State& Global() {
  static State* state = [] {
    auto* made = new State;
    HoldAcrossFork(ForkOrder::kRegistries, &made->registry);
    HoldAcrossFork(ForkOrder::kCaches, &made->history);
    return made;
  }();
  return *state;
}

// While the registry is locked.
template <void (*f)(Mutex*)>
void ForEachRecordingMutex() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (Recording* r : Global().recordings) f(r->mutex());
}
void LockMutex(Mutex* mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex->Lock(); }
void UnlockMutex(Mutex* mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex->Unlock(); }

void HoldRecordingsAcrossFork() {
  static const bool once = [] {
    AtFork(ForkOrder::kRecordings,
           {ForEachRecordingMutex<LockMutex>, ForEachRecordingMutex<UnlockMutex>});
    return true;
  }();
  static_cast<void>(once);
}

// "plan_entries = 4096"
std::string Limit(Setting s) { return StrCat(Name(s), " = ", Get(s)); }

// How much must go so that seven eighths of a bound are left; 0 if it is not passed.
int64_t Excess(int64_t kept, int64_t limit) {
  return kept <= limit ? 0 : kept - std::max<int64_t>(1, limit - limit / 8);
}

// The least recently used that take up so much.
Victims Choose(std::vector<Weight> weights, int64_t entries, int64_t bytes) {
  std::sort(weights.begin(), weights.end(),
            [](const Weight& a, const Weight& b) { return a.used < b.used; });
  Victims victims;
  for (const Weight& w : weights) {
    if (entries <= 0 && bytes <= 0) break;
    victims.ties = w.used == victims.until ? victims.ties + 1 : 1;
    victims.until = w.used;
    --entries;
    bytes -= w.bytes;
  }
  return victims;
}

void EvictNodes(int64_t entries, int64_t bytes, const std::string& where, const std::string& limit,
                Garbage* garbage) ABSL_EXCLUSIVE_LOCKS_REQUIRED(Global().registry) {
  std::vector<Weight> weights;
  for (Recording* r : Global().recordings) r->WeighNodes(&weights);
  Victims victims = Choose(std::move(weights), entries, bytes);
  for (Recording* r : Global().recordings) {
    if (const int64_t n = r->EvictNodes(&victims, garbage))
      r->NoteAt(where, {Cause::kEvictedSegments, {{"count", StrCat(n)}, {"limit", limit}}});
  }
}

void EvictPlans(int64_t entries, int64_t bytes, const std::string& where, const std::string& limit,
                Garbage* garbage) ABSL_EXCLUSIVE_LOCKS_REQUIRED(Global().registry) {
  std::vector<Weight> weights;
  for (Recording* r : Global().recordings) r->WeighPlans(&weights);
  Victims victims = Choose(std::move(weights), entries, bytes);
  for (Recording* r : Global().recordings) {
    if (const int64_t n = r->EvictPlans(&victims, garbage))
      r->NoteAt(where, {Cause::kEvictedPlans, {{"count", StrCat(n)}, {"limit", limit}}});
  }
}

bool Past(const Bounds::Totals& t) {
  return t.nodes > Get(Setting::k_segment_entries) ||
         t.node_bytes > Get(Setting::k_segment_bytes) || t.plans > Get(Setting::k_plan_entries) ||
         t.plan_bytes > Get(Setting::k_plan_bytes);
}

}  // namespace

constinit std::atomic<uint64_t> Bounds::now_{1};

void Bounds::Register(Recording* recording) {
  HoldRecordingsAcrossFork();
  MutexLock lock(&Global().registry);
  Global().recordings.push_back(recording);
}

void Bounds::Unregister(Recording* recording) {
  MutexLock lock(&Global().registry);
  auto& all = Global().recordings;
  *std::find(all.begin(), all.end(), recording) = all.back();
  all.pop_back();
}

void Bounds::CountNodes(int64_t nodes, int64_t bytes) {
  Global().nodes.fetch_add(nodes, std::memory_order_relaxed);
  Global().node_bytes.fetch_add(bytes, std::memory_order_relaxed);
}
void Bounds::CountPlans(int64_t plans, int64_t bytes) {
  Global().plans.fetch_add(plans, std::memory_order_relaxed);
  Global().plan_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

bool Bounds::Made(uint64_t hash, bool plan) {
  MutexLock lock(&Global().history);
  return (plan ? Global().plan_history : Global().node_history).Made(hash);
}
void Bounds::Evicted(uint64_t hash, bool plan) {
  MutexLock lock(&Global().history);
  (plan ? Global().plan_history : Global().node_history).Evicted(hash);
}

Bounds::Totals Bounds::totals() {
  const State& s = Global();
  return {s.nodes.load(std::memory_order_relaxed), s.node_bytes.load(std::memory_order_relaxed),
          s.plans.load(std::memory_order_relaxed), s.plan_bytes.load(std::memory_order_relaxed)};
}

void Bounds::Enforce() {
  if (!Past(totals())) return;
  const std::string where = Here();
  Garbage garbage;  // freed after the lock
  MutexLock lock(&Global().registry);
  const auto bound = [&](int64_t Totals::*kept, Setting limit) {
    return Excess(totals().*kept, Get(limit));
  };
  if (const int64_t n = bound(&Totals::nodes, Setting::k_segment_entries))
    EvictNodes(n, 0, where, Limit(Setting::k_segment_entries), &garbage);
  if (const int64_t n = bound(&Totals::node_bytes, Setting::k_segment_bytes))
    EvictNodes(0, n, where, Limit(Setting::k_segment_bytes), &garbage);
  if (const int64_t n = bound(&Totals::plans, Setting::k_plan_entries))
    EvictPlans(n, 0, where, Limit(Setting::k_plan_entries), &garbage);
  if (const int64_t n = bound(&Totals::plan_bytes, Setting::k_plan_bytes))
    EvictPlans(0, n, where, Limit(Setting::k_plan_bytes), &garbage);
}

void Bounds::ShrinkPlans(std::string_view limit) {
  const std::string where = Here();
  Garbage garbage;
  MutexLock lock(&Global().registry);
  EvictPlans((totals().plans + 7) / 8, 0, where, std::string(limit), &garbage);
}

}  // namespace frazil::tracer
