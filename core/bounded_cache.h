// The bounded cache: a map from content to shared objects, of which those used least lately go when
// it passes its bound. Used by whoever keeps what would have to be made again. Invariant: keys are
// compared in full; what is held does not go, and what somebody has outlives its eviction; nothing
// is freed, and nobody told, while the lock is held; the lock is one of ForkOrder::kCaches.
//
// Caches of this class: kernels (jit/cache/kernel_cache.cc), plans of eager calls
// (jit/eager/eager_calls.cc), modules of GPUs (jit/cuda/compiler.cc) and the numbers of structures
// (bindings/python/module_type.cc). What else keeps things, and why it is not one of them:
//   tracer/bounds.h            places in tries that are walked without locks; one bound for many
//   tracer/promise.h           each skipped call asks it: a spin lock, keys that are not copied
//   jit/eager: a thread's calls, those met once
//                              the hot path, before the cache: direct-mapped, without locks
//   core/layout.h              interned: a layout goes with its last holder, not before or after
//   core/memory, jit/cuda/allocator.h
//                              memory kept for reuse: blocks are alike, and have one user each
//   kernels/gemm: codegen, dots_code, tile_code
//                              all shapes of kernels there are, a slot each, read without locks
//   core/disk/disk_table.h, jit/cuda/image_cache.h
//                              files: shared by processes, and there after them
//   jit/run: versions of a GPU's kernel, programs of the NPU, graphs
//                              few, and part of the one step that runs them
//   jit/run/cuda/generic.cc, jit/cuda/lt_product.cc
//                              one for each device
//   bindings/python: class_info, nest_code
//                              by address: an entry goes, or is renewed, with the object there
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "core/eviction_history.h"
#include "core/threads/at_fork.h"
#include "core/threads/mutex.h"

namespace frazil {

// What a cache may keep.
struct CacheLimit {
  int64_t entries, bytes;
};

struct CacheStats {
  int64_t entries = 0, bytes = 0;
  int64_t hits = 0, misses = 0, evictions = 0;
};

// What there is to tell.
struct Eviction {
  int64_t count = 0;
  bool by_bytes = false;   // that bound was passed, not the one of entries
  bool thrashing = false;  // for the first time (core/eviction_history.h)
};

// So many entries, of which those go that nobody has.
template <int64_t kMost>
struct CountBound {
  static CacheLimit Most() { return {kMost, std::numeric_limits<int64_t>::max()}; }
  template <typename Object>
  static bool Held(const std::shared_ptr<Object>& object) {
    return object.use_count() > 1;
  }
  static void Report(const Eviction&) {}
};

// Bound has const members Most() -> CacheLimit; Held(object): evicting it now would free nothing,
// or take it from who makes it; and Report(Eviction).
template <typename Key, typename Object, typename Bound>
class BoundedCache {
 public:
  using Ref = std::shared_ptr<Object>;

  // Never destroyed.
  explicit BoundedCache(const Bound& bound = {}) : bound_(bound) {
    HoldAcrossFork(ForkOrder::kCaches, &mutex_);
  }

  // Null if there is none.
  Ref Find(const Key& key) {
    MutexLock lock(&mutex_);
    return Touch(key);
  }

  // What is kept: `object`, or what another thread has added meanwhile.
  Ref Add(const Key& key, const Ref& object, int64_t bytes) {
    {
      MutexLock lock(&mutex_);
      const auto it = index_.find(key);
      if (it != index_.end()) return it->second->object;
      Insert(key, object);
    }
    Weigh(key, object, bytes);
    return object;
  }

  // Made by `make`, under the lock, if there is none; it counts for nothing until it is weighed.
  template <typename Make>
  Ref FindOrAdd(const Key& key, Make make, bool* fresh) {
    MutexLock lock(&mutex_);
    Ref found = Touch(key);
    *fresh = !found;
    return found ? found : Insert(key, make());
  }

