// A bounded map from content to shared objects, least recently used out first. Called by the caches
// of jit/runtime. Invariant: keys are compared in full; an object that is still held elsewhere
// outlives its eviction; thread safe.
#pragma once

#include <list>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace frazil::jit {

template <typename Key, typename Object>
class LruCache {
 public:
  explicit LruCache(size_t limit) : limit_(limit) {}

  // Null if there is none.
  std::shared_ptr<const Object> Find(const Key& key) {
    absl::MutexLock lock(&mutex_);
    const auto it = index_.find(key);
    if (it == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, it->second);
    return it->second->second;
  }

  // Returns what is kept: `object`, or what another thread has added meanwhile.
  std::shared_ptr<const Object> Add(const Key& key, std::shared_ptr<const Object> object) {
    absl::MutexLock lock(&mutex_);
    if (const auto it = index_.find(key); it != index_.end()) return it->second->second;
    order_.emplace_front(key, std::move(object));
    index_.emplace(key, order_.begin());
    if (order_.size() > limit_) {
      index_.erase(order_.back().first);
      order_.pop_back();
    }
    return order_.front().second;
  }

  size_t size() {
    absl::MutexLock lock(&mutex_);
    return order_.size();
  }

 private:
  using Order = std::list<std::pair<Key, std::shared_ptr<const Object>>>;

  const size_t limit_;
  absl::Mutex mutex_;
  Order order_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  absl::flat_hash_map<Key, typename Order::iterator> index_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace frazil::jit
