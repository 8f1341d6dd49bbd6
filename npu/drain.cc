// DR: accumulators from their fractals to rows of the type.
#include <bit>
#include <cstring>

#include "npu/host_loop.h"
#include "npu/lanes.h"
#include "npu/machine.h"

namespace frazil::npu {
namespace {

constexpr int64_t kWidth = 4096;  // of a tile

// Row m of C, and after scale and relu the type of its lanes.
Type Finish(const Issue& issue, int64_t n, int32_t* row) {
  float* floats = reinterpret_cast<float*>(row);
  Type lanes = issue.fn & kDrainI32 ? kI32 : kF32;
  if (issue.fn & kDrainScale) {
    const float scale = std::bit_cast<float>(uint32_t(issue.v[5]));
    if (lanes == kI32) {
      ForEach(n, [=](int64_t i) { floats[i] = float(std::bit_cast<int32_t>(floats[i])) * scale; });
    } else {
      ForEach(n, [=](int64_t i) { floats[i] = floats[i] * scale; });
    }
    lanes = kF32;
  }
  if (issue.fn & kDrainRelu) {
    if (lanes == kI32) {
      ForEach(n, [=](int64_t i) { row[i] = row[i] <= 0 ? 0 : row[i]; });
    } else {
      ForEach(n, [=](int64_t i) { floats[i] = floats[i] <= 0 ? 0 : floats[i]; });
    }
  }
  return lanes;
}

// Integers of 8 bits get what is left of the 32-bit number: its low bits, or saturated.
void Store(const Issue& issue, Type lanes, int64_t n, void* row, char* out) {
  const bool saturate = issue.fn & kDrainSaturate;
  if (lanes == kF32 && !IsFloat(issue.type()) && SizeOf(issue.type()) == 1 && !saturate) {
    ConvertLanes(kF32, row, n, kI32, kRoundNearest, false, static_cast<char*>(row));
    lanes = kI32;
  }
  ConvertLanes(lanes, row, n, issue.type(), kRoundNearest, saturate, out);
}

}  // namespace

bool Drain(const Issue& issue, const Pointers& p) {
  const int64_t m = int64_t(issue.v[2]), n = int64_t(issue.v[3]), blocks = (m + 15) / 16;
  alignas(64) int32_t row[kWidth];
  alignas(64) char out[kWidth * 4];
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; j += 16)
      std::memcpy(row + j, p.at[1] + (j / 16 * blocks + i / 16) * 1024 + i % 16 * 64, 64);
    Store(issue, Finish(issue, n, row), n, row, out);
    std::memcpy(p.at[0] + i * p.stride[0], out, size_t(n * SizeOf(issue.type())));
  }
  return true;
}

}  // namespace frazil::npu
