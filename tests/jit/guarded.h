// Runs one kernel on two emitters over equal random data and says where they differ. Used by tests
// of emitters that execute. Every buffer lies against an inaccessible page, and every byte of its
// pages is compared, so reads and writes outside the range are caught.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/emit/emitter.h"
#include "tests/guarded_bytes.h"

namespace frazil::jit {

using Rng = std::mt19937_64;

// A value of the type that is interesting now and then: limits, zeros of both signs, NaNs,
// infinities, subnormals.
inline uint64_t RandomBits(DType t, Rng& rng) {
  if (t == DType::kBool) return rng() & 1;
  const int bits = BitsOf(t);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const int kind = int(rng() % 8);
  if (!IsFloat(t)) {
    const uint64_t top = uint64_t{1} << (bits - 1);
    const uint64_t special[] = {
        0, 1, mask, top, top - 1, top + 1, 2, uint64_t(bits), uint64_t(bits - 1)};
    if (kind == 0) return special[rng() % 9] & mask;
    if (kind < 4) return (rng() % 100) & mask;
    if (kind == 4) return uint64_t(-int64_t(rng() % 100)) & mask;
    return (rng() >> (rng() % 64)) & mask;
  }
  const double limits[] = {2147483647.0,
                           2147483648.0,
                           -2147483648.0,
                           4294967295.0,
                           4294967296.0,
                           9.2233720368547758e18,
                           -9.2233720368547758e18,
                           1.8446744073709552e19,
                           0.5,
                           1.5,
                           2.5,
                           -0.5,
                           8388609.0,
                           1e-310,
                           127.5,
                           65504,
                           65520,
                           1e300,
                           16777217.0,
                           3e38};
  const int mantissa = t == DType::kF64 ? 52 : t == DType::kF32 ? 23 : t == DType::kF16 ? 10 : 7;
  const uint64_t sign = uint64_t{1} << (bits - 1), inf = (sign - 1) >> mantissa << mantissa;
  const uint64_t special[] = {0,
                              sign,
                              inf,
                              inf | sign,
                              inf | (uint64_t{1} << (mantissa - 1)),
                              1,
                              sign | 1,
                              (uint64_t{1} << mantissa) - 1,
                              inf - 1};
  if (kind == 0) return special[rng() % 9];
  if (kind == 1) return rng() & mask & ~(inf & (inf >> 1));  // any bits, rarely special
  double x = kind == 2 ? limits[rng() % 20]
                       : (double(int64_t(rng() % 2000000)) - 1e6) / double(1 + rng() % 100000);
  if (kind == 3) x = std::trunc(x);
  uint64_t out = 0;
  if (t == DType::kF64) {
    std::memcpy(&out, &x, 8);
  } else if (t == DType::kF32) {
    const float f = float(x);
    std::memcpy(&out, &f, 4);
  } else {
    out = t == DType::kF16 ? ToHalf(x).bits : ToBFloat16(x).bits;
  }
  return out;
}

inline bool IsNanBits(DType t, uint64_t bits) {
  if (!IsFloat(t)) return false;
  const int mantissa = t == DType::kF64 ? 52 : t == DType::kF32 ? 23 : t == DType::kF16 ? 10 : 7;
  const uint64_t sign = uint64_t{1} << (BitsOf(t) - 1), inf = (sign - 1) >> mantissa << mantissa;
  return (bits & (sign - 1)) > inf;
}

struct Layout {
  std::vector<int64_t> strides;  // bytes
  int64_t first = 0;             // offset of element 0 (negative strides)
  int64_t bytes = 0;
};

// A layout with the buffer's stride classes; kAny may be padded, reversed or permuted.
inline Layout RandomLayout(const kir::Buffer& buffer, const std::vector<int64_t>& extents,
                           int64_t align, Rng& rng) {
  const int64_t size = SizeOf(buffer.dtype);
  Layout out;
  out.strides.assign(buffer.strides.size(), 0);
  int64_t running = size, low = 0, high = 0;
  for (size_t a = buffer.strides.size(); a-- > 0;) {
    if (buffer.strides[a] == kir::Stride::kOne)
      running = std::max(running, size * std::max<int64_t>(extents[a], 1));
  }
  for (size_t a = buffer.strides.size(); a-- > 0;) {
    const int64_t n = std::max<int64_t>(extents[a], 1);
    if (buffer.strides[a] == kir::Stride::kZero) continue;
    int64_t stride = size;
    if (buffer.strides[a] == kir::Stride::kAny) {
      stride = (running + align - 1) / align * align + int64_t(rng() % 3) * std::max(size, align);
      running = stride * n;
      if (rng() % 4 == 0) stride = -stride;
    }
    out.strides[a] = stride;
    (stride < 0 ? low : high) += stride * (n - 1);
  }
  out.first = -low;
  out.bytes = high - low + size;
  return out;
}

struct Range {
  int64_t row_begin = 0, row_end = 1, col_begin = 0, col_end = 1;
};

inline int64_t Rows(const kir::Kernel& k, const std::vector<int64_t>& extents) {
  int64_t rows = 1;
  for (int a = 0; a < k.rank - 1; ++a) rows *= extents[a];
  return rows;
}

inline Range WholeRange(const kir::Kernel& k, const std::vector<int64_t>& extents) {
  return {0, Rows(k, extents), 0, extents[k.rank - 1]};
}

// Empty if both executors write the same bytes; otherwise the first difference. `align`: of rows
// (streams).
inline std::string CompareRuns(const kir::Kernel& k, const Compiled& reference,
                               const Compiled& tested, const std::vector<int64_t>& extents,
                               const Range& range, Rng& rng, int64_t align = 1) {
  std::vector<std::unique_ptr<GuardedBytes>> want, got;
  std::vector<void*> want_ptr, got_ptr;
  std::vector<int64_t> strides;
  for (const kir::Buffer& buffer : k.buffers) {
    const Layout layout = RandomLayout(buffer, extents, align, rng);
    const bool at_end = align == 1 && rng() % 4 != 0;
    want.push_back(std::make_unique<GuardedBytes>(layout.bytes, at_end));
    got.push_back(std::make_unique<GuardedBytes>(layout.bytes, at_end));
    const size_t size = size_t(SizeOf(buffer.dtype));
    for (size_t i = 0; i + size <= size_t(layout.bytes); i += size) {
      const uint64_t bits = RandomBits(buffer.dtype, rng);
      std::memcpy(want.back()->data() + i, &bits, size);
    }
    std::memcpy(got.back()->page(), want.back()->page(), want.back()->page_bytes());
    want_ptr.push_back(want.back()->data() + layout.first);
    got_ptr.push_back(got.back()->data() + layout.first);
    strides.insert(strides.end(), layout.strides.begin(), layout.strides.end());
  }
  std::vector<uint64_t> scalars;
  for (const kir::Scalar& s : k.scalars) scalars.push_back(RandomBits(s.dtype, rng));
  kir::KernelArgs args{want_ptr.data(), extents.data(), strides.data(), scalars.data()};
  reference.Run(args, range.row_begin, range.row_end, range.col_begin, range.col_end);
  args.buffers = got_ptr.data();
  tested.Run(args, range.row_begin, range.row_end, range.col_begin, range.col_end);
  for (size_t b = 0; b < k.buffers.size(); ++b) {
    const DType t = k.buffers[b].dtype;
    const size_t size = size_t(SizeOf(t)), bytes = want[b]->page_bytes();
    if (std::memcmp(want[b]->page(), got[b]->page(), bytes) == 0) continue;
    const size_t skew = size_t(want[b]->data() - want[b]->page()) % size;
    for (size_t i = skew; i + size <= bytes; i += size) {
      uint64_t w = 0, g = 0;
      std::memcpy(&w, want[b]->page() + i, size);
      std::memcpy(&g, got[b]->page() + i, size);
      if (w == g || (IsNanBits(t, w) && IsNanBits(t, g))) continue;
      return absl::StrCat(
          "buffer ", k.buffers[b].name, " byte ", int64_t(i) - (want[b]->data() - want[b]->page()),
          " is 0x", absl::Hex(g), ", should be 0x", absl::Hex(w), " (extents ",
          [&] {
            std::string s;
            for (int64_t e : extents) absl::StrAppend(&s, e, " ");
            return s;
          }(),
          "rows ", range.row_begin, "..", range.row_end, " columns ", range.col_begin, "..",
          range.col_end, ")\n", kir::Print(k));
    }
  }
  return {};
}

}  // namespace frazil::jit
