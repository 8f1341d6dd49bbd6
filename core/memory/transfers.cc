#include "core/memory/transfers.h"

#include <atomic>

namespace frazil {
namespace {

struct Counters {
  std::atomic<int64_t> in_bytes{0}, out_bytes{0}, in{0}, out{0};
};
Counters g_counters[256];  // by the device's word

}  // namespace

void CountTransfer(Device from, Device to, int64_t bytes) {
  Counters &source = g_counters[from.word], &target = g_counters[to.word];
  source.out_bytes.fetch_add(bytes, std::memory_order_relaxed);
  source.out.fetch_add(1, std::memory_order_relaxed);
  target.in_bytes.fetch_add(bytes, std::memory_order_relaxed);
  target.in.fetch_add(1, std::memory_order_relaxed);
}

TransferStats GetTransfers(Device device) {
  const Counters& c = g_counters[device.word];
  return {c.in_bytes.load(), c.out_bytes.load(), c.in.load(), c.out.load()};
}

void ResetTransfers(Device device) {
  Counters& c = g_counters[device.word];
  c.in_bytes = c.out_bytes = c.in = c.out = 0;
}

}  // namespace frazil
