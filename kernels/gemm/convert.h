// Element reads and writes of the float GEMM: what is stored (S) against what is computed in (T).
// Called by kernels/gemm/*.cc. Invariant: widening is exact; narrowing rounds once, as core/dtype.h
// does.
#pragma once

#include <bit>
#include <cstdint>

#include "core/dtype.h"

namespace frazil::gemm {

// The type that elements of type S accumulate in.
template <typename S>
struct AccOf {
  using type = S;
};
template <>
struct AccOf<Half> {
  using type = float;
};
template <>
struct AccOf<BFloat16> {
  using type = float;
};
template <typename S>
using Acc = typename AccOf<S>::type;

inline float Widen(float x) { return x; }
inline double Widen(double x) { return x; }
inline float Widen(BFloat16 x) { return std::bit_cast<float>(uint32_t(x.bits) << 16); }
inline float Widen(Half x) { return ToFloat(x); }

inline void Narrow(float x, float* out) { *out = x; }
inline void Narrow(double x, double* out) { *out = x; }
inline void Narrow(float x, Half* out) { *out = ToHalf(double(x)); }
inline void Narrow(float x, BFloat16* out) { *out = ToBFloat16(double(x)); }

// Runs of adjacent elements.
void WidenRun(const float* src, int64_t n, float* dst);
void WidenRun(const double* src, int64_t n, double* dst);
void WidenRun(const BFloat16* src, int64_t n, float* dst);
void WidenRun(const Half* src, int64_t n, float* dst);
void NarrowRun(const float* src, int64_t n, float* dst);
void NarrowRun(const double* src, int64_t n, double* dst);
void NarrowRun(const float* src, int64_t n, BFloat16* dst);
void NarrowRun(const float* src, int64_t n, Half* dst);

// Rows of a product on tiles, `ld` words apart, to rows of elements `stride` apart; on a machine
// with AMX. Floats are not subnormal; integers lose their upper bits.
void NarrowTile(const float* words, int64_t ld, int64_t rows, int64_t cols, BFloat16* to,
                int64_t stride);
void NarrowTile(const float* words, int64_t ld, int64_t rows, int64_t cols, uint8_t* to,
                int64_t stride);

// A strided matrix of S.
template <typename S>
struct View {
  const S* data;
  int64_t rs, cs;
  const S* At(int64_t i, int64_t j) const { return data + i * rs + j * cs; }
  View Transposed() const { return {data, cs, rs}; }
};

}  // namespace frazil::gemm
