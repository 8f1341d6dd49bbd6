// The caching allocator behind core/memory/storage.h. Small storages are blocks of
// core/memory/small_blocks.h; larger ones come in size classes (four to a power of two) and go back
// to a list of their class; the largest are ranges of core/memory/large_blocks.h.
//
// What is kept for reuse and what is in use are together no more than a little above what was ever
// in use: before a large block takes more of the system, as much is given back of what is kept in
// other places. Below that nothing is given back, so a step that is made again and again finds all
// that it left.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/memory/large_blocks.h"
#include "core/memory/last_resort.h"
#include "core/memory/small_blocks.h"
#include "core/memory/storage.h"
#include "core/settings.h"
#include "core/str.h"
#include "core/threads/at_fork.h"
#include "core/threads/mutex.h"
#include "core/threads/tls.h"
#include "core/tuned.h"

namespace frazil {
namespace {

constexpr int kOwnedClass = BlockClass(sizeof(OwnedStorage));
constexpr size_t kAlign = 256;
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kLarge = ~size_t{0};  // every block is the sanitizer's
#else
constexpr size_t kLarge = size_t{256} << 10;
#endif
constexpr size_t kKeptAnyway = size_t{32} << 20;  // in large blocks, in use or not
constexpr size_t kProbe = size_t{64} << 20;  // requests from here on ask how much memory is free

struct Counters {
  std::atomic<int64_t> live{0}, peak{0}, cached{0}, calls{0}, system{0};
};
Counters g_counters;

struct Cache {
  // Of one size.
  struct Class {
    std::vector<void*> free;
    int64_t live = 0;
  };
  Mutex mutex;
  std::map<size_t, Class> classes ABSL_GUARDED_BY(mutex);  // of large blocks, those in use
  LargeBlocks large ABSL_GUARDED_BY(mutex);
};
Cache& GlobalCache() {
  static Cache* cache = [] {
    auto* made = new Cache;
    HoldAcrossFork(ForkOrder::kMemory, &made->mutex);
    return made;
  }();
  return *cache;
}

struct AtExit {
  AtExit() {
    t_uncounted.live_limit = tuned::kUncountedBytes;
    t_uncounted.calls_limit = tuned::kUncountedCalls;
  }
  ~AtExit() {
    CountMemoryNow();
    t_uncounted.live_limit = t_uncounted.calls_limit = 0;
  }
};

// Rounded up to a quarter of its power of two: at most 25 % of a block is unused. Large ones, which
// may be most of what the machine has, to a page.
size_t ClassBytes(size_t bytes) {
  constexpr size_t kPage = LargeBlocks::kPage;
  if (bytes >= kLarge) return (bytes + kPage - 1) / kPage * kPage;
  const size_t step = std::max<size_t>(std::bit_floor(bytes) / 4, kAlign);
  return (bytes + step - 1) / step * step;
}

// What the machine can still give, from the kernel's own estimate.
int64_t AvailableBytes() {
  FILE* f = std::fopen("/proc/meminfo", "r");
  if (!f) return int64_t{1} << 62;
  char line[128];
  long long kib = -1;
  while (std::fgets(line, sizeof line, f)) {
    if (std::sscanf(line, "MemAvailable: %lld kB", &kib) == 1) break;
  }
  std::fclose(f);
  return kib < 0 ? int64_t{1} << 62 : kib * 1024;
}

// A range of `fresh` bytes that the system has yet to give, if it can.
bool Affordable(Cache* cache, size_t fresh) ABSL_EXCLUSIVE_LOCKS_REQUIRED(cache->mutex) {
  if (fresh < kProbe || static_cast<int64_t>(fresh) <= AvailableBytes()) return true;
  cache->large.Release(cache->large.kept());
  return static_cast<int64_t>(fresh) <= AvailableBytes();
}

void* TakeLarge(size_t bytes) {
  Cache& cache = GlobalCache();
  MutexLock lock(&cache.mutex);
  LargeBlocks& large = cache.large;
  const auto before = static_cast<int64_t>(large.kept());
  size_t fresh = 0;
  char* p = large.Take(bytes, &fresh);
  if (!p && large.Reserve(bytes)) p = large.Take(bytes, &fresh);
  if (p && !Affordable(&cache, fresh)) {
    large.Give(p, bytes, fresh);
    p = nullptr;
  }
  if (p && fresh > 0) {
    g_counters.system.fetch_add(1, std::memory_order_relaxed);
    const size_t most = std::max(large.peak() / 8 * 9, kKeptAnyway);
    const size_t held = large.live() + large.kept();
    if (held > most) large.Release(std::min(fresh, held - most));
  }
  if (p) ++cache.classes[bytes].live;
  g_counters.cached.fetch_add(static_cast<int64_t>(large.kept()) - before,
                              std::memory_order_relaxed);
  return p;
}

void GiveLarge(char* data, size_t bytes) {
  Cache& cache = GlobalCache();
  MutexLock lock(&cache.mutex);
  const auto before = static_cast<int64_t>(cache.large.kept());
  --cache.classes[bytes].live;
  cache.large.Give(data, bytes);
  const int64_t most = Get(Setting::k_cached_bytes);
  const int64_t kept = g_counters.cached.load(std::memory_order_relaxed) + bytes;
  if (most > 0 && kept > most) cache.large.Release(static_cast<size_t>(kept - most));
  g_counters.cached.fetch_add(static_cast<int64_t>(cache.large.kept()) - before,
                              std::memory_order_relaxed);
}

void* TakeOfClass(size_t bytes) {
  Cache& cache = GlobalCache();
  MutexLock lock(&cache.mutex);
  Cache::Class& own = cache.classes[bytes];
  void* p;
  if (!own.free.empty()) {
    p = own.free.back();
    own.free.pop_back();
    g_counters.cached.fetch_sub(bytes, std::memory_order_relaxed);
  } else {
    g_counters.system.fetch_add(1, std::memory_order_relaxed);
    p = std::aligned_alloc(kAlign, bytes);
  }
  own.live += p != nullptr;
  return p;
}

void* Take(size_t bytes) {
  const auto take = bytes >= kLarge ? TakeLarge : TakeOfClass;
  void* const p = take(bytes);
  if (p) return p;
  TrimMemory();
  return take(bytes);
}

// False if it would be more than the cache may keep.
bool KeepForReuse(Cache* cache, void* data, size_t bytes) {
  MutexLock lock(&cache->mutex);
  Cache::Class& own = cache->classes[bytes];
  --own.live;
#if defined(__SANITIZE_ADDRESS__)
  return false;
#endif
  const int64_t most = Get(Setting::k_cached_bytes), size = static_cast<int64_t>(bytes);
  if (most > 0 && g_counters.cached.load(std::memory_order_relaxed) + size > most) return false;
  g_counters.cached.fetch_add(size, std::memory_order_relaxed);
  own.free.push_back(data);
  return true;
}

void ReleaseLarge(OwnedStorage* s) {
  const size_t bytes = reinterpret_cast<size_t>(s->context);
  CountLive(-static_cast<int64_t>(bytes));
  if (bytes >= kLarge) {
    GiveLarge(s->data, bytes);
  } else if (!KeepForReuse(&GlobalCache(), s->data, bytes)) {
    std::free(s->data);
  }
  s->~OwnedStorage();
  GiveBlock(s, kOwnedClass);
}

// "; the most is held by 3 blocks of 67108864 bytes and 1 of 4096", for errors.
std::string MostHeld() {
  std::string text;
  int named = 0;
  for (const BlockCount& c : GetBlockCounts()) {
    if (c.live == 0 || named == 3) continue;
    StrAppend(&text,
              named == 0   ? " The most is held by "
              : named == 1 ? ", "
                           : " and ",
              c.live, named == 0 ? (c.live == 1 ? " block of " : " blocks of ") : " of ", c.bytes,
              named == 0 ? " bytes" : "");
    ++named;
  }
  return named == 0 ? text : text + ".";
}

struct Foreign {
  void (*done)(void*);
  void* context;
};

void ReleaseForeign(OwnedStorage* s) {
  auto* foreign = static_cast<Foreign*>(s->context);
  if (foreign->done) foreign->done(foreign->context);
  delete foreign;
  s->~OwnedStorage();
  GiveBlock(s, kOwnedClass);
}

std::atomic<void (*)()> g_last_resort{nullptr};

bool UseLastResort() {
  const auto let_go = g_last_resort.load();
  if (let_go) let_go();
  return let_go;
}

}  // namespace

FZ_HOT_TLS Uncounted t_uncounted = {};

void SetLastResort(void (*let_go)()) { g_last_resort.store(let_go); }

void CountMemoryNow() {
  static thread_local AtExit at_exit;
  (void)at_exit;
  Uncounted& u = t_uncounted;
  g_counters.calls.fetch_add(std::exchange(u.calls, 0), std::memory_order_relaxed);
  const int64_t bytes = std::exchange(u.live, 0);
  const int64_t live = g_counters.live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t peak = g_counters.peak.load(std::memory_order_relaxed);
  while (live > peak &&
         !g_counters.peak.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

StatusOr<StorageRef> Allocate(size_t bytes) {
  if (bytes <= kSmallData)
    return StorageRef::Adopt(NewSmallStorage(BlockClass(bytes + kSmallHeader)));
  CountAllocation();
  const size_t rounded = ClassBytes(bytes);
  const int64_t limit = Get(Setting::k_memory_bytes);
  const auto beyond = [&] {
    return limit > 0 && g_counters.live.load() + t_uncounted.live + int64_t(rounded) > limit;
  };
  if (beyond() && (UseLastResort(), beyond())) {
    return MemoryError("[allocate] cannot allocate ", bytes, " bytes: memory_bytes = ", limit,
                       " and ", g_counters.live.load(), " are in use by arrays.", MostHeld(),
                       " Delete arrays, or raise the limit with fz.config(memory_bytes=...).");
  }
  void* data = rounded < bytes ? nullptr : Take(rounded);
  if (!data && rounded >= bytes && UseLastResort()) data = Take(rounded);
  if (!data) {
    return MemoryError("[allocate] cannot allocate ", bytes, " bytes: ", AvailableBytes(),
                       " are available and ", g_counters.live.load(), " are in use by arrays.",
                       MostHeld(), " fz.memory.report() tells who holds memory.");
  }
  auto* s = new (TakeBlock(kOwnedClass)) OwnedStorage;
  s->data = static_cast<char*>(data);
  s->release = ReleaseLarge;
  s->context = reinterpret_cast<void*>(rounded);
  CountLive(rounded);
  return StorageRef::Adopt(s);
}

StorageRef WrapForeign(void* data, void (*done)(void*), void* context) {
  auto* s = new (TakeBlock(kOwnedClass)) OwnedStorage;
  s->data = static_cast<char*>(data);
  s->foreign = true;
  s->release = ReleaseForeign;
  s->context = new Foreign{done, context};
  return StorageRef::Adopt(s);
}

MemoryStats GetMemoryStats() {
  CountMemoryNow();
  return {g_counters.live.load(), g_counters.peak.load(), g_counters.cached.load(),
          g_counters.calls.load(), g_counters.system.load()};
}

void ResetPeakMemory() {
  CountMemoryNow();
  g_counters.peak.store(g_counters.live.load());
}

void TrimMemory() {
  Cache& cache = GlobalCache();
  MutexLock lock(&cache.mutex);
  for (auto& [bytes, own] : cache.classes) {
    for (void* p : own.free) {
      std::free(p);
      g_counters.cached.fetch_sub(bytes, std::memory_order_relaxed);
    }
    own.free = {};
  }
  g_counters.cached.fetch_sub(static_cast<int64_t>(cache.large.kept()), std::memory_order_relaxed);
  cache.large.Trim();
}

std::vector<BlockCount> GetBlockCounts() {
  std::vector<BlockCount> counts;
  Cache& cache = GlobalCache();
  {
    MutexLock lock(&cache.mutex);
    std::map<size_t, int64_t> free;
    for (const auto& [bytes, own] : cache.classes) free[bytes] += std::ssize(own.free);
    cache.large.ForEachKept([&](size_t bytes) { ++free[bytes]; });
    for (const auto& [bytes, kept] : free) {
      const auto own = cache.classes.find(bytes);
      const int64_t live = own == cache.classes.end() ? 0 : own->second.live;
      if (live + kept > 0) counts.push_back({static_cast<int64_t>(bytes), live, kept});
    }
  }
  std::stable_sort(counts.begin(), counts.end(), [](const BlockCount& a, const BlockCount& b) {
    return a.bytes * (a.live + a.cached) > b.bytes * (b.live + b.cached);
  });
  return counts;
}

}  // namespace frazil
