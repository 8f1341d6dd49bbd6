// A mutex that a process may be forked over (core/threads/at_fork.h), with the annotations that
// clang's analysis of locks reads. Called by all that keeps something for several threads.
// Invariant: its state is one word that who holds it may unlock in a forked child, too. Abseil's
// is not: a thread that queues up for it when the process is forked holds the lock of its queue,
// and those of debug builds hold one of all mutexes; the child then waits for ever.
#pragma once

#include <mutex>

#include "absl/base/thread_annotations.h"

#pragma GCC visibility push(default)
namespace frazil {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  // For the analysis, which does not follow it into a function that is called.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() {}

 private:
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_->Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

}  // namespace frazil
#pragma GCC visibility pop
