// MMUL: unpacks fractals into panels and runs the inner loops.
#include "npu/matrix.h"

#include <algorithm>
#include <cstring>

#include "kernels/gemm/convert.h"
#include "npu/machine.h"

namespace frazil::npu {
namespace {

// Fractals of one operand: (b, kb) is 16 rows of A or columns of B by 32 bytes of k.
struct Fractals {
  const char* data;
  int64_t blocks, k_blocks;
  int64_t block_stride, k_stride;  // in fractals
  const char* At(int64_t b, int64_t kb) const {
    return data + (b * block_stride + kb * k_stride) * 512;
  }
};

template <typename S>
void FloatPanels(const Fractals& f, float* to) {
  constexpr int64_t kInner = 32 / int64_t(sizeof(S));
  float rows[16 * kInner];
  for (int64_t b = 0; b < f.blocks; ++b) {
    for (int64_t kb = 0; kb < f.k_blocks; ++kb, to += 16 * kInner) {
      gemm::WidenRun(reinterpret_cast<const S*>(f.At(b, kb)), 16 * kInner, rows);
      for (int64_t i = 0; i < kInner; ++i) {
        for (int64_t r = 0; r < 16; ++r) to[i * 16 + r] = rows[r * kInner + i];
      }
    }
  }
}

// Elements from k on are zero.
template <typename S>
void IntegerPanels(const Fractals& f, int64_t k, int16_t* to) {
  for (int64_t b = 0; b < f.blocks; ++b) {
    for (int64_t kb = 0; kb < f.k_blocks; ++kb, to += 16 * 32) {
      const S* rows = reinterpret_cast<const S*>(f.At(b, kb));
      for (int64_t i = 0; i < 32; ++i) {
        const bool present = kb * 32 + i < k;
        for (int64_t r = 0; r < 16; ++r)
          to[i / 2 * 32 + r * 2 + i % 2] = present ? int16_t(rows[r * 32 + i]) : int16_t(0);
      }
    }
  }
}

void Panels(Type type, const Fractals& f, int64_t k, char* to) {
  switch (type) {
    case kF32:
      return FloatPanels<float>(f, reinterpret_cast<float*>(to));
    case kF16:
      return FloatPanels<Half>(f, reinterpret_cast<float*>(to));
    case kBF16:
      return FloatPanels<BFloat16>(f, reinterpret_cast<float*>(to));
    case kI8:
      return IntegerPanels<int8_t>(f, k, reinterpret_cast<int16_t*>(to));
    default:
      return IntegerPanels<uint8_t>(f, k, reinterpret_cast<int16_t*>(to));
  }
}

}  // namespace

bool Multiply(const Issue& issue, const Pointers& p, Scratch* scratch) {
  const int64_t k = int64_t(issue.v[4]), k0 = FractalK(issue.type());
  const int64_t mb = (int64_t(issue.v[3]) + 15) / 16, nb = (int64_t(issue.v[5]) + 15) / 16;
  const int64_t kb = (k + k0 - 1) / k0;
  const bool floats = IsFloat(issue.type());
  const int64_t panel = kb * k0 * 16 * (floats ? 4 : 2);  // bytes
  char* a = scratch->Get((mb + nb) * panel);
  char* b = a + mb * panel;
  Panels(issue.type(), {p.at[1], mb, kb, kb, 1}, k, a);
  Panels(issue.type(), {p.at[2], nb, kb, 1, nb}, k, b);
  const TileKernel kernel = floats ? FloatTile(Host()) : IntegerTile(Host());
  for (int64_t n = 0; n < nb; ++n) {
    for (int64_t m = 0; m < mb; ++m) {
      kernel({a + m * panel, b + n * panel, floats ? k : (k + 1) / 2, (issue.fn & kMatrixAcc) != 0,
              p.at[0] + (n * mb + m) * 1024});
    }
  }
  return true;
}

}  // namespace frazil::npu
