#include "kernels/order/scan.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/cost.h"
#include "core/cpu.h"
#include "core/threads/parallel.h"

#define FZ_AVX2 __attribute__((target("avx2")))

namespace frazil {
namespace {

constexpr int64_t kBlock = 64;
constexpr int64_t kPadded = 12;  // from so many elements on a block is filled up to 64

template <typename T, bool product>
T Op(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Wide = std::common_type_t<T, unsigned>;  // int would overflow
    return static_cast<T>(product ? Wide{a} * Wide{b} : Wide{a} + Wide{b});
  } else {
    return product ? a * b : a + b;
  }
}
// What changes no element: -0 for sums of floats.
template <typename T, bool product>
constexpr T kIdentity = product                       ? T(1)
                        : std::is_floating_point_v<T> ? T(-0.0)
                                                      : T(0);

// The rounds over up to 64 elements, `step` apart, one after the other.
template <typename T, bool product>
void Rounds(T* x, int64_t n) {
  for (int64_t d = 1; d < n; d *= 2) {
    for (int64_t i = n; i-- > d;) x[i] = Op<T, product>(x[i - d], x[i]);
  }
}

// The same over 64 elements in vectors: rounds below a vector's width take lanes from the one
// before.
template <typename T>
struct Lanes {
  static constexpr int kCount = 32 / sizeof(T);
  typedef T Vec __attribute__((vector_size(32), aligned(alignof(T)), may_alias));
};

template <typename T, int shift, int... lane>
FZ_AVX2 inline typename Lanes<T>::Vec Shifted(typename Lanes<T>::Vec before,
                                              typename Lanes<T>::Vec v,
                                              std::integer_sequence<int, lane...>) {
  return __builtin_shufflevector(before, v, (Lanes<T>::kCount - shift + lane)...);
}

template <typename T, bool product, int shift>
FZ_AVX2 inline void Round(typename Lanes<T>::Vec* v) {
  using Vec = typename Lanes<T>::Vec;
  constexpr int kCount = Lanes<T>::kCount, kVectors = kBlock / kCount;
#pragma GCC unroll 16
  for (int i = kVectors - 1; i >= 0; --i) {
    const Vec before = i == 0 ? kIdentity<T, product> - Vec{} : v[i == 0 ? 0 : i - 1];
    const Vec a = Shifted<T, shift>(before, v[i], std::make_integer_sequence<int, kCount>());
    v[i] = product ? a * v[i] : a + v[i];
  }
}

template <typename T, bool product>
FZ_AVX2 void Block(const T* x, T* out) {
  using Vec = typename Lanes<T>::Vec;
  constexpr int kCount = Lanes<T>::kCount, kVectors = kBlock / kCount;
  Vec v[kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kVectors; ++i) v[i] = *reinterpret_cast<const Vec*>(x + i * kCount);
  Round<T, product, 1>(v);
  Round<T, product, 2>(v);
  if constexpr (kCount == 8) Round<T, product, 4>(v);
#pragma GCC unroll 8
  for (int d = 1; d < kVectors; d *= 2) {
#pragma GCC unroll 16
    for (int i = kVectors - 1; i >= d; --i) v[i] = product ? v[i - d] * v[i] : v[i - d] + v[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < kVectors; ++i) *reinterpret_cast<Vec*>(out + i * kCount) = v[i];
}

// `x` may be `out`.
template <typename T, bool product>
void ScanBlock(const T* x, int64_t n, T* out) {
  if constexpr (sizeof(T) >= 4) {
    if (n >= kPadded && Cpu().avx2) {
      if (n == kBlock) return Block<T, product>(x, out);
      T padded[kBlock];
      std::copy(x, x + n, padded);
      std::fill(padded + n, padded + kBlock, kIdentity<T, product>);
      Block<T, product>(padded, padded);
      std::copy(padded, padded + n, out);
      return;
    }
  }
  if (x != out) std::copy(x, x + n, out);
  Rounds<T, product>(out, n);
}

// out[i] = a[i] op b[i]; without overlap, or the same.
template <typename T, bool product>
__attribute__((always_inline)) inline void RowsHere(const T* a, const T* b, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = Op<T, product>(a[i], b[i]);
}
template <typename T, bool product>
FZ_AVX2 void RowsAvx2(const T* a, const T* b, T* out, int64_t n) {
  RowsHere<T, product>(a, b, out, n);
}
template <typename T, bool product>
void Rows(const T* a, const T* b, T* out, int64_t n) {
  if (Cpu().avx2) return RowsAvx2<T, product>(a, b, out, n);
  RowsHere<T, product>(a, b, out, n);
}

// A block of up to 64 rows, `inner` apart, in columns [begin, end).
template <typename T, bool product>
void ScanRows(const T* x, int64_t n, int64_t inner, int64_t begin, int64_t end, T* out) {
  const auto bytes = static_cast<size_t>(end - begin) * sizeof(T);
  if (x != out) {
    for (int64_t i = 0; i < n; ++i)
      std::memcpy(out + i * inner + begin, x + i * inner + begin, bytes);
  }
  for (int64_t d = 1; d < n; d *= 2) {
    for (int64_t i = n; i-- > d;) {
      T* const row = out + i * inner + begin;
      Rows<T, product>(row - d * inner, row, row, end - begin);
    }
  }
}

// Blocks by themselves, then the blocks' totals, then each with the total of those before it.
template <typename T, bool product>
void ScanAll(const T* x, int64_t outer, int64_t n, int64_t inner, T* out) {
  if (outer * n * inner == 0) return;
  constexpr int64_t kColumns = 512 / sizeof(T);  // 64 rows of them stay near
  const int64_t blocks = (n + kBlock - 1) / kBlock, strips = (inner + kColumns - 1) / kColumns;
  const int64_t of_block = std::min(n, kBlock) * std::min(inner, kColumns);
  const int64_t grain = std::max<int64_t>(1, cost::kPart * 2 / of_block);
  std::vector<T> totals(static_cast<size_t>(blocks > 1 ? outer * blocks * inner : 0));
  const auto each = [&](const auto& body) {  // (block, its first element, rows, columns)
    ParallelFor(outer * blocks * strips, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t strip = i % strips, block = i / strips, of_row = block % blocks;
        const int64_t first = (block / blocks * n + of_row * kBlock) * inner;
        body(block, first, std::min(kBlock, n - of_row * kBlock), strip * kColumns,
             std::min(inner, (strip + 1) * kColumns));
      }
    });
  };
  each([&](int64_t block, int64_t first, int64_t rows, int64_t begin, int64_t end) {
    if (inner == 1) {
      ScanBlock<T, product>(x + first, rows, out + first);
    } else {
      ScanRows<T, product>(x + first, rows, inner, begin, end, out + first);
    }
    if (blocks == 1) return;
    const T* const last = out + first + (rows - 1) * inner;
    std::copy(last + begin, last + end, totals.data() + block * inner + begin);
  });
  if (blocks == 1) return;
  ScanAll<T, product>(totals.data(), outer, blocks, inner, totals.data());
  each([&](int64_t block, int64_t first, int64_t rows, int64_t begin, int64_t end) {
    if (block % blocks == 0) return;
    const T* const before = totals.data() + (block - 1) * inner;
    T* const to = out + first;
    if (inner == 1) {
      T row[kBlock];
      std::fill(row, row + kBlock, *before);
      Rows<T, product>(row, to, to, rows);
    } else {
      for (int64_t i = 0; i < rows; ++i)
        Rows<T, product>(before + begin, to + i * inner + begin, to + i * inner + begin,
                         end - begin);
    }
  });
}

