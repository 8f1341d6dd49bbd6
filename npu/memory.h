// The bytes of the machine: its local memories and the windows of device memory of a launch.
// Called by the functional machine, the checker and the schedules. Invariant: Resolve gives a host
// pointer only for bytes that lie in a local memory or in one window that permits the access, so
// nothing outside of them can be touched.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "npu/access.h"

namespace frazil::npu {

// Device memory that a launch may touch: `data` backs the addresses from `gm` on.
struct Window {
  uint64_t gm = 0;
  int64_t bytes = 0;
  char* data = nullptr;  // null in time-only
  bool writable = false;

  uint64_t end() const { return gm + uint64_t(bytes); }
};

// The windows of a launch by address.
class Windows {
 public:
  // ValueError: a window outside of device memory, or two that share bytes. Windows without bytes
  // are dropped.
  static StatusOr<Windows> Make(absl::Span<const Window> windows);

  // The window that holds all of [begin, end), or null.
  const Window* Find(uint64_t begin, uint64_t end) const;
  absl::Span<const Window> all() const { return windows_; }

 private:
  std::vector<Window> windows_;  // ascending
};

class Memory {
 public:
  Memory(const Preset& preset, const Windows& windows);

  // A new block: local memories are filled with 0xA5.
  void Reset() { filled_.fill(0); }

  // Where the bytes of an access lie that CheckAccesses has let pass; null with *fault filled in if
  // its window is missing or does not permit it.
  char* Resolve(const Access& access, Fault* fault);

  // Of local memory; filled up to `end`.
  char* Local(Space space, uint64_t end);

 private:
  const Windows& windows_;
  std::array<int64_t, kNumSpaces> bytes_;
  std::array<std::unique_ptr<char[]>, kNumSpaces> local_;
  std::array<uint64_t, kNumSpaces> filled_{};  // bytes beyond are not filled yet
};

// False with *fault filled in: no window holds all bytes of this access to GM and permits it.
bool CheckWindow(const Windows& windows, const Access& access, Fault* fault);

}  // namespace frazil::npu
