#include "core/memory/pin.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/threads/at_fork.h"
#include "core/threads/mutex.h"

namespace frazil {

FZ_HOT_TLS PinSlots* t_pins = nullptr;

namespace {

// Never destroyed.
struct Global {
  Mutex mutex;
  PinSlots* threads ABSL_GUARDED_BY(mutex) = nullptr;  // never freed, but used again
  // What was pinned when it was to be freed: as many as there are pins, at most.
  std::vector<std::shared_ptr<const void>> later ABSL_GUARDED_BY(mutex);
};
Global& GetGlobal() {
  static Global* global = [] {
    auto* made = new Global;
    HoldAcrossFork(ForkOrder::kMemory, &made->mutex);
    return made;
  }();
  return *global;
}

struct AtExit {
  ~AtExit() {
    MutexLock lock(&GetGlobal().mutex);
    t_pins->taken = false;
    t_pins = nullptr;
  }
};

}  // namespace

PinSlots* MakePins() {
  Global& global = GetGlobal();
  {
    MutexLock lock(&global.mutex);
    t_pins = global.threads;
    while (t_pins && t_pins->taken) t_pins = t_pins->next;
    if (!t_pins) {
      t_pins = new PinSlots;
      t_pins->next = std::exchange(global.threads, t_pins);
    }
    t_pins->taken = true;
  }
  static thread_local AtExit at_exit;
  (void)at_exit;
  return t_pins;
}

void Garbage::Free() {
  Global& global = GetGlobal();
  HeavyFence();
  MutexLock lock(&global.mutex);
  objects_.insert(objects_.end(), std::make_move_iterator(global.later.begin()),
                  std::make_move_iterator(global.later.end()));
  global.later.clear();
  const PinSlots* const threads = global.threads;
  const auto pinned = [threads](const std::shared_ptr<const void>& object) {
    for (const PinSlots* t = threads; t; t = t->next) {
      for (const auto& slot : t->slots) {
        if (slot.load(std::memory_order_acquire) == object.get()) return true;
      }
    }
    return false;
  };
  const auto kept = std::partition(objects_.begin(), objects_.end(), std::not_fn(pinned));
  global.later.assign(std::make_move_iterator(kept), std::make_move_iterator(objects_.end()));
  objects_.erase(kept, objects_.end());
}

}  // namespace frazil
