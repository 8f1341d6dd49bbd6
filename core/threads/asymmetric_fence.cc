#include "core/threads/asymmetric_fence.h"

#include <cerrno>

#include "core/check.h"

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace frazil {

constinit std::atomic<bool> g_light_fences{false};

namespace {

#if defined(__linux__) && defined(SYS_membarrier)
bool Ask(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }
bool Register() { return Ask(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED); }
bool FenceOthers() {
  // Not registered any more: what the process was before, it is not.
  return Ask(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
         (errno == EPERM && Register() && Ask(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}
#else
bool Register() { return false; }
bool FenceOthers() { return false; }
#endif

// A heavy fence that finds it false can meet no light one that was nothing: those come after.
bool Registered() {
  static const bool registered = [] {
    const bool done = Register();
    g_light_fences.store(done);
    return done;
  }();
  return registered;
}

}  // namespace

void RealFence() {
  Registered();
  // Not std::atomic_thread_fence, which the thread sanitizer refuses.
  __sync_synchronize();
}

void PrepareFences() { Registered(); }

void HeavyFence() {
  __sync_synchronize();
  if (Registered()) FZ_CHECK(FenceOthers());
}

}  // namespace frazil
