// A pair of fences of unequal cost, for two sides that each write a word and then read the other's:
// one of the two sees the other. LightFence is for the side that does so all the time and costs
// nothing, HeavyFence for the other, which makes every running thread of the process take a fence.
// Called by sessions, recordings and pins. Invariant: where the operating system offers no such
// thing, both are ordinary fences.
//
// A traced call takes no lock and adds to no shared word: atomic additions were most of what a
// small one cost. Who comes by rarely (another thread that reads a deferred value, eviction) pays
// instead, with a fence in every running thread: a session's
// owner says that it is inside and looks whether others are busy; a visit of the trie is counted
// in the thread's own shard of the recording; a plan that runs is pinned (core/memory/pin.h), and
// what is evicted is freed as soon as no pin holds it. The owner lets go of a deferred value,
// which only the session holds besides, by a plain store (Pending::LetGo).
#pragma once

#include <atomic>

#pragma GCC visibility push(default)
namespace frazil {

// True once light fences may be nothing: then heavy ones reach the other threads.
extern std::atomic<bool> g_light_fences;
void RealFence();

inline void LightFence() {
  if (__builtin_expect(g_light_fences.load(std::memory_order_relaxed), 1)) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    RealFence();
  }
}
void HeavyFence();

// Before a process gets its second thread: what the first fence asks of the operating system takes
// microseconds then, and milliseconds later.
void PrepareFences();

}  // namespace frazil
#pragma GCC visibility pop
