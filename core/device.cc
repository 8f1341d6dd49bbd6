#include "core/device.h"

namespace frazil {

std::string Name(Device device) {
  static constexpr const char* kNames[] = {"cpu", "npu", "cuda"};
  std::string name = kNames[int(device.kind())];
  return device.index() ? absl::StrCat(name, ":", device.index()) : name;
}

bool Computes(Device device, DType dtype) {
  if (device.kind() != DeviceKind::kNpu) return true;
  const bool half_integer = BitsOf(dtype) == 16 && !IsFloat(dtype);
  return BitsOf(dtype) <= 32 && !half_integer;
}

StatusOr<Device> ParseDevice(std::string_view name) {
  if (name == "cpu") return Device();
  if (name == "npu") return Device(DeviceKind::kNpu, 0);
  if (name == "cuda" || name.substr(0, 5) == "cuda:") {
    return ValueError("[device] '", std::string(name),
                      "' is not available in this build; available: 'cpu', 'npu'.");
  }
  return ValueError("[device] unknown device '", std::string(name),
                    "'; known: 'cpu', 'npu', 'cuda', 'cuda:N'.");
}

}  // namespace frazil
