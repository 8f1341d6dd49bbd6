#include "core/backend.h"

#include <array>
#include <cstring>

#include "core/check.h"
#include "core/threads/long_work.h"

namespace frazil {

namespace {

class Cpu final : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  Kernels kernels() const override { return {.computes_again = true}; }
};

struct Registry {
  std::array<const Backend*, kDeviceKinds> of_kind{};
  Registry() { of_kind[0] = new Cpu; }
};
Registry& Backends() {
  static auto* const registry = new Registry;
  return *registry;
}

}  // namespace

void RegisterBackend(DeviceKind kind, const Backend* backend) {
  Backends().of_kind[int(kind)] = backend;
}

bool IsRegistered(DeviceKind kind) { return Backends().of_kind[int(kind)] != nullptr; }

const Backend& BackendOf(Device device) {
  const Backend* backend = Backends().of_kind[int(device.kind())];
  FZ_CHECK(backend);
  return *backend;
}

StatusOr<StorageRef> Backend::Allocate(Device, size_t) const {
  return RuntimeError("[device] '", std::string(name()), "' has no memory of its own.");
}
Status Backend::Copy(Device, char*, Device, const char*, size_t) const {
  return RuntimeError("[device] '", std::string(name()), "' has no memory of its own.");
}

StatusOr<StorageRef> AllocateElsewhere(Device device, size_t bytes) {
  return BackendOf(device).Allocate(device, bytes);
}

Status CopyBytes(Device to_device, char* to, Device from_device, const char* from, size_t bytes) {
  if (CpuAddresses(to_device) && CpuAddresses(from_device)) {
    std::memcpy(to, from, bytes);
    return absl::OkStatus();
  }
  const Backend& backend = BackendOf(CpuAddresses(to_device) ? from_device : to_device);
  return backend.Copy(to_device, to, from_device, from, bytes);
}

StatusOr<ValueRef> OnHost(const Value& value) {
  if (__builtin_expect(CpuAddresses(value.device), 1))
    return ValueRef::Share(const_cast<Value*>(&value));
  // While the device is waited for, another thread may let go of the value.
  const ValueRef held = ValueRef::Share(const_cast<Value*>(&value));
  const HostUnlocked unlocked;
  const Layout& layout = *value.layout;
  const int64_t size = SizeOf(value.dtype);
  const Reach reach = ReachOf(layout);
  const int64_t low = reach.low * size, high = reach.high * size;
  FZ_ASSIGN_OR_RETURN(StorageRef storage, Allocate(size_t(high - low)));
  char* const base = storage->data;
  FZ_RETURN_IF_ERROR(CopyBytes(Device(), base, value.device, value.data + low, size_t(high - low)));
  return Value::Make(value.dtype, Device(), &layout, std::move(storage), base - low);
}

}  // namespace frazil
