#include "kernels/gemm/reference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <type_traits>
#include <vector>

#include "core/check.h"
#include "core/cpu.h"
#include "kernels/gemm/convert.h"
#include "kernels/gemm/pairs_rule.h"

namespace frazil::gemm {
namespace {

// The sum rule over a list: 64 lanes within 4096 terms, and the same again over groups of 4096.
template <typename T, typename Add>
T SumRule(std::vector<T> terms, const Add& add) {
  std::vector<T> sums;
  for (size_t start = 0; start < terms.size(); start += 4096) {
    T lane[64];
    std::fill(lane, lane + 64, T(-0.0));
    size_t end = std::min(terms.size(), start + 4096);
    for (size_t c = start; c < end; ++c)
      lane[(c - start) % 64] = add(lane[(c - start) % 64], terms[c]);
    for (int width = 32; width >= 1; width /= 2) {
      for (int i = 0; i < width; ++i) lane[i] = add(lane[i], lane[i + width]);
    }
    sums.push_back(lane[0]);
  }
  return sums.size() == 1 ? sums[0] : SumRule(sums, add);
}

template <typename S>
S Dot(const S* a, int64_t a_step, const S* b, int64_t b_step, int64_t k) {
  uint64_t acc = 0;
  for (int64_t p = 0; p < k; ++p) acc += uint64_t(a[p * a_step]) * uint64_t(b[p * b_step]);
  return S(acc);
}

// One term of n sums. Tests wait for it: the same with the processor's instruction instead of calls.
template <typename T>
void AddTerm(T x, const T* b, int64_t n, T* sums) {
  for (int64_t j = 0; j < n; ++j) sums[j] = std::fma(x, b[j], sums[j]);
}
template <typename T>
__attribute__((target("avx2,fma"))) void AddTermAvx2(T x, const T* b, int64_t n, T* sums) {
  for (int64_t j = 0; j < n; ++j) sums[j] = std::fma(x, b[j], sums[j]);
}

template <typename S>
void RunFloats(const GemmArgs& g) {
  using T = Acc<S>;
  const auto add_term = Cpu().avx2 ? AddTermAvx2<T> : AddTerm<T>;
  const auto at = [](const MatrixRef& x, int64_t i, int64_t j) {
    return static_cast<S*>(x.data) + i * x.row_stride + j * x.col_stride;
  };
  std::vector<T> b(size_t(g.k * g.n)), sums(static_cast<size_t>(g.n));
  for (int64_t p = 0; p < g.k; ++p)
    for (int64_t j = 0; j < g.n; ++j) b[size_t(p * g.n + j)] = Widen(*at(g.b, p, j));
  for (int64_t i = 0; i < g.m; ++i) {
    std::vector<std::vector<T>> chunks(static_cast<size_t>(g.n));  // of each column
    for (int64_t start = 0; start == 0 || start < g.k; start += 4096) {
      std::fill(sums.begin(), sums.end(), T(0));
      for (int64_t p = start; p < std::min(g.k, start + 4096); ++p)
        add_term(Widen(*at(g.a, i, p)), b.data() + p * g.n, g.n, sums.data());
      for (size_t j = 0; j < sums.size(); ++j) chunks[j].push_back(sums[j]);
    }
    for (int64_t j = 0; j < g.n; ++j)
      Narrow(SumRule(std::move(chunks[size_t(j)]), std::plus<>()), at(g.c, i, j));
  }
}

BFloat16 PairsDot(const BFloat16* a, int64_t a_step, const BFloat16* b, int64_t b_step, int64_t k) {
  std::vector<float> chunks;
  for (int64_t start = 0; start == 0 || start < k; start += 4096) {
    chunks.push_back(PairsChunk(
        std::min<int64_t>(4096, k - start),
        [&](int64_t p) { return Widen(a[(start + p) * a_step]); },
        [&](int64_t p) { return Widen(b[(start + p) * b_step]); }));
  }
  BFloat16 out;
  Narrow(SumRule(std::move(chunks), FlushedAdd), &out);
  return out;
}

void RunWide(const GemmArgs& g) {
  const auto* a = static_cast<const int8_t*>(g.a.data);
  const auto* b = static_cast<const int8_t*>(g.b.data);
  for (int64_t i = 0; i < g.m; ++i) {
    for (int64_t j = 0; j < g.n; ++j) {
      int64_t sum = 0;
      for (int64_t p = 0; p < g.k; ++p)
        sum += int64_t(a[i * g.a.row_stride + p * g.a.col_stride]) *
               b[p * g.b.row_stride + j * g.b.col_stride];
      static_cast<uint32_t*>(g.c.data)[i * g.c.row_stride + j * g.c.col_stride] = uint32_t(sum);
    }
  }
}

template <typename S>
void RunDots(const GemmArgs& g, S (*dot)(const S*, int64_t, const S*, int64_t, int64_t)) {
  const S* a = static_cast<const S*>(g.a.data);
  const S* b = static_cast<const S*>(g.b.data);
  S* c = static_cast<S*>(g.c.data);
  for (int64_t i = 0; i < g.m; ++i) {
    for (int64_t j = 0; j < g.n; ++j) {
      c[i * g.c.row_stride + j * g.c.col_stride] =
          dot(a + i * g.a.row_stride, g.a.col_stride, b + j * g.b.col_stride, g.b.row_stride, g.k);
    }
  }
}

template <typename S>
void Run(const GemmArgs& g) {
  if constexpr (std::is_integral_v<S>) return RunDots(g, Dot<S>);
  if constexpr (std::is_same_v<S, BFloat16>) {
    if (g.pairs) return RunDots(g, PairsDot);
  }
  if constexpr (!std::is_integral_v<S>) RunFloats<S>(g);
}

}  // namespace

void ReferenceGemm(const GemmArgs& args) {
  if (args.wide) return RunWide(args);
  switch (args.dtype) {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind)                       \
  case DType::E:                                                            \
    if constexpr (DTypeKind::kind != DTypeKind::kBool) return Run<T>(args); \
    break;
#include "core/dtypes.def"
#undef FZ_DTYPE
    default:
      break;
  }
  FZ_CHECK(false && "no matmul of bool or complex numbers");
}

}  // namespace frazil::gemm
