#include "core/device.h"

#include <charconv>

#include "core/backend.h"
#include "core/str.h"

namespace frazil {
namespace {

// The index of a device of the kind, -1 if that is not what is named: "cuda" and "cuda:3".
int IndexOf(std::string_view name, const Backend& backend) {
  const std::string_view kind = backend.name();
  if (name == kind) return 0;
  if (name.substr(0, kind.size()) != kind || name[kind.size()] != ':') return -1;
  int index = -1;
  const char *first = name.data() + kind.size() + 1, *last = name.data() + name.size();
  const auto end = std::from_chars(first, last, index);
  const bool whole = end.ec == std::errc() && end.ptr == last;
  return whole && index < std::min(backend.most(), kMaxDevices) && backend.most() > 1 ? index : -1;
}

}  // namespace

std::string Name(Device device) {
  std::string name(BackendOf(device).name());
  return device.index() ? StrCat(name, ":", device.index()) : name;
}

StatusOr<Device> ParseDevice(std::string_view name) {
  std::string known;
  for (int kind = 0; kind < kDeviceKinds; ++kind) {
    if (!IsRegistered(DeviceKind(kind))) continue;
    const Backend& backend = BackendOf(Device(DeviceKind(kind), 0));
    if (const int index = IndexOf(name, backend); index >= 0) {
      const Device device(DeviceKind(kind), index);
      FZ_RETURN_IF_ERROR(backend.Check(device));
      return device;
    }
    StrAppend(&known, known.empty() ? "'" : ", '", backend.name(), "'");
    if (backend.most() > 1) StrAppend(&known, ", '", backend.name(), ":N'");
  }
  return ValueError("[device] unknown device '", std::string(name), "'; known: ", known, ".");
}

}  // namespace frazil
