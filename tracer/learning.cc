#include "tracer/learning.h"

#include <mutex>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/threads/spin_lock.h"

namespace frazil::tracer {
namespace {

constinit SpinLock g_lock;
constinit Learning* g_first = nullptr;  // guarded by it

}  // namespace

constinit std::atomic<int> Learning::count_{0};

Learning::Learning(Cells cells) : cells_(cells) {
  const std::lock_guard lock(g_lock);
  for (Learning* other = g_first; other; other = other->next_) {
    for (const Tensor* cell : cells_) {
      if (!absl::c_linear_search(other->cells_, cell)) continue;
      other->Add(cell);
      Add(cell);
    }
  }
  next_ = std::exchange(g_first, this);
  count_.fetch_add(1, std::memory_order_relaxed);
}

void Learning::Add(const Tensor* cell) {
  if (!absl::c_linear_search(told_, cell)) told_.push_back(cell);
}

Learning::Told Learning::told() const {
  const std::lock_guard lock(g_lock);
  return told_;
}

Learning::~Learning() {
  const std::lock_guard lock(g_lock);
  Learning** at = &g_first;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
  count_.fetch_sub(1, std::memory_order_relaxed);
}

void Learning::Tell(const Tensor* cell) {
  const std::lock_guard lock(g_lock);
  for (Learning* body = g_first; body; body = body->next_) {
    if (absl::c_linear_search(body->cells_, cell)) body->Add(cell);
  }
}

void Learning::TellOthers(const Tensor* cell) {
  const std::lock_guard lock(g_lock);
  for (Learning* body = g_first; body; body = body->next_) {
    if (body->thread_ != &State() && absl::c_linear_search(body->cells_, cell)) body->Add(cell);
  }
}

}  // namespace frazil::tracer
