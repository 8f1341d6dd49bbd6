// The functions of kernels/fn.h inlined into kernels and executed, against the same templates on
// the tests' scalar: the two values over which they are written must agree bit for bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "jit/emit/interp/interp.h"
#include "jit/emit/x86/x86_emitter.h"
#include "kernels/fn.h"
#include "tests/kernels/fn_kernel.h"
#include "tests/kernels/scalar_v.h"

namespace frazil {
namespace {

// Bit patterns of every kind, ordinary numbers, and the special values against each other.
template <class T, class Bits>
void Arguments(std::vector<T>* x, std::vector<T>* y) {
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 random(30);
  auto uniform = [&] { return double(random() >> 11) * 0x1p-53 - 0.5; };
  for (int i = 0; i < 4001; ++i) {  // a tail behind the last whole vector
    x->push_back(i % 2 ? std::bit_cast<T>(Bits(random())) : T(uniform() * std::exp2(i % 13)));
    y->push_back(i % 3 ? T(std::rint(uniform() * 64)) : T(uniform() * std::exp2(i % 17)));
  }
  const T special[] = {0,   Limits::denorm_min(), Limits::min(),      T(0.5),
                       1,   Limits::max(),        Limits::infinity(), Limits::quiet_NaN(),
                       T(3)};
  for (T a : special) {
    for (T b : special) {
      for (T sa : {T(1), T(-1)}) {
        for (T sb : {T(1), T(-1)}) x->push_back(a * sa), y->push_back(b * sb);
      }
    }
  }
}

template <class T, class Bits>
void CheckEmitter(jit::Emitter* emitter) {
  std::vector<T> x, y;
  Arguments<T, Bits>(&x, &y);
  std::vector<T> out(x.size());
  for (int fn = 0; fn < kir::kNumFns; ++fn) {
    auto compiled = emitter->Emit(CallKernel(fn, DTypeOf<T>::value));
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    RunCall(**compiled, &x, &y, &out);
    for (size_t i = 0; i < x.size(); ++i) {
      T want = CallFn(Fn(fn), ScalarV::Of(x[i]), ScalarV::Of(y[i])).template As<T>();
      bool same = want != want ? out[i] != out[i]
                               : std::bit_cast<Bits>(out[i]) == std::bit_cast<Bits>(want);
      ASSERT_TRUE(same) << kir::kFns[fn].name << "(" << x[i] << ", " << y[i] << ") = " << out[i]
                        << ", not " << want;
    }
  }
}

TEST(FnEmitters, Interpreter) {
  auto interpreter = jit::NewInterpreter();
  CheckEmitter<float, uint32_t>(interpreter.get());
  CheckEmitter<double, uint64_t>(interpreter.get());
}

void CheckX86(jit::Isa isa) {
  if (!jit::X86Emitter::Supported(isa)) GTEST_SKIP() << "this processor lacks it";
  jit::X86Emitter emitter(isa);
  CheckEmitter<float, uint32_t>(&emitter);
  CheckEmitter<double, uint64_t>(&emitter);
}

TEST(FnEmitters, Avx2) { CheckX86(jit::Isa::kAvx2); }
TEST(FnEmitters, Avx512) { CheckX86(jit::Isa::kAvx512); }

}  // namespace
}  // namespace frazil
