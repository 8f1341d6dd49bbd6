#include "core/str.h"
#include "jit/emit/cuda/cuda.h"
#include "jit/kir/const.h"
#include "kernels/fn_tables.h"

namespace frazil::jit {

// Only what a C++ operator does not already mean: signed arithmetic wraps through unsigned,
// divisions and shifts are defined everywhere, min and max know NaN and -0, conversions saturate.
// FZ_HOST: compiled for the host, where the shim of the tests supplies threads and intrinsics.
namespace {

constexpr std::string_view kPrelude = R"prelude(// frazil device prelude
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef u16 f16;
typedef u16 bf16;
typedef float f32;
typedef double f64;

#ifndef FZ_HOST
// "x < 0" on an unsigned type is meant: templates ask whether a type is signed.
#pragma nv_diag_suppress 186
// Tables that a kernel does not look into.
#pragma nv_diag_suppress 177
#endif
#define FZ_PRAGMA(text) _Pragma(#text)
#define FZ_UNROLL FZ_PRAGMA(unroll)
#define FZ_UNROLL_BY(times) FZ_PRAGMA(unroll times)
#define FZ_DEVICE __device__ inline
#ifdef FZ_HOST
#define FZ_TABLE static const
#else
#define FZ_TABLE static __device__ const
#endif

template <class T> struct fz_unsigned;
template <> struct fz_unsigned<i32> { typedef u32 type; };
template <> struct fz_unsigned<u32> { typedef u32 type; };
template <> struct fz_unsigned<i64> { typedef u64 type; };
template <> struct fz_unsigned<u64> { typedef u64 type; };
#define FZ_U(T) typename fz_unsigned<T>::type

template <class To, class From> FZ_DEVICE To fz_bitcast(From x) {
  To to;
  memcpy(&to, &x, sizeof(to));
  return to;
}
template <class T> FZ_DEVICE T* fz_at(T* p, i64 bytes) { return (T*)((char*)p + bytes); }
template <class T> FZ_DEVICE const T* fz_at(const T* p, i64 bytes) { return (const T*)((const char*)p + bytes); }

// x / d for x >= 0: factor and shift are d's.
FZ_DEVICE int fz_quotient(int x, u32 factor, u32 shift) {
  return (int)((__umulhi((u32)x, factor) + (u32)x) >> shift);
}

// Memory. fetch: what no thread of the launch writes.
template <class T> FZ_DEVICE T fz_fetch(const T* p) { return __ldg(p); }
FZ_DEVICE bool fz_fetch(const bool* p) { return __ldg((const u8*)p) != 0; }
template <int bytes> struct fz_word;
template <> struct fz_word<1> { typedef u8 type; };
template <> struct fz_word<2> { typedef u16 type; };
template <> struct fz_word<4> { typedef u32 type; };
template <> struct fz_word<8> { typedef uint2 type; };
template <> struct fz_word<16> { typedef uint4 type; };
template <class T, int N> struct fz_vec { T v[N]; };
// N neighbours, aligned as far as one access goes.
template <bool fetch, int N, class T> FZ_DEVICE fz_vec<T, N> fz_load(const T* p) {
  constexpr int bytes = N * sizeof(T) < 16 ? N * sizeof(T) : 16, words = N * sizeof(T) / bytes;
  typedef typename fz_word<bytes>::type word;
  word w[words];
  FZ_UNROLL for (int i = 0; i < words; ++i) w[i] = fetch ? __ldg((const word*)p + i) : ((const word*)p)[i];
  fz_vec<T, N> x;
  memcpy(&x, w, sizeof(x));
  return x;
}
template <int N, class T> FZ_DEVICE void fz_store(T* p, const fz_vec<T, N>& x) {
  constexpr int bytes = N * sizeof(T) < 16 ? N * sizeof(T) : 16, words = N * sizeof(T) / bytes;
  typedef typename fz_word<bytes>::type word;
  word w[words];
  memcpy(w, &x, sizeof(x));
  FZ_UNROLL for (int i = 0; i < words; ++i) ((word*)p)[i] = w[i];
}
// The same thread's value in the other half of 2 h lanes.
template <class T> FZ_DEVICE T fz_exchange(T x, int h) { return __shfl_xor_sync(0xffffffffu, x, h); }
FZ_DEVICE bool fz_exchange(bool x, int h) { return __shfl_xor_sync(0xffffffffu, (int)x, h) != 0; }

// Integers.
template <class T> FZ_DEVICE T fz_add(T a, T b) { return (T)((FZ_U(T))a + (FZ_U(T))b); }
template <class T> FZ_DEVICE T fz_sub(T a, T b) { return (T)((FZ_U(T))a - (FZ_U(T))b); }
template <class T> FZ_DEVICE T fz_mul(T a, T b) { return (T)((FZ_U(T))a * (FZ_U(T))b); }
template <class T> FZ_DEVICE T fz_neg(T a) { return (T)((FZ_U(T))0 - (FZ_U(T))a); }
template <class T> FZ_DEVICE T fz_abs(T a) { return a < (T)0 ? fz_neg(a) : a; }
FZ_DEVICE i32 fz_mulhi(i32 a, i32 b) { return __mulhi(a, b); }
FZ_DEVICE u32 fz_mulhi(u32 a, u32 b) { return __umulhi(a, b); }
FZ_DEVICE i64 fz_mulhi(i64 a, i64 b) { return __mul64hi(a, b); }
FZ_DEVICE u64 fz_mulhi(u64 a, u64 b) { return __umul64hi(a, b); }
// (T)-1 < 0 asks whether T is signed.
template <class T> FZ_DEVICE T fz_div(T a, T b) {
  if (b == 0) return 0;
  if ((T)-1 < (T)0 && b == (T)-1) return fz_neg(a);
  return a / b;
}
template <class T> FZ_DEVICE T fz_rem(T a, T b) {
  if (b == 0 || ((T)-1 < (T)0 && b == (T)-1)) return 0;
  return a % b;
}
template <class T> FZ_DEVICE T fz_min(T a, T b) { return a < b ? a : b; }
template <class T> FZ_DEVICE T fz_max(T a, T b) { return a < b ? b : a; }
template <class T> FZ_DEVICE T fz_shl(T a, T b) {
  return (FZ_U(T))b >= 8 * sizeof(T) ? (T)0 : (T)((FZ_U(T))a << (FZ_U(T))b);
}
template <class T> FZ_DEVICE T fz_shr(T a, T b) {
  return (FZ_U(T))b >= 8 * sizeof(T) ? (a < (T)0 ? (T)-1 : (T)0) : (T)(a >> b);
}

// Floats.
FZ_DEVICE bool fz_negative(f32 x) { return fz_bitcast<u32>(x) >> 31; }
FZ_DEVICE bool fz_negative(f64 x) { return fz_bitcast<u64>(x) >> 63; }
template <class T> FZ_DEVICE T fz_float_min(T a, T b) {
  if (a != a) return a;
  if (b != b) return b;
  if (a == b) return fz_negative(a) ? a : b;
  return a < b ? a : b;
}
template <class T> FZ_DEVICE T fz_float_max(T a, T b) {
  if (a != a) return a;
  if (b != b) return b;
  if (a == b) return fz_negative(a) ? b : a;
  return a < b ? b : a;
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// One instruction, which also puts -0 below +0.
FZ_DEVICE f32 fz_min(f32 a, f32 b) {
  f32 x;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(x) : "f"(a), "f"(b));
  return x;
}
FZ_DEVICE f32 fz_max(f32 a, f32 b) {
  f32 x;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(x) : "f"(a), "f"(b));
  return x;
}
#else
FZ_DEVICE f32 fz_min(f32 a, f32 b) { return fz_float_min(a, b); }
FZ_DEVICE f32 fz_max(f32 a, f32 b) { return fz_float_max(a, b); }
#endif
FZ_DEVICE f64 fz_min(f64 a, f64 b) { return fz_float_min(a, b); }
FZ_DEVICE f64 fz_max(f64 a, f64 b) { return fz_float_max(a, b); }
FZ_DEVICE f32 fz_abs(f32 a) { return fabsf(a); }
FZ_DEVICE f64 fz_abs(f64 a) { return fabs(a); }
FZ_DEVICE f32 fz_fma(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
FZ_DEVICE f64 fz_fma(f64 a, f64 b, f64 c) { return fma(a, b, c); }
FZ_DEVICE f32 fz_sqrt(f32 a) { return sqrtf(a); }
FZ_DEVICE f64 fz_sqrt(f64 a) { return sqrt(a); }
FZ_DEVICE f32 fz_floor(f32 a) { return floorf(a); }
FZ_DEVICE f64 fz_floor(f64 a) { return floor(a); }
FZ_DEVICE f32 fz_ceil(f32 a) { return ceilf(a); }
FZ_DEVICE f64 fz_ceil(f64 a) { return ceil(a); }
FZ_DEVICE f32 fz_trunc(f32 a) { return truncf(a); }
FZ_DEVICE f64 fz_trunc(f64 a) { return trunc(a); }
FZ_DEVICE f32 fz_rint(f32 a) { return rintf(a); }
FZ_DEVICE f64 fz_rint(f64 a) { return rint(a); }

// Conversions. `past` is the first power of two beyond the largest T.
template <class T, class F> FZ_DEVICE T fz_saturate(F x, F low, F past, T lowest, T highest) {
  if (x != x) return 0;
  if (x >= past) return highest;
  if (x <= low) return lowest;
  return (T)x;
}
template <class F> FZ_DEVICE i32 fz_to_i32(F x) {
  return fz_saturate<i32>(x, (F)-2147483648.0, (F)2147483648.0, (i32)0x80000000u, 0x7fffffff);
}
template <class F> FZ_DEVICE u32 fz_to_u32(F x) {
  return fz_saturate<u32>(x, (F)0, (F)4294967296.0, 0u, 0xffffffffu);
}
template <class F> FZ_DEVICE i64 fz_to_i64(F x) {
  return fz_saturate<i64>(x, (F)-9223372036854775808.0, (F)9223372036854775808.0, (i64)0x8000000000000000ull,
                          0x7fffffffffffffffll);
}
template <class F> FZ_DEVICE u64 fz_to_u64(F x) {
  return fz_saturate<u64>(x, (F)0, (F)18446744073709551616.0, 0ull, 0xffffffffffffffffull);
}
FZ_DEVICE f32 fz_bf16_to_f32(bf16 x) { return fz_bitcast<f32>((u32)x << 16); }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
FZ_DEVICE bf16 fz_f32_to_bf16(f32 x) {
  bf16 y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
#else
FZ_DEVICE bf16 fz_f32_to_bf16(f32 x) {
  if (x != x) return 0x7fc0;
  u32 bits = fz_bitcast<u32>(x);
  return (bf16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
#endif
#ifdef __CUDA_ARCH__
FZ_DEVICE f32 fz_f16_to_f32(f16 x) {
  f32 y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
FZ_DEVICE f16 fz_f32_to_f16(f32 x) {
  f16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
#else
FZ_DEVICE f32 fz_f16_to_f32(f16 x) {
  u32 sign = (u32)(x & 0x8000) << 16, rest = x & 0x7fffu;
  if (rest >= 0x7c00u) return fz_bitcast<f32>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  if (rest >= 0x0400u) return fz_bitcast<f32>(sign | ((rest << 13) + 0x38000000u));
  f32 small = (f32)rest * 5.9604644775390625e-08f;
  return sign ? -small : small;
}
FZ_DEVICE f16 fz_f32_to_f16(f32 x) {
  if (x != x) return 0x7e00;
  u32 bits = fz_bitcast<u32>(x), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  if (rest >= 0x477ff000u) return (f16)(sign | 0x7c00u);
  if (rest >= 0x38800000u) {
    return (f16)(sign | ((rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13));
  }
  // Below 2^-14 one unit of the result is 2^-24: adding 1/2 lets the hardware round at that place.
  f32 shifted = fz_bitcast<f32>(rest) + 0.5f;
  return (f16)(sign | (fz_bitcast<u32>(shifted) - 0x3f000000u));
}
#endif
)prelude";

// kernels/fn_tables.def by its bits; the compiler drops what a kernel does not look into.
std::string Tables() {
  std::string text;
  for (int table = 0; table < fn::kNumTables; ++table) {
    StrAppend(&text, "FZ_TABLE u32 fz_table", table, "[] = {");
    for (const float entry : fn::kTables[table])
      StrAppend(&text, kir::BitsFromDouble(DType::kF32, entry), "u, ");
    text += "};\n";
  }
  return text;
}

}  // namespace

std::string_view CudaPrelude() {
  static const std::string* const prelude = new std::string(StrCat(kPrelude, Tables()));
  return *prelude;
}

}  // namespace frazil::jit
