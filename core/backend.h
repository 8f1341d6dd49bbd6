// A kind of device as the layers see it that know none by name: what it is called, what it
// computes, where its bytes lie, what a kernel of it may be. Each kind has one object, made by its
// runtime (jit/run/device_backend.h) and registered before a value lies there. Called by core for
// names and memory, by jit/graph for grouping. Invariants: facts of a kind never change; the bytes
// of a value whose device's memory the CPU cannot address are read through OnHost alone.
#pragma once

#include "core/op.h"
#include "core/value.h"

namespace frazil {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;  // "cuda", with an index "cuda:1"
  virtual int most() const { return 1; }      // devices of the kind
  // OK, or why the device cannot be used: no driver, no such device.
  virtual Status Check(Device) const { return absl::OkStatus(); }
  // Whether its processor has arithmetic for the dtype; other dtypes it only stores.
  virtual bool Computes(DType) const { return true; }

  // What grouping asks (jit/graph/space.h).
  struct Kernels {
    bool computes_again = false;  // what is read along a broadcast axis, where that takes less time
    bool long_rows = false;       // one row may be several chunks, shared by many threads
  };
  virtual Kernels kernels() const { return {}; }
  // Where ops run, by their class (core/op_classes.def).
  virtual Runs Where(OpId) const { return Runs::kThere; }

  // Memory, of kinds whose memory the CPU cannot address. In Copy one of the two is the CPU, or
  // both are of this kind. On return the source may be changed and, where the target is the CPU,
  // the bytes are there.
  virtual StatusOr<StorageRef> Allocate(Device device, size_t bytes) const;
  virtual Status Copy(Device to_device, char* to, Device from_device, const char* from,
                      size_t bytes) const;
};

// `backend` lives for ever. The CPU is registered.
void RegisterBackend(DeviceKind kind, const Backend* backend);
bool IsRegistered(DeviceKind kind);
const Backend& BackendOf(Device device);

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
