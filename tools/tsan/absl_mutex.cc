// Tells the thread sanitizer about absl::Mutex, whose code comes from a library built without it.
// Linked into the build for that sanitizer alone, where the linker sends every Lock and Unlock here
// (--wrap in meson.build). Without it whatever a mutex guards would be reported as a race.
#include <sanitizer/tsan_interface.h>

#include "absl/synchronization/mutex.h"

extern "C" {

void __real__ZN4absl7debian35Mutex4LockEv(absl::Mutex* mutex);
void __real__ZN4absl7debian35Mutex6UnlockEv(absl::Mutex* mutex);

void __wrap__ZN4absl7debian35Mutex4LockEv(absl::Mutex* mutex) {
  __tsan_mutex_pre_lock(mutex, 0);
  __real__ZN4absl7debian35Mutex4LockEv(mutex);
  __tsan_mutex_post_lock(mutex, 0, 0);
}

void __wrap__ZN4absl7debian35Mutex6UnlockEv(absl::Mutex* mutex) {
  __tsan_mutex_pre_unlock(mutex, 0);
  __real__ZN4absl7debian35Mutex6UnlockEv(mutex);
  __tsan_mutex_post_unlock(mutex, 0);
}

}  // extern "C"
