#include "jit/emit/npu/estimate.h"

#include <limits>

#include "npu/simulator.h"

namespace frazil::npu {

std::vector<Reach> ReachOf(const kir::Kernel& k, const LaunchShape& shape) {
  std::vector<Reach> reach;
  for (size_t b = 0; b < k.buffers.size(); ++b) {
    Reach r{0, SizeOf(k.buffers[b].dtype), k.buffers[b].out};
    for (int axis = 0; axis < k.axes(); ++axis) {
      const int64_t step = shape.strides[b * k.axes() + axis] * (shape.extents[axis] - 1);
      (step < 0 ? r.low : r.high) += step;
    }
    reach.push_back(r);
  }
  return reach;
}

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
