#include "jit/emit/npu/estimate.h"

#include <limits>

#include "jit/npu_sim/simulator.h"

namespace frazil::npu {

int64_t EstimateCycles(const Program& program, const Preset& preset,
                       absl::Span<const Reach> buffers) {
  std::vector<Window> windows;
  std::vector<uint64_t> params;
  uint64_t next = kGmBase;
  for (const Reach& r : buffers) {
    windows.push_back({next, r.high - r.low, nullptr, r.writable});
    params.push_back(next - uint64_t(r.low));
    next = (next + uint64_t(r.high - r.low) + 64 + 511) / 512 * 512;
  }
  params.resize(program.params.size(), 0);
  LaunchOptions options;
  options.mode = Mode::kTimeOnly;
  const auto result = Launch(program, preset, params, windows, options);
  if (!result.ok() || result->fault) return std::numeric_limits<int64_t>::max();
  return result->timing->cycles;
}

}  // namespace frazil::npu
