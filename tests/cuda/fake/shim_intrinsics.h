// CUDA's intrinsics of one thread. Part of shim.h.
#pragma once

inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return unsigned((unsigned long long)a * b >> 32);
}
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(unsigned(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }

#define FZ_AS(name, To, From)                  \
  inline To name(From x) {                     \
    static_assert(sizeof(To) == sizeof(From)); \
    To to;                                     \
    memcpy(&to, &x, sizeof(to));               \
    return to;                                 \
  }
FZ_AS(__float_as_int, int, float)
FZ_AS(__float_as_uint, unsigned, float)
FZ_AS(__int_as_float, float, int)
FZ_AS(__uint_as_float, float, unsigned)
FZ_AS(__double_as_longlong, long long, double)
FZ_AS(__longlong_as_double, double, long long)
#undef FZ_AS

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __drcp_rn(double a) { return 1.0 / a; }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }

// Loads and stores with a cache hint.
#define FZ_LOAD(name)  \
  template <class T>   \
  T name(const T* p) { \
    return *p;         \
  }
FZ_LOAD(__ldg)
FZ_LOAD(__ldcg)
FZ_LOAD(__ldca)
FZ_LOAD(__ldcs)
FZ_LOAD(__ldlu)
FZ_LOAD(__ldcv)
#undef FZ_LOAD
#define FZ_STORE(name)       \
  template <class T>         \
  void name(T* p, T value) { \
    *p = value;              \
  }
FZ_STORE(__stcg)
FZ_STORE(__stcs)
FZ_STORE(__stwb)
FZ_STORE(__stwt)
#undef FZ_STORE
