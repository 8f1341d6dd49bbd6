// A bounded map from content to shared objects, least recently used out first. Called by the
// caches of jit/cache and jit/eager. Invariant: keys are compared in full; an object that is still
// held elsewhere outlives its eviction; thread safe.
#pragma once

#include <list>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/synchronization/mutex.h"
#include "core/threads/at_fork.h"
#include "jit/cache/bound.h"

namespace frazil::jit {

template <typename Key, typename Object>
class LruCache {
 public:
  // Never destroyed.
  explicit LruCache(const Bound& bound) : bound_(bound) {
    HoldAcrossFork(ForkOrder::kCaches, &mutex_);
  }

  // Null if there is none.
  std::shared_ptr<const Object> Find(const Key& key) {
    absl::MutexLock lock(&mutex_);
    const auto it = index_.find(key);
    if (it == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, it->second);
    return it->second->object;
  }

  // Returns what is kept: `object`, or what another thread has added meanwhile.
  std::shared_ptr<const Object> Add(const Key& key, std::shared_ptr<const Object> object,
                                    int64_t bytes) {
    Order gone;  // freed after the lock
    EvictionReport report;
    {
      absl::MutexLock lock(&mutex_);
      if (const auto it = index_.find(key); it != index_.end()) return it->second->object;
      order_.push_front({key, object, bytes});
      index_.emplace(key, order_.begin());
      bytes_ += bytes;
      report.thrashing = history_.Made(absl::HashOf(key));
      if (bound_.IsPast(order_.size(), bytes_)) Evict(bound_.Aim(), &gone, &report);
    }
    bound_.Report(report);
    return object;
  }

  // Evicts down to the bound, or more.
  void Shrink(bool more) {
    Order gone;
    EvictionReport report;
    {
      absl::MutexLock lock(&mutex_);
      Kept aim = bound_.Aim();
      if (more) aim.entries = std::min<int64_t>(aim.entries, order_.size() - order_.size() / 8);
      Evict(aim, &gone, &report);
    }
    bound_.Report(report);
  }

  Kept kept() {
    absl::MutexLock lock(&mutex_);
    return {static_cast<int64_t>(order_.size()), bytes_};
  }

 private:
  struct Item {
    Key key;
    std::shared_ptr<const Object> object;
    int64_t bytes;
  };
  using Order = std::list<Item>;

  void Evict(const Kept& aim, Order* gone, EvictionReport* report)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (order_.size() > 1 &&
           (static_cast<int64_t>(order_.size()) > aim.entries || bytes_ > aim.bytes)) {
      Item& last = order_.back();
      report->by_bytes = static_cast<int64_t>(order_.size()) <= aim.entries;
      history_.Evicted(absl::HashOf(last.key));
      bytes_ -= last.bytes;
      index_.erase(last.key);
      gone->splice(gone->begin(), order_, std::prev(order_.end()));
      ++report->count;
    }
  }

  const Bound& bound_;
  absl::Mutex mutex_;
  Order order_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  absl::flat_hash_map<Key, typename Order::iterator> index_ ABSL_GUARDED_BY(mutex_);
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  EvictionHistory history_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace frazil::jit
