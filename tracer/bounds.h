// The bounds of what all recordings keep together: calls and plans, by number and by bytes, least
// recently used out first. Called by tracer/recording when it adds something. Invariant: locks are
// taken in the order registry, recording; no Python runs and nothing of the user's is freed while
// one is held.
//
// What traces, eager ops and the compiler keep is bounded by entries and bytes (core/settings.def,
// shown and set by fz.config()), least recently used first; eviction goes down to seven eighths of
// a bound, so it is rare. All traced functions share one bound; time is the
// number of additions, so that a replay writes no shared counter. A node taken out of the trie is
// freed when no visit that may stand on it is left (Recording::Enter). Kernels that plans hold
// stay in the cache: evicting them would free nothing. fz.memory.caches() tells what is kept;
// thrashing is reported once.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/settings.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

class Recording;

struct Weight {
  uint64_t used;  // Bounds::Now at its last use
  int64_t bytes;
};

// What goes: all that was last used before `until`, and `ties` of what was used at that very time.
struct Victims {
  uint64_t until = 0;
  int64_t ties = 0;

  bool Take(uint64_t used) { return used < until || (used == until && ties-- > 0); }
};

class Bounds {
 public:
  // Time, as the number of additions so far: what is used between two additions ties.
  static uint64_t Now() { return now_.load(std::memory_order_relaxed); }
  static uint64_t Advance() { return now_.fetch_add(1, std::memory_order_relaxed) + 1; }

  static void Register(Recording* recording);
  static void Unregister(Recording* recording);

  static void CountNodes(int64_t nodes, int64_t bytes);
  static void CountPlans(int64_t plans, int64_t bytes);
  // True if content is made again that was evicted lately, and often: reported once.
  static bool Made(uint64_t hash, bool plan);
  static void Evicted(uint64_t hash, bool plan);

  // Evicts if a bound is passed, down to seven eighths of it. Called without locks.
  static void Enforce();
  // Evicts the eighth of all plans that was used least lately, for what they hold.
  static void ShrinkPlans(std::string_view limit);

  struct Totals {
    int64_t nodes, node_bytes, plans, plan_bytes;
  };
  static Totals totals();

 private:
  static std::atomic<uint64_t> now_;
};

}  // namespace frazil::tracer
#pragma GCC visibility pop
