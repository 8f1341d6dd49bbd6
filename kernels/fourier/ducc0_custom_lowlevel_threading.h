// What ducc0 asks of whoever brings threads of his own, under the name and in the namespace that it
// wants. Included by its threading.h. Invariant: work is shared out among kParts parts, whatever
// the number of threads: which lines a part has decides how they are rounded.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "core/threads/parallel.h"

namespace DUCC0_NAMESPACE::detail_threading {

using Mutex = std::mutex;
using UniqueLock = std::unique_lock<std::mutex>;
using LockGuard = std::lock_guard<std::mutex>;
using CondVar = std::condition_variable;

class Pool final : public thread_pool {
 public:
  size_t nthreads() const override { return kParts - 1; }
  size_t adjust_nthreads(size_t wanted) const override {
    return wanted == 0 ? kParts : std::min(wanted, kParts);
  }
  void submit(std::function<void()> work) override { work(); }
  void parallel_for(size_t parts, std::function<void(size_t)> work) override {
    frazil::ParallelFor(static_cast<int64_t>(parts), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) work(static_cast<size_t>(i));
    });
  }

 private:
  static constexpr size_t kParts = 16;
};

static thread_local bool in_parallel_region = false;

inline thread_pool* get_active_pool() {
  static Pool* const pool = new Pool;  // for ever: nothing runs before or after main
  return pool;
}
inline thread_pool* set_active_pool(thread_pool*) { return get_active_pool(); }

}  // namespace DUCC0_NAMESPACE::detail_threading
