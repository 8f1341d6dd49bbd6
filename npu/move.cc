// LD, ST, CPL, XU: rows of bytes. XA, XB: rows of elements into fractals.
#include <algorithm>
#include <cstring>

#include "npu/machine.h"

namespace frazil::npu {
namespace {

void CopyRows(const Issue& issue, const Pointers& p) {
  const int64_t rows = int64_t(issue.v[2]), bytes = int64_t(issue.v[3]);
  const int64_t pad = issue.op == Op::kLD ? int64_t(issue.v[6]) : 0;
  char* to = p.at[0];
  const char* from = p.at[1];
  if (pad == 0 && p.stride[0] == bytes && p.stride[1] == bytes) {
    std::memcpy(to, from, size_t(rows * bytes));
    return;
  }
  for (int64_t r = 0; r < rows; ++r, to += p.stride[0], from += p.stride[1]) {
    std::memmove(to, from, size_t(bytes));
    if (pad) std::memset(to + bytes, 0, size_t(pad));
  }
}

// A tile of `outer` x `inner` elements into fractals of 16 outer x 32 bytes of inner. Element (o,
// i) lies at from + o * outer_step + i * inner_step; fractals that follow each other along inner
// are `inner_stride` fractals apart, along outer `outer_stride`.
struct Packing {
  const char* from;
  int64_t outer_step, inner_step;
  int64_t outer, inner;
  int64_t outer_stride, inner_stride;
};

template <typename T>
void PackRow(const Packing& t, int64_t o, int64_t i, int64_t count, char* to) {
  const char* from = t.from + o * t.outer_step + i * t.inner_step;
  if (t.inner_step == int64_t(sizeof(T))) {
    std::memcpy(to, from, size_t(count) * sizeof(T));
  } else {
    for (int64_t j = 0; j < count; ++j)
      std::memcpy(to + j * int64_t(sizeof(T)), from + j * t.inner_step, sizeof(T));
  }
  std::memset(to + size_t(count) * sizeof(T), 0, 32 - size_t(count) * sizeof(T));
}

template <typename T>
void Pack(const Packing& t, char* to) {
  constexpr int64_t kInner = 32 / int64_t(sizeof(T));
  for (int64_t o = 0; o < (t.outer + 15) / 16 * 16; ++o) {
    for (int64_t i = 0; i < t.inner; i += kInner) {
      char* row = to + (o / 16 * t.outer_stride + i / kInner * t.inner_stride) * 512 + o % 16 * 32;
      if (o < t.outer) {
        PackRow<T>(t, o, i, std::min(kInner, t.inner - i), row);
      } else {
        std::memset(row, 0, 32);
      }
    }
  }
}

void PackOperand(const Issue& issue, const Pointers& p) {
  const int64_t es = SizeOf(issue.type()), k0 = FractalK(issue.type());
  const bool left = issue.op == Op::kXA, transposed = issue.fn & kTransposed;
  const int64_t k = int64_t(issue.v[left ? 3 : 2]);
  // Of the left operand rows are outermost, of the right one columns; k is inner for both.
  const int64_t outer = int64_t(issue.v[left ? 2 : 3]);
  const bool k_adjacent = left != transposed;
  const int64_t ld = p.stride[1];
  Packing t{p.at[1], k_adjacent ? ld : es, k_adjacent ? es : ld, outer, k, 0, 0};
  t.outer_stride = left ? (k + k0 - 1) / k0 : 1;
  t.inner_stride = left ? 1 : (outer + 15) / 16;
  if (es == 1) return Pack<uint8_t>(t, p.at[0]);
  if (es == 2) return Pack<uint16_t>(t, p.at[0]);
  Pack<uint32_t>(t, p.at[0]);
}

}  // namespace

bool Move(const Issue& issue, const Pointers& p) {
  if (issue.op == Op::kXA || issue.op == Op::kXB) {
    PackOperand(issue, p);
  } else {
    CopyRows(issue, p);
  }
  return true;
}

}  // namespace frazil::npu
