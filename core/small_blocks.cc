#include "core/small_blocks.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

#include "absl/synchronization/mutex.h"
#include "core/at_fork.h"
#include "core/check.h"
#include "core/tls.h"

namespace frazil {
namespace {

constexpr int kClasses = 8;  // 64 << 0 ... 64 << 7
constexpr size_t kSlab = 64 * 1024;
constexpr int kKeep = 256;  // blocks a thread keeps per class before it shares half

struct Block {
  Block* next;
};

int ClassOf(size_t bytes) { return bytes <= 64 ? 0 : std::bit_width((bytes - 1) / 64); }

struct List {
  Block* head = nullptr;
  int count = 0;

  void Push(Block* b) {
    b->next = head;
    head = b;
    ++count;
  }
  Block* Pop() {
    Block* b = head;
    head = b->next;
    --count;
    return b;
  }
};

// What threads have too much of. Never destroyed.
struct Shared {
  absl::Mutex mutex;
  List lists[kClasses] ABSL_GUARDED_BY(mutex);
};
Shared& GlobalShared() {
  static Shared* shared = [] {
    auto* made = new Shared;
    HoldAcrossFork(ForkOrder::kMemory, &made->mutex);
    return made;
  }();
  return *shared;
}

FZ_HOT_TLS List t_lists[kClasses];
FZ_HOT_TLS int t_keep = 0;  // kKeep while AtExit lives: before and after, what is freed is shared

// Gives the thread's lists to the others when it ends.
struct AtExit {
  AtExit() { t_keep = kKeep; }
  ~AtExit() {
    Shared& shared = GlobalShared();
    absl::MutexLock lock(&shared.mutex);
    for (int c = 0; c < kClasses; ++c) {
      while (t_lists[c].head) shared.lists[c].Push(t_lists[c].Pop());
    }
    t_keep = 0;
  }
};

void WatchExit() {
  static thread_local AtExit at_exit;
  (void)at_exit;
}

void Refill(int c, List* list) {
  WatchExit();
  Shared& shared = GlobalShared();
  {
    absl::MutexLock lock(&shared.mutex);
    for (int i = 0; i < kKeep / 2 && shared.lists[c].head; ++i) list->Push(shared.lists[c].Pop());
  }
  if (list->head) return;
  const size_t size = size_t{64} << c;
  char* slab = static_cast<char*>(std::aligned_alloc(64, kSlab));
  if (!slab) throw std::bad_alloc();
  for (size_t at = 0; at + size <= kSlab; at += size)
    list->Push(reinterpret_cast<Block*>(slab + at));
}

void Share(int c, List* list) {
  WatchExit();
  Shared& shared = GlobalShared();
  absl::MutexLock lock(&shared.mutex);
  for (int n = std::max(1, list->count / 2); n > 0; --n) shared.lists[c].Push(list->Pop());
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__)
// The sanitizer sees every object by itself.
void* TakeBlock(size_t bytes) { return std::aligned_alloc(64, size_t{64} << ClassOf(bytes)); }
void GiveBlock(void* block, size_t) { std::free(block); }
#else
void* TakeBlock(size_t bytes) {
  const int c = ClassOf(bytes);
  FZ_CHECK(c < kClasses);
  List& list = t_lists[c];
  if (__builtin_expect(list.head == nullptr, 0)) Refill(c, &list);
  return list.Pop();
}

void GiveBlock(void* block, size_t bytes) {
  const int c = ClassOf(bytes);
  List& list = t_lists[c];
  list.Push(static_cast<Block*>(block));
  if (__builtin_expect(list.count > t_keep, 0)) Share(c, &list);
}
#endif

}  // namespace frazil
