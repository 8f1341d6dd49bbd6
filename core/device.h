// Devices by name: "cpu", "npu", "cuda", "cuda:1". Called wherever memory or kernels are placed.
// Invariant: one byte, comparable; the default is the CPU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "core/status.h"

#pragma GCC visibility push(default)
namespace frazil {

enum class DeviceKind : uint8_t { kCpu, kNpu, kCuda };

struct Device {
  uint8_t word = 0;  // kind * 64 + index

  constexpr Device() = default;
  constexpr Device(DeviceKind kind, int index)
      : word(static_cast<uint8_t>(int(kind) * 64 + index)) {}
  constexpr DeviceKind kind() const { return static_cast<DeviceKind>(word / 64); }
  constexpr int index() const { return word % 64; }
  constexpr bool operator==(const Device&) const = default;
};

std::string Name(Device device);
// ValueError naming the known devices, also for one that this build or machine does not have.
StatusOr<Device> ParseDevice(std::string_view name);

// Whether the device's processor has arithmetic for the dtype; other dtypes it only stores.
bool Computes(Device device, DType dtype);

}  // namespace frazil
#pragma GCC visibility pop