template <typename T>
void Run(const ScanArgs& a) {
  const auto* x = reinterpret_cast<const T*>(a.x);
  auto* out = reinterpret_cast<T*>(a.out);
  if (a.product) {
    ScanAll<T, true>(x, a.outer, a.n, a.inner, out);
  } else {
    ScanAll<T, false>(x, a.outer, a.n, a.inner, out);
  }
}

template <typename H>
void RunHalf(const ScanArgs& a) {
  const int64_t size = a.outer * a.n * a.inner;
  const auto* x = reinterpret_cast<const H*>(a.x);
  std::vector<float> wide(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) wide[i] = ToFloat(x[i]);
  ScanArgs args = a;
  args.x = args.out = reinterpret_cast<char*>(wide.data());
  Run<float>(args);
  auto* out = reinterpret_cast<H*>(a.out);
  for (int64_t i = 0; i < size; ++i) {
    if constexpr (std::is_same_v<H, Half>) {
      out[i] = ToHalf(double{wide[i]});
    } else {
      out[i] = ToBFloat16(double{wide[i]});
    }
  }
}

}  // namespace

void Scan(const ScanArgs& args) {
  switch (args.dtype) {
    case DType::kF16:
      return RunHalf<Half>(args);
    case DType::kBF16:
      return RunHalf<BFloat16>(args);
    case DType::kF32:
      return Run<float>(args);
    case DType::kF64:
      return Run<double>(args);
    default:
      break;
  }
  switch (SizeOf(args.dtype)) {
    case 1:
      return Run<uint8_t>(args);
    case 2:
      return Run<uint16_t>(args);
    case 4:
      return Run<uint32_t>(args);
    default:
      return Run<uint64_t>(args);
  }
}

}  // namespace frazil
