// Fourier transforms by every set of instructions that this processor has, against sums in float64;
// and their bits on any number of threads.
#include "kernels/fourier/fourier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "core/cpu.h"
#include "core/threads/parallel.h"
#include "kernels/fourier/variants.h"

namespace frazil {
namespace {

using Form = FourierArgs::Form;
using Variant = void (*)(const FourierArgs&);

std::vector<Variant> Variants() {
  std::vector<Variant> all = {frazil_fourier_plain::Run};
  if (Cpu().avx2) all.push_back(frazil_fourier_avx2::Run);
  if (Cpu().avx512) all.push_back(frazil_fourier_avx512::Run);
  return all;
}

template <typename T>
std::vector<std::complex<T>> Numbers(int64_t n) {
  std::mt19937 rng(static_cast<unsigned>(n));
  std::uniform_real_distribution<T> some(-1, 1);
  std::vector<std::complex<T>> x(static_cast<size_t>(n));
  for (auto& v : x) v = {some(rng), some(rng)};
  return x;
}

// Of each of `rows` rows, point k.
template <typename T>
std::complex<double> Point(const std::vector<std::complex<T>>& x, int64_t row, int64_t n, int64_t k,
                           bool forward) {
  std::complex<long double> sum = 0;
  for (int64_t j = 0; j < n; ++j) {
    const double turn = (forward ? -2.0 : 2.0) * std::numbers::pi * double(j * k % n) / double(n);
    sum += std::complex<long double>(std::complex<double>(x[size_t(row * n + j)]) *
                                     std::polar(1.0, turn));
  }
  return std::complex<double>(sum);
}

template <typename T>
void CheckForms(Variant run, int64_t rows, int64_t n) {
  const auto x = Numbers<T>(rows * n);
  const int64_t dims[] = {rows, n}, half = n / 2 + 1;
  FourierArgs args{Form::kComplex, sizeof(T) == 8, true, 0.5, dims, 2, nullptr, nullptr};
  const double bound = 40 * std::numeric_limits<T>::epsilon() * std::sqrt(double(n));
  const auto near = [&](std::complex<double> got, std::complex<double> want) {
    return std::abs(got - want) <= bound;
  };
  for (const bool forward : {true, false}) {
    args.forward = forward;
    std::vector<std::complex<T>> out(x.size());
    args.form = Form::kComplex;
    args.x = reinterpret_cast<const char*>(x.data());
    args.out = reinterpret_cast<char*>(out.data());
    run(args);
    const int64_t apart = n / (n > 2000 ? 6 : 50) + 1;
    for (int64_t i = 0; i < rows * n; i += apart)
      ASSERT_TRUE(near(out[size_t(i)], 0.5 * Point(x, i / n, n, i % n, forward))) << n << " " << i;

    std::vector<T> real, again(size_t(rows * n));
    std::vector<std::complex<T>> as_complex;
    for (const auto& v : x) {
      real.push_back(v.real());
      as_complex.emplace_back(v.real(), 0);
    }
    std::vector<std::complex<T>> halves(size_t(rows * half)), whole(size_t(rows * n));
    args.x = reinterpret_cast<const char*>(real.data());
    args.form = Form::kHalfFromReal;
    args.out = reinterpret_cast<char*>(halves.data());
    run(args);
    args.form = Form::kFromReal;
    args.out = reinterpret_cast<char*>(whole.data());
    run(args);
    for (int64_t i = 0; i < rows * n; i += apart) {
      const auto want = 0.5 * Point(as_complex, i / n, n, i % n, forward);
      ASSERT_TRUE(near(whole[size_t(i)], want)) << n << " " << i;
      if (i % n >= half) continue;
      ASSERT_TRUE(near(halves[size_t(i / n * half + i % n)], want)) << n << " " << i;
    }
    args.form = Form::kToReal;
    args.x = reinterpret_cast<const char*>(halves.data());
    args.out = reinterpret_cast<char*>(again.data());
    args.forward = !forward;
    args.scale = 2 / double(n);
    run(args);
    args.scale = 0.5;
    for (size_t i = 0; i < real.size(); ++i) ASSERT_TRUE(near(again[i], real[i])) << n << " " << i;
  }
}

TEST(Fourier, IsTheSumByAnyInstructions) {
  for (const Variant run : Variants()) {
    for (const int64_t n : {1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 25, 60, 97, 304, 1009, 1024}) {
      for (const int64_t rows : {1, 3, 18}) {
        CheckForms<float>(run, rows, n);
        CheckForms<double>(run, rows, n);
      }
    }
    CheckForms<float>(run, 1, 1 << 18);
    CheckForms<double>(run, 1, 3 << 16);
  }
}

TEST(Fourier, SeveralAxesAreOneAfterTheOther) {
  const auto x = Numbers<double>(6 * 5 * 8);
  for (const Variant run : Variants()) {
    std::vector<std::complex<double>> both(x.size()), one(x.size()), other(x.size());
    const int64_t dims[] = {6, 5, 8};
    const auto call = [&](uint64_t axes, const auto& from, auto& to) {
      run({Form::kComplex, true, true, 1, dims, axes, reinterpret_cast<const char*>(from.data()),
           reinterpret_cast<char*>(to.data())});
    };
    call(5, x, both);
    call(4, x, one);
    call(1, one, other);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_LE(std::abs(both[i] - other[i]), 1e-13);
  }
}

TEST(Fourier, ThreadsChangeNoBit) {
  const int threads = NumThreads();
  const std::vector<std::pair<int64_t, int64_t>> shapes = {{1, 1 << 18}, {1, 3 << 17}, {37, 1000},
                                                           {1000, 304},  {1, 65537},   {77, 1024}};
  for (const auto& [rows, n] : shapes) {
    const auto x = Numbers<float>(rows * n);
    const int64_t dims[] = {rows, n};
    for (const Form form : {Form::kComplex, Form::kFromReal, Form::kHalfFromReal}) {
      std::vector<std::complex<float>> first, now(x.size());
      for (const int count : {1, 2, 3, 7}) {
        SetNumThreads(count);
        const Status done =
            Fourier({form, false, true, 1, dims, 2, reinterpret_cast<const char*>(x.data()),
                     reinterpret_cast<char*>(now.data())});
        ASSERT_TRUE(done.ok()) << done;
        if (first.empty()) first = now;
        const size_t bytes = x.size() * sizeof(x[0]);
        ASSERT_EQ(std::memcmp(first.data(), now.data(), bytes), 0)
            << rows << " " << n << " " << count;
      }
    }
  }
  SetNumThreads(threads);
}

}  // namespace
}  // namespace frazil
