#include "core/memory/small_blocks.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "core/threads/at_fork.h"
#include "core/threads/mutex.h"
#include "core/tuned.h"

namespace frazil {

FZ_HOT_TLS OwnBlocks t_blocks[kBlockClasses] = {};

namespace {

FZ_HOT_TLS int64_t t_keep =
    0;  // tuned::kKeptBlocks while AtExit lives: before and after, what is freed is shared

void Push(void* block, void** head) {
  *static_cast<void**>(block) = *head;
  *head = block;
}
void* Pop(void** head) {
  void* const block = *head;
  *head = *static_cast<void**>(block);
  return block;
}

// What threads have too much of. Never destroyed.
struct Shared {
  Mutex mutex;
  void* heads[kBlockClasses] ABSL_GUARDED_BY(mutex) = {};
};
Shared& GlobalShared() {
  static Shared* shared = [] {
    auto* made = new Shared;
    HoldAcrossFork(ForkOrder::kMemory, &made->mutex);
    return made;
  }();
  return *shared;
}

// Gives the thread's lists to the others when it ends.
struct AtExit {
  AtExit() {
    t_keep = tuned::kKeptBlocks;
    for (OwnBlocks& own : t_blocks) own.room += tuned::kKeptBlocks;
  }
  ~AtExit() {
    Shared& shared = GlobalShared();
    MutexLock lock(&shared.mutex);
    for (int c = 0; c < kBlockClasses; ++c) {
      while (t_blocks[c].head) Push(Pop(&t_blocks[c].head), &shared.heads[c]);
      t_blocks[c].room = 0;
    }
    t_keep = 0;
  }
};

void WatchExit() {
  static thread_local AtExit at_exit;
  (void)at_exit;
}

}  // namespace

void* TakeSharedBlock(int c) {
  WatchExit();
  OwnBlocks& own = t_blocks[c];
  Shared& shared = GlobalShared();
  {
    MutexLock lock(&shared.mutex);
    for (int i = 0; i < tuned::kKeptBlocks / 2 && shared.heads[c]; ++i, --own.room)
      Push(Pop(&shared.heads[c]), &own.head);
  }
  if (!own.head) {
    const size_t size = BlockBytes(c);
    char* slab = static_cast<char*>(std::aligned_alloc(64, tuned::kSlab));
    if (!slab) throw std::bad_alloc();
    for (size_t at = 0; at + size <= tuned::kSlab; at += size, --own.room)
      Push(slab + at, &own.head);
  }
  ++own.room;
  return Pop(&own.head);
}

void ShareBlocks(int c) {
  WatchExit();
  OwnBlocks& own = t_blocks[c];
  Shared& shared = GlobalShared();
  MutexLock lock(&shared.mutex);
  for (int64_t n = std::max<int64_t>(1, (t_keep - own.room) / 2); n > 0 && own.head; --n) {
    Push(Pop(&own.head), &shared.heads[c]);
    ++own.room;
  }
}

#if defined(__SANITIZE_ADDRESS__)
void* TakeBlock(int c) { return std::aligned_alloc(64, BlockBytes(c)); }
void GiveBlock(void* block, int) { std::free(block); }
#endif

}  // namespace frazil
