#include "core/device.h"

#include <charconv>
#include <optional>

#include "core/apply.h"
#include "core/memory/device_memory.h"

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

namespace {

// "cuda" and "cuda:3".
std::optional<int> CudaIndex(std::string_view name) {
  if (name == "cuda") return 0;
  if (name.substr(0, 5) != "cuda:") return std::nullopt;
  int index = -1;
  const char *first = name.data() + 5, *last = name.data() + name.size();
  const auto end = std::from_chars(first, last, index);
  if (end.ec != std::errc() || end.ptr != last || index < 0 || index > 63) return std::nullopt;
  return index;
}

}  // namespace

StatusOr<Device> ParseDevice(std::string_view name) {
  if (name == "cpu") return Device();
  if (name == "npu") return Device(DeviceKind::kNpu, 0);
  if (const auto index = CudaIndex(name)) {
    const Device device(DeviceKind::kCuda, *index);
    if (!GlobalRuntime().devices)
      return ValueError("[device] no GPU is known before frazil starts.");
    FZ_RETURN_IF_ERROR(GlobalRuntime().devices->Check(device));
    return device;
  }
  return ValueError("[device] unknown device '", std::string(name),
                    "'; known: 'cpu', 'npu', 'cuda', 'cuda:N'.");
}

}  // namespace frazil
