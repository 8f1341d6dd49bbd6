// Devices by name: "cpu", "npu", "cuda", "cuda:1". Called wherever memory or kernels are placed.
// What a kind is, its object says (core/backend.h). Invariant: one byte, comparable; the default is
// the CPU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "core/status.h"

#pragma GCC visibility push(default)
namespace frazil {

// Kinds from kCuda on have memory that the CPU cannot address. kOther is nobody's: for a further
// backend, as in tests/cpp/backend_test.cc.
enum class DeviceKind : uint8_t { kCpu, kNpu, kCuda, kOther };
inline constexpr int kDeviceKinds = 4, kMaxDevices = 64;  // in all, and of one kind

struct Device {
  uint8_t word = 0;  // kind * kMaxDevices + index

  constexpr Device() = default;
  constexpr Device(DeviceKind kind, int index)
      : word(static_cast<uint8_t>(int(kind) * kMaxDevices + index)) {}
  constexpr DeviceKind kind() const { return static_cast<DeviceKind>(word / kMaxDevices); }
  constexpr int index() const { return word % kMaxDevices; }
  constexpr bool operator==(const Device&) const = default;
};

constexpr bool CpuAddresses(Device device) { return device.kind() < DeviceKind::kCuda; }

std::string Name(Device device);
// ValueError naming the known devices, also for one that this build or machine does not have.
StatusOr<Device> ParseDevice(std::string_view name);

}  // namespace frazil
#pragma GCC visibility pop
