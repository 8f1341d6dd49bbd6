// Bytes that moved between devices. Counted by transfers (jit/library/library.cc) and by reads of
// what lies on a device (core/apply.cc); shown by the device's report. Invariant: every byte that
// leaves or enters a device because the program asked is counted once each time.
#pragma once

#include <cstdint>

#include "core/device.h"

namespace frazil {

struct TransferStats {
  int64_t in_bytes = 0, out_bytes = 0;  // to the device, and from it
  int64_t in = 0, out = 0;              // how often
};

void CountTransfer(Device from, Device to, int64_t bytes);
TransferStats GetTransfers(Device device);
void ResetTransfers(Device device);

}  // namespace frazil
