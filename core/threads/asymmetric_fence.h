// A pair of fences of unequal cost, for two sides that each write a word and then read the other's:
// one of the two sees the other. LightFence is for the side that does so all the time and costs
// nothing, HeavyFence for the other, which makes every running thread of the process take a fence.
// Called by sessions, recordings and pins. Invariant: where the operating system offers no such
// thing, both are ordinary fences.
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