  // An object takes so many bytes, and room is made for it. False: what is held takes more than it
  // may.
  bool Weigh(const Key& key, const Ref& object, int64_t bytes) {
    return Evicting([&](Order*, Eviction* eviction) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      const auto it = index_.find(key);
      if (it == index_.end() || it->second->object != object) return false;  // gone meanwhile
      bytes_ += bytes - std::exchange(it->second->bytes, bytes);
      eviction->thrashing = history_.Made(absl::HashOf(key));
      return Size() > bound_.Most().entries || bytes_ > bound_.Most().bytes;
    });
  }

  // Evicts down to the bound, or an eighth of all. As Weigh.
  bool Shrink(bool an_eighth = false) {
    return Evicting([](Order*, Eviction*) { return true; }, an_eighth);
  }

  // Forgets an object, if it is still there.
  void Erase(const Key& key, const Ref& object) {
    Evicting([&](Order* gone, Eviction*) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      const auto it = index_.find(key);
      if (it != index_.end() && it->second->object == object) Take(it->second, gone);
      return false;
    });
  }

  // Forgets those of which `which` is true.
  template <typename Which>
  void EraseIf(Which which) {
    Evicting([&](Order* gone, Eviction*) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      for (auto it = order_.begin(); it != order_.end();) {
        const auto here = it++;
        if (which(here->object)) Take(here, gone);
      }
      return false;
    });
  }

  CacheStats stats() {
    MutexLock lock(&mutex_);
    return {Size(), bytes_, hits_, misses_, history_.evictions()};
  }

 private:
  struct Item {
    Key key;
    Ref object;
    int64_t bytes;
  };
  using Order = std::list<Item>;

  int64_t Size() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return int64_t(order_.size()); }

  Ref Touch(const Key& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto it = index_.find(key);
    ++(it == index_.end() ? misses_ : hits_);
    if (it == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, it->second);
    return it->second->object;
  }

  Ref Insert(const Key& key, Ref object) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    order_.push_front({key, std::move(object), 0});
    index_.emplace(key, order_.begin());
    return order_.front().object;
  }

  void Take(typename Order::iterator item, Order* gone) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    bytes_ -= item->bytes;
    index_.erase(item->key);
    gone->splice(gone->begin(), order_, item);
  }

  // Evicts if `wanted`, under the lock, says so. What goes is freed after it.
  template <typename Wanted>
  bool Evicting(Wanted wanted, bool an_eighth = false) {
    Order gone;
    Eviction eviction;
    bool fits;
    {
      MutexLock lock(&mutex_);
      if (wanted(&gone, &eviction)) Evict(an_eighth, &gone, &eviction);
      fits = bytes_ <= bound_.Most().bytes;
    }
    if (eviction.count > 0 || eviction.thrashing) bound_.Report(eviction);
    return fits;
  }

  // Down to seven eighths of the bound, so that it is rare. One object may be larger than all.
  void Evict(bool an_eighth, Order* gone, Eviction* eviction)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    CacheLimit aim = bound_.Most();
    aim = {aim.entries - aim.entries / 8, aim.bytes - aim.bytes / 8};
    if (an_eighth) aim.entries = std::min(aim.entries, Size() - Size() / 8);
    for (int64_t left = Size(); left > 1 && (Size() > aim.entries || bytes_ > aim.bytes); --left) {
      const auto last = std::prev(order_.end());
      if (bound_.Held(last->object)) {
        order_.splice(order_.begin(), order_, last);
        continue;
      }
      eviction->by_bytes = Size() <= aim.entries;
      history_.Evicted(absl::HashOf(last->key));
      Take(last, gone);
      ++eviction->count;
    }
  }

  const Bound bound_;
  Mutex mutex_;
  Order order_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  absl::flat_hash_map<Key, typename Order::iterator> index_ ABSL_GUARDED_BY(mutex_);
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0, hits_ ABSL_GUARDED_BY(mutex_) = 0,
                 misses_ ABSL_GUARDED_BY(mutex_) = 0;
  EvictionHistory history_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace frazil
