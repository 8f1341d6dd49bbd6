// Work that may take long: the lock of the host language is let go while it runs, and the host may
// ask that it be abandoned (Ctrl-C). Opened by plans (jit/run) around their kernels; asked by
// the worker pool between parts and by the matrix product between tiles. Core does not know who the
// host is: the bindings say it. Invariants: without a host, or on a thread that does not hold its
// lock, nothing is let go and nothing is abandoned; what abandoned work wrote is garbage, so it may
// only lie in memory that nobody else sees.
//
// How long work takes is estimated in one place, core/cost.h, in nanoseconds on one thread. A plan
// of 60 µs or more runs inside a LongWork: the host's lock (the GIL) is
// let go, and the host may ask, every 10 ms, that the work be abandoned. Core knows two function
// pointers and a question; bindings/python/host.cc answers them. The worker pool asks between
// parts, which are cut to a few milliseconds, the matrix product between tiles, plans between
// steps. Only Python's main thread is ever interrupted. Handlers that run then may compute: they
// meet the machine in the middle of a kernel, so they get scratch memory, tiles and a floating-
// point mode of their own (LongWork::Interruptions).
//
// Abandoned work has written only memory that nobody sees. A plan that writes over an operand does
// not stop after that step; so where a host can interrupt, operands are overwritten only if at
// most some 60 ms of work follow, and x += y over the content of a cell keeps the GIL: no thread
// may see the cell half-way. A skipped call that overwrites the content of cells lets the GIL go
// up to the first step that does, takes it back, asks whether each cell still holds what it lent
// and nobody else sees it, and keeps the GIL from there on.
//
// Without the GIL another thread may replace the content of a cell that an op was given. Whoever
// runs a plan holds its operands' values; the tape's node is made before the op runs; checked
// indices are the ones used; functions of several ops work on a copy of the cell.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/status.h"
#include "core/threads/tls.h"

namespace frazil {

struct Host {
  // Lets go of the lock that this thread holds and returns what `lock` needs; null: it holds none.
  void* (*unlock)() = nullptr;
  void (*lock)(void* token) = nullptr;
  // Between the two, by the same thread: whether its work is to be abandoned. May run the user's
  // code. The host keeps the reason and raises it when a status of kInterrupted arrives.
  bool (*interrupted)(void* token) = nullptr;
  // Nanoseconds between two questions: each may wait for the lock, and whoever interrupts waits for
  // the next.
  int64_t ask_every = 10'000'000;
};
void SetHost(const Host& host);  // once, at the start
bool HasHost();

// While one lives, this thread does not hold the host's lock. Needed wherever a thread waits for
// another: that one may need the lock to go on.
class HostUnlocked {
 public:
  HostUnlocked();
  ~HostUnlocked();
  HostUnlocked(const HostUnlocked&) = delete;
  HostUnlocked& operator=(const HostUnlocked&) = delete;
  void* token() const { return token_; }

 private:
  void* const token_;
};

class LongWork {
 public:
  LongWork();
  ~LongWork();
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

  // The one this thread works for, or null. The pool lends the caller's to its workers.
  static LongWork*& Current() { return t_current; }

  // True if the work is to be abandoned. The thread that opened the scope asks the host now and
  // then; others only look. Where this is called every few microseconds, most calls do not even
  // look at the clock.
  bool Stop() {
    if (!stopped() && home_ == &t_current && --unasked_ < 0) Ask();
    return stopped();
  }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  // In how many pieces of work this thread stands whose host runs user code now. Such code meets
  // the machine in the middle of a kernel: scratch memory and tiles are not its own.
  static int Interruptions() { return t_interruptions; }
  // From here on the work runs to its end: it overwrites what doing it again would need.
  void Shield() { shielded_ = true; }

 private:
  static FZ_HOT_TLS LongWork* t_current;
  static FZ_HOT_TLS int t_interruptions;
  void Ask();

  const HostUnlocked unlocked_;
  LongWork* const outer_;
  LongWork** const home_;
  std::atomic<bool> stopped_{false};
  bool shielded_ = false;
  int64_t seen_, next_ask_;        // nanoseconds: when the clock was looked at, when to ask
  int unasked_ = 0, between_ = 0;  // calls of Stop until the next look, and from each to the next
};

// True if what this thread computes is to be abandoned. Kernels that run long ask between tiles.
inline bool Abandoned() {
  LongWork* const work = LongWork::Current();
  return __builtin_expect(work != nullptr, 0) && work->Stop();
}

// The status of work that was abandoned.
Status Interrupted();
inline bool IsInterrupted(const Status& status) {
  return !status.ok() && KindOf(status) == ErrorKind::kInterrupted;
}

}  // namespace frazil
