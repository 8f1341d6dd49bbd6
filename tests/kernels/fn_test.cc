// The functions of kernels/fn.h against references of higher precision: the bounds of
// kernels/fn.def, special values. f32: every 4097th bit pattern (all of them:
// tests/python/every_float32.py) against libm in double. f64: random arguments and hard cases against libm in long double.
#include "kernels/fn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tests/kernels/fn_check.h"
#include "tests/kernels/scalar_v.h"

namespace frazil {
namespace {

template <class T>
T Call(Fn f, T a, T b = 0) {
  return CallFn(f, ScalarV::Of(a), ScalarV::Of(b)).template As<T>();
}

// ---- f32, one argument ----

void CheckF32(const Reference& ref) {
  std::vector<float> x, got;
  for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 4097) {
    x.push_back(std::bit_cast<float>(uint32_t(bits)));
  }
  // Around the ends of the binades.
  for (int e = 0; e < 256; ++e) {
    for (int64_t d = -3; d <= 3; ++d) {
      const uint32_t bits = uint32_t((int64_t(e) << 23) + d);
      x.push_back(std::bit_cast<float>(bits));
      x.push_back(std::bit_cast<float>(bits ^ 0x80000000u));
    }
  }
  got.reserve(x.size());
  for (float v : x) got.push_back(Call(ref.fn, v));
  Worst worst;
  AddErrors(ref.f32, x.data(), got.data(), int64_t(x.size()), &worst);
  Expect(ref.fn, "f32", worst, kBounds[int(ref.fn)].f32);
}

TEST(Fn, F32) {
  for (const Reference& ref : kReferences) CheckF32(ref);
}

// ---- f64, one argument ----

void CheckF64(Fn f, double lo, double hi, const std::vector<double>& hard) {
  const auto ref = std::find_if(std::begin(kReferences), std::end(kReferences),
                                [&](const Reference& r) { return r.fn == f; });
  std::mt19937_64 random(20);
  Worst worst;
  auto check = [&](double x) { worst.Add(UlpError(Call(f, x), ref->f64(x)), x); };
  const int count = Nightly() ? 3000000 : 20000;
  for (int i = 0; i < count; ++i) {
    double uniform = double(random() >> 11) * 0x1p-53;
    check(std::bit_cast<double>(random()));                            // every exponent
    check(lo + (hi - lo) * uniform);                                   // where the function lives
    check(std::ldexp(lo + (hi - lo) * uniform, -int(random() % 40)));  // and towards 0
  }
  for (int e = 0; e < 2048; ++e) {
    for (int64_t d = -2; d <= 2; ++d) {
      double x = std::bit_cast<double>((uint64_t(e) << 52) + uint64_t(d));
      check(x);
      check(-x);
    }
  }
  for (double x : hard) {
    for (int i = 0; i < 8; ++i, x = std::nextafter(x, 1e308)) check(x), check(-x);
  }
  Expect(f, "f64", worst, kBounds[int(f)].f64);
}

// Multiples of pi / 2 and the double nearest to one, relative to its size (6381956970095103 *
// 2^797).
std::vector<double> HardAngles() {
  std::vector<double> angles = {std::ldexp(6381956970095103.0, 797), 0x1.6ac5b262ca1ffp+849, 1e22,
                                1e300};
  for (int k = 1; k < 400; ++k) angles.push_back(k * 1.5707963267948966);
  for (double k = 1; k < 1e15; k *= 1.7) angles.push_back(std::rint(k) * 1.5707963267948966);
  return angles;
}

TEST(Fn, ExpF64) { CheckF64(Fn::kExp, -746, 710, {709.782712893384, -708.3964185322641, -745.13}); }
TEST(Fn, Expm1F64) { CheckF64(Fn::kExpm1, -40, 40, {0.34657359027997264, 709.782712893384, 37.4}); }
TEST(Fn, LogF64) {
  CheckF64(Fn::kLog, 0.5, 2, {0.9999999999999994, 0.7071067811865475, 1.4142135623730945});
}
TEST(Fn, Log1pF64) { CheckF64(Fn::kLog1p, -0.999, 2, {0.41421356237309, 0.2928932188134524}); }
TEST(Fn, SinF64) { CheckF64(Fn::kSin, -100, 100, HardAngles()); }
TEST(Fn, CosF64) { CheckF64(Fn::kCos, -100, 100, HardAngles()); }
TEST(Fn, TanF64) { CheckF64(Fn::kTan, -100, 100, HardAngles()); }
TEST(Fn, AtanF64) {
  CheckF64(Fn::kAtan, -4, 4, {0.41421356237309498, 1, 2.414213562373095, 0x1p53, 0x1p60});
}
TEST(Fn, TanhF64) { CheckF64(Fn::kTanh, -22, 22, {0.17328679513998632, 19.0615, 21.9999}); }
TEST(Fn, Log2F64) { CheckF64(Fn::kLog2, 0.5, 2, {0.9999999999999994, 0.7071067811865475}); }
TEST(Fn, Log10F64) { CheckF64(Fn::kLog10, 0.25, 4, {0.9999999999999994, 1.4142135623730945}); }
TEST(Fn, AsinF64) { CheckF64(Fn::kAsin, -1, 1, {0.4999999999999998, 0.9999999999999991}); }
TEST(Fn, AcosF64) { CheckF64(Fn::kAcos, -1, 1, {0.4999999999999998, 0.9999999999999991}); }
TEST(Fn, SinhF64) { CheckF64(Fn::kSinh, -4, 4, {0.9999999999999996, 40, 709.7827, 710.4758}); }
TEST(Fn, CoshF64) { CheckF64(Fn::kCosh, -4, 4, {0.34657359027997264, 40, 709.7827, 710.4758}); }
TEST(Fn, AsinhF64) { CheckF64(Fn::kAsinh, -4, 4, {0x1p-28, 1, 0x1p60, 1e308}); }
TEST(Fn, AcoshF64) { CheckF64(Fn::kAcosh, 1, 4, {1, 1.4142135623730945, 0x1p60, 1e308}); }
TEST(Fn, AtanhF64) { CheckF64(Fn::kAtanh, -1, 1, {0x1p-28, 0.5, 0.9999999999999991}); }
TEST(Fn, RsqrtF64) { CheckF64(Fn::kRsqrt, 0.25, 4, {1, 0x1p-1022, 0x1.fffffffffffffp1023}); }
TEST(Fn, SigmoidF64) { CheckF64(Fn::kSigmoid, -40, 40, {0.34657359027997264, 37.4, 745.13}); }
TEST(Fn, ErfF64) { CheckF64(Fn::kErf, -6.1, 6.1, {0.9999999999999996, 5.9215871957945}); }

// ---- pow ----

template <class T>
void CheckPow(double bound, double top) {
  std::mt19937_64 random(21);
  Worst worst;
  const int count = Nightly() ? 3000000 : 20000;
  for (int i = 0; i < count; ++i) {
    auto uniform = [&] { return double(random() >> 11) * 0x1p-53; };
    T x;
    switch (i % 4) {
      case 0:
        x = sizeof(T) == 8 ? T(std::bit_cast<double>(random() >> 1))
                           : T(std::bit_cast<float>(uint32_t(random() >> 33)));
        break;
      case 1:
        x = T(std::exp2(20 * (uniform() - 0.5)));
        break;
      case 2:
        x = T(1 + 1e-3 * (uniform() - 0.5));
        break;
      default:
        x = T(1 + std::ldexp(uniform() - 0.5, -int(random() % 30)));
        break;
    }
    double log_x = std::log(double(x));
    if (!(log_x != 0 && std::isfinite(log_x))) continue;
    // The result spread over the whole range and a little beyond both ends.
    T y = T(top * (2 * uniform() - 1) / log_x);
    if (i % 5 == 0) y = std::trunc(y);
    if (std::trunc(y) == y && i % 2) x = -x;
    T got = Call<T>(Fn::kPow, x, y);
    Wide exact = std::pow(Wide(x), Wide(y));
    worst.Add(UlpError(got, exact), x, y);
  }
  Expect(Fn::kPow, sizeof(T) == 8 ? "f64" : "f32", worst, bound);
}

TEST(Fn, PowF32) { CheckPow<float>(kBounds[int(Fn::kPow)].f32, 106); }
TEST(Fn, PowF64) { CheckPow<double>(kBounds[int(Fn::kPow)].f64, 747); }

// C99 annex F.9.4.4 by way of libm, on the product of all interesting arguments.
template <class T>
void CheckPowSpecial() {
  using L = std::numeric_limits<T>;
  std::vector<T> values;
  for (T v : {T(0),
              L::denorm_min(),
              L::min(),
              T(0.5),
              T(0.75),
              1 - L::epsilon() / 2,
              T(1),
              1 + L::epsilon(),
              T(1.5),
              T(2),
              T(3),
              T(4),
              T(7),
              T(1.0 / 3),
              T(1e10),
              1 / L::epsilon(),
              1 / L::epsilon() + 1,
              2 / L::epsilon(),
              2 / L::epsilon() + 2,
              L::max(),
              L::infinity(),
              L::quiet_NaN()}) {
    values.push_back(v);
    values.push_back(-v);
  }
  for (T x : values) {
    for (T y : values) {
      T got = Call<T>(Fn::kPow, x, y);
      T want = std::pow(x, y);
      if (want != want || want == 0 || std::isinf(want)) {
        EXPECT_TRUE(want != want ? got != got
                                 : got == want && std::signbit(got) == std::signbit(want))
            << x << "^" << y << " = " << got << ", not " << want;
      } else {
        EXPECT_LE(std::fabs(got - want), 2 * std::fabs(std::nextafter(want, T(0)) - want))
            << x << "^" << y;
      }
    }
  }
}

TEST(Fn, PowSpecial) {
  CheckPowSpecial<float>();
  CheckPowSpecial<double>();
}

// ---- exact values and ranges ----

template <class T>
void ExpectSame(Fn f, T x, T want) {
  T got = Call<T>(f, x);
  EXPECT_TRUE(want != want ? got != got : got == want && std::signbit(got) == std::signbit(want))
      << kNames[int(f)] << "(" << x << ") = " << got << ", not " << want;
}

template <class T>
void CheckSpecial() {
  using L = std::numeric_limits<T>;
  const T inf = L::infinity(), nan = L::quiet_NaN(), zero = 0, tiny = L::denorm_min();
  for (Fn f :
       {Fn::kExp,  Fn::kExpm1, Fn::kLog,   Fn::kLog1p, Fn::kSin,   Fn::kCos,   Fn::kTan,
        Fn::kTanh, Fn::kErf,   Fn::kAtan,  Fn::kLog2,  Fn::kLog10, Fn::kAsin,  Fn::kAcos,
        Fn::kSinh, Fn::kCosh,  Fn::kAsinh, Fn::kAcosh, Fn::kAtanh, Fn::kRsqrt, Fn::kSigmoid}) {
    ExpectSame(f, nan, nan);
    ExpectSame(f, -nan, nan);
  }
  for (Fn f : {Fn::kExpm1, Fn::kLog1p, Fn::kSin, Fn::kTan, Fn::kTanh, Fn::kErf, Fn::kAtan,
               Fn::kAsin, Fn::kSinh, Fn::kAsinh, Fn::kAtanh}) {
    ExpectSame(f, zero, zero);
    ExpectSame(f, -zero, -zero);
    ExpectSame(f, tiny, tiny);
    ExpectSame(f, -tiny, -tiny);
  }
  for (Fn f : {Fn::kExp, Fn::kCos, Fn::kCosh}) {
    for (T x : {zero, -zero, tiny, -tiny}) ExpectSame(f, x, T(1));
  }
  for (Fn f : {Fn::kSin, Fn::kCos, Fn::kTan}) {
    ExpectSame(f, inf, nan);
    ExpectSame(f, -inf, nan);
  }
  ExpectSame(Fn::kRsqrt, zero, inf);
  ExpectSame(Fn::kRsqrt, -zero, -inf);
  ExpectSame(Fn::kRsqrt, inf, zero);
  ExpectSame(Fn::kRsqrt, -inf, nan);
  ExpectSame(Fn::kSigmoid, zero, T(0.5));
  ExpectSame(Fn::kSigmoid, inf, T(1));
  ExpectSame(Fn::kSigmoid, -inf, zero);
  ExpectSame(Fn::kExp, inf, inf);
  ExpectSame(Fn::kExp, -inf, zero);
  ExpectSame(Fn::kExp, L::max(), inf);
  ExpectSame(Fn::kExp, L::lowest(), zero);
  ExpectSame(Fn::kExpm1, inf, inf);
  ExpectSame(Fn::kExpm1, -inf, T(-1));
  ExpectSame(Fn::kLog, zero, -inf);
  ExpectSame(Fn::kLog, -zero, -inf);
  ExpectSame(Fn::kLog, T(1), zero);
  ExpectSame(Fn::kLog, T(-1), nan);
  ExpectSame(Fn::kLog, -tiny, nan);
  ExpectSame(Fn::kLog, -inf, nan);
  ExpectSame(Fn::kLog, inf, inf);
  for (Fn f : {Fn::kLog2, Fn::kLog10}) {
    ExpectSame(f, zero, -inf);
    ExpectSame(f, -zero, -inf);
    ExpectSame(f, T(1), zero);
    for (T x : {T(-1), -tiny, -inf}) ExpectSame(f, x, nan);
    ExpectSame(f, inf, inf);
  }
  for (int e = L::min_exponent - L::digits; e < L::max_exponent; ++e)
    ExpectSame(Fn::kLog2, std::ldexp(T(1), e), T(e));
  for (int e = 0; e <= (sizeof(T) == 8 ? 22 : 10); ++e) {
    T power = 1;
    for (int i = 0; i < e; ++i) power *= 10;
    ExpectSame(Fn::kLog10, power, T(e));
  }
  for (Fn f : {Fn::kAsin, Fn::kAcos, Fn::kAtanh}) {
    for (T x : {1 + L::epsilon(), L::max(), inf}) ExpectSame(f, x, nan), ExpectSame(f, -x, nan);
  }
  ExpectSame(Fn::kAsin, T(1), T(M_PI_2l));
  ExpectSame(Fn::kAsin, T(-1), T(-M_PI_2l));
  ExpectSame(Fn::kAcos, T(1), zero);
  ExpectSame(Fn::kAcos, T(-1), T(M_PIl));
  for (T x : {zero, -zero, tiny}) ExpectSame(Fn::kAcos, x, T(M_PI_2l));
  ExpectSame(Fn::kAtanh, T(1), inf);
  ExpectSame(Fn::kAtanh, T(-1), -inf);
  for (T x : {inf, L::max()}) {
    ExpectSame(Fn::kSinh, x, inf);
    ExpectSame(Fn::kSinh, -x, -inf);
    ExpectSame(Fn::kCosh, x, inf);
    ExpectSame(Fn::kCosh, -x, inf);
  }
  ExpectSame(Fn::kAsinh, inf, inf);
  ExpectSame(Fn::kAsinh, -inf, -inf);
  ExpectSame(Fn::kAcosh, inf, inf);
  ExpectSame(Fn::kAcosh, T(1), zero);
  for (T x : {1 - L::epsilon() / 2, zero, T(-1), T(-9e7), L::lowest(), -inf})
    ExpectSame(Fn::kAcosh, x, nan);
  ExpectSame(Fn::kLog1p, T(-1), -inf);
  ExpectSame(Fn::kLog1p, -1 - L::epsilon(), nan);
  ExpectSame(Fn::kLog1p, -inf, nan);
  ExpectSame(Fn::kLog1p, inf, inf);
  for (T x : {inf, L::max(), T(0x1p60)}) {
    ExpectSame(Fn::kAtan, x, T(M_PI_2l));
    ExpectSame(Fn::kAtan, -x, T(-M_PI_2l));
  }
  ExpectSame(Fn::kAtan, T(1), T(M_PI_4l));
  for (Fn f : {Fn::kTanh, Fn::kErf}) {
    for (T x : {inf, L::max(), T(30)}) {
      ExpectSame(f, x, T(1));
      ExpectSame(f, -x, T(-1));
    }
  }
}

TEST(Fn, Special) {
  CheckSpecial<float>();
  CheckSpecial<double>();
}

// Results never leave the mathematical range, and odd functions are odd to the last bit.
template <class T>
void CheckRange() {
  std::mt19937_64 random(22);
  for (int i = 0; i < 20000; ++i) {
    T x = T((double(random() >> 11) * 0x1p-53 - 0.5) * std::exp2(double(random() % 12)));
    for (Fn f : {Fn::kSin, Fn::kCos, Fn::kTanh, Fn::kErf})
      ASSERT_LE(std::fabs(Call<T>(f, x)), 1) << x;
    ASSERT_GE(Call<T>(Fn::kExp, x), 0) << x;
    ASSERT_GE(Call<T>(Fn::kExpm1, x), -1) << x;
    for (Fn f : {Fn::kSin, Fn::kTan, Fn::kTanh, Fn::kErf, Fn::kAtan, Fn::kSinh, Fn::kAsinh})
      ASSERT_EQ(Call<T>(f, -x), -Call<T>(f, x)) << x;
    ASSERT_EQ(Call<T>(Fn::kCos, -x), Call<T>(Fn::kCos, x)) << x;
  }
}

TEST(Fn, Range) {
  CheckRange<float>();
  CheckRange<double>();
}

}  // namespace
}  // namespace frazil
