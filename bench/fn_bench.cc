// Speed of the functions of kernels/fn.h as kernels of the x86 emitter, beside libm called in a
// loop. Run by hand: build/bench/fn_bench. One thread, 4096 arguments in cache, the best of many
// rounds.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "core/check.h"
#include "jit/emit/x86/x86_emitter.h"
#include "kernels/fn.h"
#include "tests/kernels/fn_kernel.h"

namespace frazil {
namespace {

constexpr int64_t kCount = 4096;

// Nanoseconds an element.
template <class F>
double Best(F f) {
  double best = 1e9;
  for (int i = 0; i < 400; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  return best * 1e9 / double(kCount);
}

template <class T>
T Libm(Fn fn, T x, T y) {
  switch (fn) {
    case Fn::kExp:
      return std::exp(x);
    case Fn::kExpm1:
      return std::expm1(x);
    case Fn::kLog:
      return std::log(x);
    case Fn::kLog1p:
      return std::log1p(x);
    case Fn::kSin:
      return std::sin(x);
    case Fn::kCos:
      return std::cos(x);
    case Fn::kTan:
      return std::tan(x);
    case Fn::kAtan:
      return std::atan(x);
    case Fn::kTanh:
      return std::tanh(x);
    case Fn::kErf:
      return std::erf(x);
    case Fn::kLog2:
      return std::log2(x);
    case Fn::kLog10:
      return std::log10(x);
    case Fn::kAsin:
      return std::asin(x);
    case Fn::kAcos:
      return std::acos(x);
    case Fn::kSinh:
      return std::sinh(x);
    case Fn::kCosh:
      return std::cosh(x);
    case Fn::kAsinh:
      return std::asinh(x);
    case Fn::kAcosh:
      return std::acosh(x);
    case Fn::kAtanh:
      return std::atanh(x);
    case Fn::kRsqrt:
      return T(1) / std::sqrt(x);
    case Fn::kSigmoid:
      return T(1) / (T(1) + std::exp(-x));
    case Fn::kPow:
      return std::pow(x, y);
  }
  return x;
}

template <class T>
void Row(int fn) {
  std::vector<T> x(kCount), y(kCount), out(kCount);
  std::mt19937_64 random(1);
  for (int64_t i = 0; i < kCount; ++i) {
    x[i] = T(double(random() >> 11) * 0x1p-50 + 0.01);
    y[i] = T(double(random() >> 11) * 0x1p-50 - 4);
  }
  std::printf("%-6s f%d", kir::kFns[fn].name.data(), int(sizeof(T) * 8));
  for (jit::Isa isa : {jit::Isa::kAvx2, jit::Isa::kAvx512}) {
    if (!jit::X86Emitter::Supported(isa)) continue;
    jit::X86Emitter emitter(isa);
    auto compiled = emitter.Emit(CallKernel(fn, DTypeOf<T>::value));
    FZ_CHECK(compiled.ok());
    const double time = Best([&] { RunCall(**compiled, &x, &y, &out); });
    std::printf("  %s %6.3f ns", emitter.caps().name.data(), time);
  }
  const double time = Best([&] {
    for (int64_t i = 0; i < kCount; ++i) out[i] = Libm(Fn(fn), x[i], y[i]);
  });
  std::printf("  libm %6.3f ns\n", time);
}

}  // namespace
}  // namespace frazil

int main() {
  for (int fn = 0; fn < frazil::kir::kNumFns; ++fn) {
    frazil::Row<float>(fn);
    frazil::Row<double>(fn);
  }
}
