// What a forked child finds: it has only the thread that forked, so locks that other threads held
// would stay held for ever. Called by whoever owns a lock that lives as long as the process.
// Invariant: the forking thread takes every lock named here, in the order of ForkOrder, before the
// fork, and waits until nobody generates code; parent and child then go on with none held, and the
// child makes a pool of its own.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/threads/mutex.h"

namespace frazil {

// Locks that are taken while others are held come later.
enum class ForkOrder { kRegistries, kRecordings, kCaches, kMemory };

// For a mutex that is never destroyed.
void HoldAcrossFork(ForkOrder order, Mutex* mutex);

// For sets of them.
struct ForkHandler {
  void (*lock)();
  void (*unlock)();  // in parent and child
};
void AtFork(ForkOrder order, const ForkHandler& handler);

// While one lives no other thread forks. For work under locks that are not named: generating code.
// Taken before any other lock; may be nested.
class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;
};

// How many forks lie between this process and the one that started.
extern std::atomic<uint32_t> g_fork_generation;
inline uint32_t ForkGeneration() { return g_fork_generation.load(std::memory_order_relaxed); }

}  // namespace frazil
