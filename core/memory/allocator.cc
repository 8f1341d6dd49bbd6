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
#include "core/memory/live_memory.h"
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
constexpr bool kSanitized = true;  // nothing is kept
#else
constexpr bool kSanitized = false;
#endif
constexpr size_t kLarge = size_t{kSanitized ? 2048 : 64} << 10;
constexpr size_t kKeptAnyway = size_t{32} << 20;  // in large blocks, in use or not
constexpr size_t kProbe = size_t{64} << 20;  // requests from here on ask how much memory is free

struct Counters {
  // cached: in lists of classes
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

int64_t CachedBytes(const Cache& cache) ABSL_EXCLUSIVE_LOCKS_REQUIRED(cache.mutex) {
  return g_counters.cached.load(std::memory_order_relaxed) +
         static_cast<int64_t>(cache.large.kept());
}

// A range of `fresh` bytes that the system has yet to give, if it can.
bool Affordable(LargeBlocks* large, size_t fresh) {
  if (fresh < kProbe || static_cast<int64_t>(fresh) <= AvailableBytes()) return true;
  large->Release(large->kept());
  return static_cast<int64_t>(fresh) <= AvailableBytes();
}

void* TakeLarge(size_t bytes) {
  Cache& cache = GlobalCache();
  MutexLock lock(&cache.mutex);
  LargeBlocks& large = cache.large;
  size_t fresh = 0;
  char* p = large.Take(bytes, &fresh);
  if (!p && large.Reserve(bytes)) p = large.Take(bytes, &fresh);
  if (!p) return p;
  if (!Affordable(&large, fresh)) {
    large.Give(p, bytes, fresh);
    return nullptr;
  }
  if (fresh > 0) {
    g_counters.system.fetch_add(1, std::memory_order_relaxed);
    const size_t most = std::max(large.peak() / 8 * 9, kKeptAnyway);
    const size_t held = large.live() + large.kept();
    if (held > most) large.Release(std::min(fresh, held - most));
  }
  ++cache.classes[bytes].live;
  return p;
}

void GiveLarge(char* data, size_t bytes) {
  Cache& cache = GlobalCache();
  MutexLock lock(&cache.mutex);
  if (--cache.classes[bytes].live == 0) cache.classes.erase(bytes);
  cache.large.Give(data, bytes);
  const int64_t most = Get(Setting::k_cached_bytes), over = CachedBytes(cache) - most;
  if (most > 0 && over > 0) cache.large.Release(static_cast<size_t>(over));
  if (kSanitized) cache.large.Trim();
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
  const int64_t most = Get(Setting::k_cached_bytes), size = static_cast<int64_t>(bytes);
  if (kSanitized || (most > 0 && CachedBytes(*cache) + size > most)) return false;
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
  MutexLock lock(&GlobalCache().mutex);
  return {g_counters.live.load(), g_counters.peak.load(), CachedBytes(GlobalCache()),
          g_counters.calls.load(), g_counters.system.load()};
}

int64_t LiveMemory() {
  CountMemoryNow();
  return g_counters.live.load(std::memory_order_relaxed);
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
  cache.large.Trim();
}

std::vector<BlockCount> GetBlockCounts() {
  std::vector<BlockCount> counts;
  Cache& cache = GlobalCache();
  {
    MutexLock lock(&cache.mutex);
    std::map<int64_t, BlockCount> all;
    for (const auto& [bytes, own] : cache.classes)
      all[bytes] = {int64_t(bytes), own.live, std::ssize(own.free)};
    cache.large.ForEachKept([&](int64_t bytes) { all[bytes].bytes = bytes, ++all[bytes].cached; });
    for (const auto& [bytes, count] : all) {
      if (count.live + count.cached > 0) counts.push_back(count);
    }
  }
  std::stable_sort(counts.begin(), counts.end(), [](const BlockCount& a, const BlockCount& b) {
    return a.bytes * (a.live + a.cached) > b.bytes * (b.live + b.cached);
  });
  return counts;
}

}  // namespace frazil
