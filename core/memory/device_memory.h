// Memory that the CPU cannot address: that of GPUs. Implemented by jit/run/cuda and registered
// with the runtime; called by whatever allocates on a device or looks at bytes. Invariant: the
// bytes of a value whose device's memory the CPU cannot address are read through OnHost alone.
#pragma once

#include "core/value.h"

namespace frazil {

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // OK, or why the device cannot be used: no driver, no such device.
  virtual Status Check(Device device) = 0;
  virtual StatusOr<StorageRef> Allocate(Device device, size_t bytes) = 0;
  // One of the two is the CPU, or both are of this kind. On return the source may be changed and,
  // where the target is the CPU, the bytes are there.
  virtual Status Copy(Device to_device, char* to, Device from_device, const char* from,
                      size_t bytes) = 0;
};

// The NPU is simulated in the CPU's memory.
constexpr bool CpuAddresses(Device device) { return device.kind() != DeviceKind::kCuda; }

// Memory of any device.
StatusOr<StorageRef> AllocateElsewhere(Device device, size_t bytes);
inline StatusOr<StorageRef> Allocate(Device device, size_t bytes) {
  return __builtin_expect(CpuAddresses(device), 1) ? Allocate(bytes)
                                                   : AllocateElsewhere(device, bytes);
}
// Between the memories of any two devices.
Status CopyBytes(Device to_device, char* to, Device from_device, const char* from, size_t bytes);

// A ready value whose data the CPU addresses: `value` itself, or a copy in the CPU's memory with
// the same elements. Waits for the device.
StatusOr<ValueRef> OnHost(const Value& value);

}  // namespace frazil
