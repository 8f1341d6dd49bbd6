// The x86 emitter against the interpreter: every instruction, type, layout and tail on both
// instruction sets.
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "jit/emit/interp/interp.h"
#include "jit/emit/x86/x86_emitter.h"
#include "jit/kir/builder.h"
#include "jit/kir/fn_table.h"
#include "tests/jit/guarded.h"
#include "tests/jit/kernel_gen.h"

namespace frazil::jit {
namespace {

using kir::Kernel;
using kir::Op;
using kir::Stride;

struct Level {
  const char* name;
  Isa isa;
  RegisterFile file = {};
};

// So few registers that most values have to go to the stack.
constexpr RegisterFile kFew = {.gp = 0x3c7, .vec = 0x3f, .mask = 0xe};

class X86Test : public ::testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    if (!X86Emitter::Supported(GetParam().isa))
      GTEST_SKIP() << "this machine lacks the instruction set";
    auto emitter = std::make_unique<X86Emitter>(GetParam().isa, GetParam().file);
    x86_ = emitter.get();
    emitter_ = std::move(emitter);
    interpreter_ = NewInterpreter();
  }

  void TearDown() override {
    if (emitter_) {
      EXPECT_EQ(x86_->given_up(), 0);
    }
  }

  void Compile(const Kernel& k) {
    ASSERT_TRUE(kir::Verify(k).ok()) << kir::Verify(k) << "\n" << kir::Print(k);
    auto want = interpreter_->Emit(k);
    auto got = emitter_->Emit(k);
    ASSERT_TRUE(want.ok()) << want.status();
    ASSERT_TRUE(got.ok()) << got.status() << "\n" << kir::Print(k);
    // What runs is its image at another place: as another process takes it up from disk.
    ASSERT_FALSE((*got)->image().empty()) << kir::Print(k);
    auto moved = emitter_->Load((*got)->image(), k.name);
    ASSERT_TRUE(moved.ok()) << moved.status();
    ASSERT_NE((*moved)->fn(), (*got)->fn());
    ASSERT_EQ((*moved)->image(), (*got)->image());
    auto again = emitter_->Emit(k);
    ASSERT_TRUE(again.ok() && (*again)->image() == (*got)->image()) << kir::Print(k);
    want_ = *std::move(want);
    got_ = *std::move(moved);
  }

  void Run(const Kernel& k, const std::vector<int64_t>& extents, const Range& range,
           int64_t align = 1) {
    const std::string difference = CompareRuns(k, *want_, *got_, extents, range, rng_, align);
    ASSERT_EQ(difference, "");
  }

  // The whole space at sizes around the lane counts.
  void RunSizes(const Kernel& k) {
    Compile(k);
    if (HasFatalFailure()) return;
    for (int64_t n : {1, 3, 7, 8, 9, 16, 31, 67}) {
      std::vector<int64_t> extents(size_t(k.axes()), 3);
      extents[k.rank - 1] = n;
      if (k.has_loop) extents[k.rank] = 1 + int64_t(rng_() % 150);
      Run(k, extents, WholeRange(k, extents));
      if (HasFatalFailure()) return;
    }
  }

  const X86Emitter* x86_ = nullptr;
  std::unique_ptr<Emitter> emitter_, interpreter_;
  std::unique_ptr<Compiled> want_, got_;
  Rng rng_{42};
};

INSTANTIATE_TEST_SUITE_P(Isa, X86Test,
                         ::testing::Values(Level{"avx2", Isa::kAvx2}, Level{"avx512", Isa::kAvx512},
                                           Level{"avx2_few_registers", Isa::kAvx2, kFew},
                                           Level{"avx512_few_registers", Isa::kAvx512, kFew}),
                         [](const auto& info) { return info.param.name; });

kir::Buffer In(std::string name, DType t, std::initializer_list<Stride> s) {
  return {name, t, false, s};
}
kir::Buffer Out(std::string name, DType t, std::initializer_list<Stride> s) {
  return {name, t, true, s};
}

// Whether there is an instruction of AVX-512 with this opcode, of a map of opcodes, such that
// is(prefix): whose bytes 2 and 3 have W on top and the mask's register at the bottom.
template <typename F>
bool HasEvex(const Compiled& compiled, int map, uint8_t opcode, const F& is) {
  const std::string_view code = compiled.image();
  for (size_t i = 0; i + 5 <= code.size(); ++i) {
    uint8_t b[5];
    std::memcpy(b, code.data() + i, 5);
    if (b[0] == 0x62 && (b[1] & 0xf) == map && (b[2] & 4) && b[4] == opcode && is(b)) return true;
  }
  return false;
}
bool IsAny(const uint8_t*) { return true; }
bool IsMasked(const uint8_t* prefix) { return prefix[3] & 7; }
bool IsWide(const uint8_t* prefix) { return prefix[2] >> 7; }

constexpr DType kArith[] = {DType::kI32, DType::kU32, DType::kI64,
                            DType::kU64, DType::kF32, DType::kF64};
constexpr DType kAll[] = {DType::kBool, DType::kI8,  DType::kI16, DType::kI32, DType::kI64,
                          DType::kU8,   DType::kU16, DType::kU32, DType::kU64, DType::kF16,
                          DType::kBF16, DType::kF32, DType::kF64};

bool Exists(Op op, DType t) {
  if (t == DType::kBool) {
    return op == Op::kAnd || op == Op::kOr || op == Op::kXor || op == Op::kNot || op == Op::kEq ||
           op == Op::kNe || op == Op::kSelect;
  }
  switch (op) {
    case Op::kFma:
    case Op::kSqrt:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kTrunc:
    case Op::kRint:
      return IsFloat(t);
    case Op::kRem:
    case Op::kMulhi:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kNot:
    case Op::kShl:
    case Op::kShr:
      return IsInt(t);
    case Op::kNeg:
    case Op::kAbs:
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kMin:
    case Op::kMax:
    case Op::kLt:
    case Op::kLe:
    case Op::kEq:
    case Op::kNe:
    case Op::kSelect:
      return true;
    default:
      return false;
  }
}

// o = op(x, y, z); `form` makes operands loads, broadcasts, parameters or constants.
Kernel OneOp(Op op, DType t, int form, Rng& rng) {
  Kernel k;
  k.name = "one";
  const bool select = op == Op::kSelect;
  const bool compare = op == Op::kLt || op == Op::kLe || op == Op::kEq || op == Op::kNe;
  k.buffers.push_back(In("x", select ? DType::kBool : t, {Stride::kOne}));
  k.buffers.push_back(In("y", t,
                         {form == 1   ? Stride::kZero
                          : form == 2 ? Stride::kAny
                                      : Stride::kOne}));
  k.buffers.push_back(In("z", t, {Stride::kOne}));
  k.buffers.push_back(Out("o", compare ? DType::kBool : t, {Stride::kOne}));
  k.scalars.push_back({"p", t});
  kir::Builder b(&k);
  kir::V x = b.Load(0);
  kir::V y = form == 3 ? b.Param(0) : form == 4 ? b.ConstBits(t, RandomBits(t, rng)) : b.Load(1);
  kir::V r;
  switch (kir::NumOperands(op)) {
    case 1:
      r = b.Unary(op, x);
      break;
    case 2:
      r = b.Binary(op, x, y);
      break;
    default: {
      kir::V z = form == 5 ? b.ConstBits(t, RandomBits(t, rng)) : b.Load(2);
      r = select ? b.Select(x, y, z) : b.Fma(x, y, z);
    }
  }
  b.Store(3, r);
  return k;
}

TEST_P(X86Test, EveryInstructionOnEveryType) {
  int cases = 0;
  for (int op = 0; op <= int(Op::kSelect); ++op) {
    for (DType t : kAll) {
      if (SizeOf(t) < 4 && t != DType::kBool) continue;
      if (!Exists(Op(op), t)) continue;
      for (int form = 0; form < (t == DType::kBool ? 3 : 6); ++form) {
        SCOPED_TRACE(absl::StrCat(std::string(kir::Name(Op(op))), " ", std::string(ShortName(t)),
                                  " form ", form));
        RunSizes(OneOp(Op(op), t, form, rng_));
        if (HasFatalFailure()) return;
        ++cases;
      }
    }
  }
  EXPECT_GT(cases, 500);
}

TEST_P(X86Test, EveryCast) {
  for (DType from : kAll) {
    for (DType to : kAll) {
      for (Stride stride : {Stride::kOne, Stride::kAny, Stride::kZero}) {
        SCOPED_TRACE(
            absl::StrCat(std::string(ShortName(from)), " -> ", std::string(ShortName(to))));
        Kernel k;
        k.name = "cast";
        k.buffers = {In("x", from, {stride}),
                     Out("o", to, {stride == Stride::kAny ? Stride::kAny : Stride::kOne})};
        kir::Builder b(&k);
        b.Store(1, b.Cast(to, b.Load(0)));
        RunSizes(k);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(X86Test, EveryTail) {
  for (DType t : kAll) {
    Kernel k;
    k.name = "copy";
    k.buffers = {In("x", t, {Stride::kOne}), Out("o", t, {Stride::kOne})};
    kir::Builder b(&k);
    b.Store(1, b.Load(0));
    Compile(k);
    if (HasFatalFailure()) return;
    for (int64_t n = 0; n <= 150; ++n) {
      Run(k, {n}, {0, 1, 0, n});
      const int64_t begin = n ? int64_t(rng_() % uint64_t(n)) : 0;
      Run(k, {n}, {0, 1, begin, n});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(X86Test, RowsOfEveryLayout) {
  const Stride classes[] = {Stride::kZero, Stride::kOne, Stride::kAny};
  for (DType t : {DType::kF32, DType::kF64, DType::kI16, DType::kBool, DType::kU8}) {
    for (int i = 0; i < 27; ++i) {
      Kernel k;
      k.name = "rows";
      k.rank = 3;
      k.buffers = {In("x", t, {classes[i / 9], classes[i / 3 % 3], classes[i % 3]}),
                   Out("o", t, {Stride::kAny, Stride::kAny, i % 2 ? Stride::kAny : Stride::kOne}),
                   Out("j", DType::kI64, {Stride::kAny, Stride::kAny, Stride::kOne})};
      kir::Builder b(&k);
      b.Store(1, b.Load(0));
      b.Store(2, b.Index(0) * b.Const(DType::kI64, 1000) + b.Index(1) * b.Const(DType::kI64, 100) +
                     b.Index(2));
      Compile(k);
      if (HasFatalFailure()) return;
      const std::vector<int64_t> extents = {3, 4, 29};
      Run(k, extents, WholeRange(k, extents));
      Run(k, extents, {2, 9, 0, 29});
      Run(k, extents, {5, 6, 3, 28});
      Run(k, extents, {5, 5, 3, 28});
      if (HasFatalFailure()) return;
    }
  }
}

// Layouts are drawn; many have lanes two elements apart, which AVX-512 takes from whole vectors.
TEST_P(X86Test, EverySecondElement) {
  for (DType t : {DType::kF32, DType::kI32, DType::kF64, DType::kI64}) {
    Kernel k;
    k.name = "second";
    k.rank = 2;
    k.buffers = {In("x", t, {Stride::kAny, Stride::kAny}),
                 Out("o", t, {Stride::kAny, Stride::kAny})};
    kir::Builder b(&k);
    const kir::V x = b.Load(0);
    b.Store(1, x + x);
    for (int i = 0; i < 12; ++i) {
      RunSizes(k);
      if (HasFatalFailure()) return;
    }
    constexpr uint8_t kPermuteTwo = 0x7f;
    EXPECT_EQ(HasEvex(*got_, 2, kPermuteTwo, IsAny), GetParam().isa == Isa::kAvx512);
  }
}

TEST_P(X86Test, OffsetsAndPredicates) {
  for (DType t : kAll) {
    for (Stride stride : {Stride::kOne, Stride::kAny, Stride::kZero}) {
      for (int form = 0; form < 4; ++form) {  // bit 0: offset, bit 1: predicate
        SCOPED_TRACE(absl::StrCat(std::string(ShortName(t)), " form ", form));
        Kernel k;
        k.name = "guarded";
        k.buffers = {In("x", t, {stride}), In("q", DType::kBool, {Stride::kOne}),
                     Out("o", t, {stride == Stride::kAny ? Stride::kAny : Stride::kOne}),
                     Out("w", t, {Stride::kOne})};
        kir::Builder b(&k);
        kir::V index = b.Index(0);
        kir::V odd = (index & b.Const(DType::kI64, 1)) == b.Const(DType::kI64, 1);
        // Odd columns step back one element; with a predicate, only columns above 2 are touched at
        // all.
        kir::V offset =
            stride == Stride::kOne ? -b.Cast(DType::kI64, odd) : b.Const(DType::kI64, 0) * index;
        kir::V pred = (b.Const(DType::kI64, 2) < index) & b.Load(1);
        kir::V v = b.Load(0, form & 1 ? offset : kir::V{}, form & 2 ? pred : kir::V{});
        b.Store(2, v, {}, form & 2 ? pred : kir::V{});
        b.Store(3, v, form & 1 ? -b.Cast(DType::kI64, odd) : kir::V{}, form & 2 ? pred : kir::V{});
        RunSizes(k);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(X86Test, Streams) {
  for (DType t : {DType::kF32, DType::kF64, DType::kI8, DType::kF16}) {
    Kernel k;
    k.name = "stream";
    k.rank = 2;
    k.stream = true;
    k.buffers = {In("x", t, {Stride::kAny, Stride::kOne}),
                 Out("o", t, {Stride::kAny, Stride::kOne}),
                 Out("p", DType::kF32, {Stride::kAny, Stride::kOne})};
    kir::Builder b(&k);
    b.Store(1, b.Load(0));
    b.Store(2, b.Cast(DType::kF32, b.Load(0)));
    Compile(k);
    if (HasFatalFailure()) return;
    for (int64_t n : {1, 63, 64, 200, 515}) {
      Run(k, {3, n}, {0, 3, 0, n}, 64);
      Run(k, {3, n}, {0, 3, n / 3, n}, 64);  // unaligned: ordinary stores
      if (HasFatalFailure()) return;
    }
  }
}

// Quotients next to the middle between two floats, limits of the range and zeros, by divisors that
// a whole row shares.
template <typename T, typename Bits>
std::vector<T> NumeratorsFor(T divisor, Rng& rng) {
  constexpr int kDigits = std::numeric_limits<T>::digits;
  std::vector<T> all;
  for (int i = 0; i < 700; ++i) {
    const uint64_t odd = uint64_t{1} << kDigits | (rng() & ((uint64_t{1} << kDigits) - 1)) | 1;
    const auto middle = static_cast<long double>(odd);
    T a = static_cast<T>(middle * static_cast<long double>(divisor));
    if (i % 3 == 1) a = std::nextafter(a, T(0));
    if (i % 5 == 1) a = static_cast<T>(odd) * divisor;
    const int scale = i % 7 ? int(rng() % 40) - 50 : int(rng() % 600) - 300;
    all.push_back(std::ldexp(rng() % 2 ? a : -a, scale));
  }
  for (int i = 0; i < 200; ++i)
    all.push_back(std::bit_cast<T>(Bits(RandomBits(DTypeOf<T>::value, rng))));
  for (int i = 0; i < 61; ++i) all.push_back(i % 3 ? T(0) : -T(0));
  return all;
}

template <typename T, typename Bits>
void CheckSharedDivisors(const Compiled& want, const Compiled& got, Rng& rng) {
  constexpr int kMost = std::numeric_limits<T>::max_exponent;
  for (int i = 0; i < 600; ++i) {
    T divisor = std::ldexp(T(1) + static_cast<T>(rng() >> 11) * T(0x1p-53), int(rng() % 20) - 10);
    if (i % 8 == 1) divisor = std::ldexp(divisor, int(rng() % (2 * kMost)) - kMost);
    if (i % 8 == 2) divisor = std::bit_cast<T>(Bits(RandomBits(DTypeOf<T>::value, rng)));
    if (i % 8 == 3) divisor = std::nextafter(std::ldexp(T(1), i % 9), T(0));
    if (i % 8 == 4) divisor = static_cast<T>(1 + i / 8);
    std::vector<T> x = NumeratorsFor<T, Bits>(divisor, rng);
    std::vector<T> a(x.size(), T(7)), b(x.size(), T(7));
    const auto n = static_cast<int64_t>(x.size());
    const int64_t extents[] = {n}, strides[] = {sizeof(T), 0, sizeof(T)};
    void* buffers[] = {x.data(), &divisor, a.data()};
    want.Run({buffers, extents, strides, nullptr}, 0, 1, 0, n);
    buffers[2] = b.data();
    got.Run({buffers, extents, strides, nullptr}, 0, 1, 0, n);
    for (size_t k = 0; k < x.size(); ++k) {
      if (std::isnan(a[k]) && std::isnan(b[k])) continue;
      ASSERT_EQ(std::bit_cast<Bits>(a[k]), std::bit_cast<Bits>(b[k])) << x[k] << " / " << divisor;
      if (std::isfinite(x[k]) && std::isfinite(divisor) && divisor != 0) {
        ASSERT_EQ(std::bit_cast<Bits>(a[k]), std::bit_cast<Bits>(x[k] / divisor));
      }
    }
  }
}

TEST_P(X86Test, DivisorsThatARowShares) {
  for (DType t : {DType::kF32, DType::kF64}) {
    Kernel k;
    k.name = "quotients";
    k.buffers = {In("x", t, {Stride::kOne}), In("d", t, {Stride::kZero}),
                 Out("o", t, {Stride::kOne})};
    kir::Builder b(&k);
    b.Store(2, b.Load(0) / b.Load(1));
    Compile(k);
    if (HasFatalFailure()) return;
    if (t == DType::kF32) {
      CheckSharedDivisors<float, uint32_t>(*want_, *got_, rng_);
    } else {
      CheckSharedDivisors<double, uint64_t>(*want_, *got_, rng_);
    }
    if (HasFatalFailure()) return;
    RunSizes(k);
    if (HasFatalFailure()) return;
  }
}

// Every f32 between 1 and 4: roots of others are these, scaled. Then the limits of the quick way.
TEST_P(X86Test, SquareRoots) {
  Kernel k;
  k.name = "root";
  k.buffers = {In("x", DType::kF32, {Stride::kOne}), Out("o", DType::kF32, {Stride::kOne})};
  kir::Builder b(&k);
  b.Store(1, kir::sqrt(b.Load(0)));
  Compile(k);
  if (HasFatalFailure()) return;
  // From the estimate (vrsqrt14ps), where that is the one that this test has been through.
  const bool quick = GetParam().isa == Isa::kAvx512 && __builtin_cpu_is("intel");
  EXPECT_EQ(HasEvex(*got_, 2, 0x4e, IsAny), quick);
  const auto check = [&](std::vector<float>& x) {
    std::vector<float> o(x.size());
    const auto n = static_cast<int64_t>(x.size());
    const int64_t strides[] = {4, 4};
    void* buffers[] = {x.data(), o.data()};
    got_->Run({buffers, &n, strides, nullptr}, 0, 1, 0, n);
    for (size_t i = 0; i < x.size(); ++i) {
      const float root = std::sqrt(x[i]);
      if (std::isnan(root) && std::isnan(o[i])) continue;
      ASSERT_EQ(std::bit_cast<uint32_t>(root), std::bit_cast<uint32_t>(o[i])) << x[i];
    }
  };
  std::vector<float> x(1 << 16);
  for (uint32_t from = 0x3f800000; from < 0x40800000; from += 1 << 16) {
    for (uint32_t i = 0; i < x.size(); ++i) x[i] = std::bit_cast<float>(from + i);
    check(x);
    if (HasFatalFailure()) return;
  }
  for (float& v : x) v = std::bit_cast<float>(uint32_t(rng_()));
  check(x);
  for (uint32_t exponent = 0; exponent < 256; ++exponent) {
    x.assign(67, 0.0F);
    for (size_t i = 0; i < x.size(); i += exponent % 2 ? 1 : 3)
      x[i] = std::bit_cast<float>(exponent << 23 | (uint32_t(rng_()) & 0x7fffff));
    x[1] = -0.0F;
    check(x);
    if (HasFatalFailure()) return;
  }
}

// The place of each row's least element, compared with class numbers that all rows share; some lie
// beyond 32 bits. Rows are read and written as blocks.
TEST_P(X86Test, ClassNumbers) {
  constexpr int kClasses = 8;
  for (int width = 4; width <= kClasses; ++width) {
    Kernel k;
    k.name = "classes";
    k.buffers = {In("x", DType::kF32, {Stride::kAny}), In("c", DType::kI64, {Stride::kZero}),
                 Out("o", DType::kF32, {Stride::kAny}), Out("at", DType::kI64, {Stride::kOne})};
    kir::Builder b(&k);
    const auto distance = [&](int j) { return b.Const(DType::kI64, j); };
    kir::V best = b.Load(0), at = b.Const(DType::kI32, 0);
    for (int j = 1; j < width; ++j) {
      const kir::V v = b.Load(0, distance(j));
      const kir::V better = ~(best <= v) & (best == best);
      at = b.Select(better, b.Const(DType::kI32, j), at);
      best = b.Select(better, v, best);
    }
    const kir::V wide = b.Cast(DType::kI64, at);
    for (int j = 0; j < width; ++j) {
      const kir::V c = b.Load(1, distance(j));
      b.Store(2, b.Cast(DType::kF32, j % 2 ? c == wide : wide != c), distance(j));
    }
    if (width % 2) b.Store(3, wide);
    Compile(k);
    if (HasFatalFailure()) return;
    EXPECT_FALSE(HasEvex(*got_, 3, 0x1f, IsWide)) << "vpcmpq: they are compared in 32 bits";
    int64_t classes[kClasses] = {0, 1, int64_t{1} << 32, 3, int64_t{1} << 32 | 2, -1, width, 2};
    for (int64_t n = 0; n <= 50; ++n) {
      std::vector<float> x(size_t(n * width)), want(x.size(), 7), got(x.size(), 7);
      std::vector<int64_t> want_at(size_t(n), 7), got_at(size_t(n), 7);
      for (float& v : x) v = rng_() % 9 ? float(rng_() % 5) - 2 : std::nanf("");
      const int64_t strides[] = {4 * width, 0, 4 * width, 8};
      void* buffers[] = {x.data(), classes, want.data(), want_at.data()};
      want_->Run({buffers, &n, strides, nullptr}, 0, 1, 0, n);
      buffers[2] = got.data();
      buffers[3] = got_at.data();
      got_->Run({buffers, &n, strides, nullptr}, 0, 1, 0, n);
      ASSERT_EQ(want, got) << width << " of " << n;
      ASSERT_EQ(want_at, got_at) << width << " of " << n;
    }
  }
}

TEST_P(X86Test, ComparisonsUnderMasks) {
  for (DType t : kArith) {
    for (int form = 0; form < 8; ++form) {
      Kernel k;
      k.name = "within";
      k.buffers = {In("x", t, {Stride::kOne}), In("y", t, {Stride::kZero}),
                   Out("o", DType::kBool, {Stride::kOne}), Out("p", t, {Stride::kOne})};
      kir::Builder b(&k);
      const kir::V x = b.Load(0), y = b.Load(1);
      const kir::V first = form & 1 ? ~(x < y) : x <= y;
      const kir::V second = form & 2 ? ~(x == y) : y <= x;
      const kir::V both = form & 4 ? first & second : second & first;
      b.Store(2, both);
      b.Store(3, b.Select(form % 3 ? both : first, x, y));
      RunSizes(k);
      if (HasFatalFailure()) return;
      const bool under = HasEvex(*got_, 1, 0xc2, IsMasked) ||  // vcmpps, vpcmpd, vpcmpud
                         HasEvex(*got_, 3, 0x1f, IsMasked) || HasEvex(*got_, 3, 0x1e, IsMasked);
      const bool plain = form == 2 || form == 4 || form == 5;
      EXPECT_EQ(under, GetParam().isa == Isa::kAvx512 && plain) << form << " " << Name(t);
    }
  }
}

// Bools that a repeat counts, from numbers and from zeros of both signs.
TEST_P(X86Test, TalliesInRepeats) {
  for (DType t : {DType::kF32, DType::kF64}) {
    for (int form = 0; form < 8; ++form) {
      Kernel k;
      k.name = "tally";
      k.buffers = {In("x", t, {Stride::kOne}), In("y", t, {Stride::kOne}),
                   Out("o", t, {Stride::kOne}), Out("p", t, {Stride::kOne})};
      k.scalars = {{"n", DType::kI64}};
      kir::Builder b(&k);
      const kir::V x = b.Load(0), y = b.Load(1);
      const kir::V from = form & 1 ? x : x * b.ConstBits(t, uint64_t{1} << (BitsOf(t) - 1));
      b.Repeat(b.Const(DType::kI64, 1 + form));
      const kir::V count = b.Carry(from), value = b.Carry(y);
      const kir::V one = b.Cast(t, value <= x);
      const kir::V more = form & 2 ? count + one : one + count;
      const kir::V other = form & 4 ? value + count : value * y;
      b.Next(count, more);
      b.Next(value, other);
      b.Done();
      b.Store(2, count);
      b.Store(3, value);
      RunSizes(k);
      if (HasFatalFailure()) return;
      const bool counts = GetParam().isa == Isa::kAvx512 && !(form & 4);
      EXPECT_EQ(HasEvex(*got_, 1, 0x58, IsMasked), counts) << form;  // vaddps
    }
  }
}

// Tables that fit registers, and more; bodies through which two vectors go together.
TEST_P(X86Test, FunctionsInLongBodies) {
  const std::vector<std::vector<std::string_view>> cases = {
      {"tanh"}, {"erf"}, {"exp"}, {"tanh", "erf"}};
  for (const auto& functions : cases) {
    Kernel k;
    k.name = "functions";
    k.buffers = {In("x", DType::kF32, {Stride::kOne}), Out("o", DType::kF32, {Stride::kOne})};
    kir::Builder b(&k);
    kir::V v = b.Load(0);
    for (const std::string_view name : functions) v = b.Call(kir::FindFn(name), v);
    b.Store(1, v);
    Compile(k);
    if (HasFatalFailure()) return;
    for (int64_t n = 0; n <= 150; n += 1 + n % 7) {
      Run(k, {n}, {0, 1, 0, n});
      Run(k, {n}, {0, 1, n / 3, n});
      if (HasFatalFailure()) return;
    }
  }
}

// The divisor is a row's sum, or one column's of several.
TEST_P(X86Test, DivisorsMadeInLoops) {
  for (const auto vec : {kir::VecAxis::kLoop, kir::VecAxis::kSpace}) {
    for (DType t : {DType::kF32, DType::kF64, DType::kF16}) {
      Kernel k;
      k.name = "shares";
      k.has_loop = true;
      k.vec = vec;
      const bool loop = vec == kir::VecAxis::kLoop;
      const Stride column = loop ? Stride::kAny : Stride::kOne;
      const Stride along = loop ? Stride::kOne : Stride::kAny;
      k.buffers = {In("x", t, {column, along}), Out("o", t, {column, along})};
      kir::Builder b(&k);
      const DType wide = t == DType::kF16 ? DType::kF32 : t;
      const auto size = [&] {
        const kir::V x = b.Cast(wide, b.Load(0));
        return x * x;
      };
      b.Loop();
      const kir::V sum = b.Reduce(kir::ReduceKind::kSum, size(), loop ? 64 : 8);
      b.End();
      b.Loop();
      b.Store(1, b.Cast(t, size() / sum));
      b.End();
      Compile(k);
      if (HasFatalFailure()) return;
      for (int64_t n : {0, 1, 5, 64, 100, 200}) {
        Run(k, {37, n}, {0, 1, 0, 37});
        Run(k, {37, n}, {0, 1, 2, 36});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(X86Test, LongBody) {
  for (DType t : kArith) {
    Kernel k;
    k.name = "long";
    k.buffers = {In("x", t, {Stride::kOne}), In("y", t, {Stride::kOne}),
                 In("h", DType::kI16, {Stride::kOne}), Out("o", t, {Stride::kOne}),
                 Out("g", DType::kU8, {Stride::kOne})};
    kir::Builder b(&k);
    kir::V x = b.Load(0), y = b.Load(1);
    for (int i = 0; i < 60; ++i) {
      kir::V z = i % 3 ? x * b.Const(t, i + 1) : x - b.Const(t, i * 3 + 1);
      x = y;
      y = z + (i % 5 == 4 ? b.Cast(t, b.Load(2)) : x);
    }
    b.Store(3, y);
    b.Store(4, b.Cast(DType::kU8, y));
    RunSizes(k);
    if (HasFatalFailure()) return;
  }
}

// Swaps, shifts, carries that become constants or each other, masks, counts that are computed,
// words of every iteration: alone, with bools, in 64 bits, and at strides.
constexpr const char* kRepeats[] = {
    R"(kernel swap(x: buf f32 [1], y: buf f32 [s], n: scalar i64, o: out f32 [1], p: out f32 [s]) space 1
  %x = load x : f32
  %y = load y : f32
  %one = const 1 : i64
  %n = param n : i64
  %m = add %n, %one : i64
  repeat %m
    %a = carry %x : f32
    %b = carry %y : f32
    %c = carry %x : f32
    next %a, %b
    next %b, %a
    next %c, %x
  done
  %s = sub %a, %c : f32
  store o, %s
  store p, %b
)",
    R"(kernel fibonacci(x: buf u32 [1], n: scalar i64, t: each u32, u: each bool, o: out u32 [1], p: out bool [1]) space 1
  %x = load x : u32
  %false = const false : bool
  %k = const 7 : u32
  %n = param n : i64
  repeat %n
    %a = carry %x : u32
    %b = carry %k : u32
    %f = carry %false : bool
    %g = carry %false : bool
    %h = carry %false : bool
    %t = param t : u32
    %u = param u : bool
    %tt = mul %t, %t : u32
    %s = add %a, %b : u32
    %st = xor %s, %tt : u32
    %less = lt %st, %b : bool
    %either = xor %less, %u : bool
    %kept = select %either, %st, %k : u32
    next %a, %b
    next %b, %kept
    next %f, %g
    next %g, %either
    next %h, %f
  done
  %sum = add %a, %b : u32
  store o, %sum
  %all = xor %f, %h : bool
  %and = xor %all, %g : bool
  store p, %and
)",
    R"(kernel divides(x: buf i64 [s], y: buf i64 [0], n: scalar i64, t: scalar f64, o: out i64 [1], p: out f64 [1]) space 1
  %x = load x : i64
  %f = cast %x : f64
  %n = param n : i64
  repeat %n
    %a = carry %x : i64
    %b = carry %x : i64
    %c = carry %f : f64
    %d = carry %f : f64
    %y = load y : i64
    %twice = add %y, %y : i64
    %q = div %a, %twice : i64
    %r = rem %b, %a : i64
    %s = add %q, %r : i64
    %t = param t : f64
    %z = fma %c, %t, %d : f64
    %seven = const 7 : i64
    %at = and %s, %seven : i64
    %v = load x[%at] : i64
    next %d, %z
    next %c, %z
    next %a, %s
    next %b, %v
  done
  repeat %n
    %e = carry %b : i64
    %g = mulhi %e, %a : i64
    next %e, %g
  done
  %sum = add %e, %a : i64
  store o, %sum
  %all = mul %c, %d : f64
  store p, %all
)"};

TEST_P(X86Test, RepeatsAtEverySize) {
  std::vector<std::string> texts(std::begin(kRepeats), std::end(kRepeats));
  std::stringstream golden;
  golden << std::ifstream(FRAZIL_JIT_GOLDENS "/repeat.kir").rdbuf();
  texts.push_back(golden.str());
  for (const std::string& text : texts) {
    const auto k = kir::Parse(text);
    ASSERT_TRUE(k.ok()) << k.status();
    std::vector<int64_t> sizes = {0, 127, 128, 129, 1000, 5001};
    for (int64_t n = 1; n <= 67; ++n) sizes.push_back(n);
    for (int64_t n : sizes) {
      const Case c = MakeCase(*k, {n}, rng_);
      const Comparison result = CompareOn(c, *interpreter_, *emitter_, uint64_t(n));
      ASSERT_FALSE(result.refused);
      ASSERT_EQ(result.difference, "");
    }
  }
}

// Random repeats at every size around the vectors and their copies.
TEST_P(X86Test, RandomRepeats) {
  int refused = 0, ran = 0;
  for (uint64_t seed = 1; seed <= 250; ++seed) {
    for (const int values : {6, 24}) {
      GenOptions options{.max_values = values,
                         .loops = false,
                         .calls = seed % 5 == 0,
                         .repeats = true,
                         .moves = seed % 2 == 0};
      if (seed % 3 == 0) options.types = {DType::kF32, DType::kI32, DType::kU32, DType::kBool};
      if (seed % 3 == 0) options.index = options.offsets = false;
      Rng rng(seed);
      const Kernel k = RandomKernel(rng, options);
      for (int i = 0; i < 4; ++i) {
        std::vector<int64_t> extents = RandomExtents(k, rng);
        if (i) extents[size_t(k.rank) - 1] = 1 + int64_t(rng() % 67);
        const Comparison result =
            CompareOn(MakeCase(k, std::move(extents), rng), *interpreter_, *emitter_, seed);
        ASSERT_EQ(result.difference, "");
        refused += result.refused;
        ++ran;
      }
    }
  }
  EXPECT_EQ(refused, 0) << "of " << ran;
}

// Reduces f(x) along the loop axis; `work` instructions make the body long.
Kernel Reduction(DType t, kir::ReduceKind kind, kir::VecAxis vec, Stride along, int work) {
  Kernel k;
  k.name = "reduce";
  k.rank = 2;
  k.has_loop = true;
  k.vec = vec;
  const bool loop = vec == kir::VecAxis::kLoop;
  k.buffers = {In("x", t, {Stride::kAny, loop ? Stride::kAny : along, loop ? along : Stride::kAny}),
               Out("o", t, {Stride::kAny, Stride::kOne, Stride::kZero})};
  kir::Builder b(&k);
  b.Loop();
  kir::V x = b.Load(0);
  for (int i = 0; i < work; ++i)
    x = b.Binary(i % 2 ? Op::kMin : Op::kMax, x, b.ConstBits(t, uint64_t(i) << 20));
  const bool laned = IsFloat(t) && kind <= kir::ReduceKind::kProd;
  kir::V r = b.Reduce(kind, x, laned ? (loop ? 64 : 8) : 0);
  b.End();
  b.Store(1, r);
  return k;
}

TEST_P(X86Test, EveryReduction) {
  using kir::ReduceKind;
  for (DType t : {DType::kI32, DType::kU32, DType::kI64, DType::kU64, DType::kF32, DType::kF64,
                  DType::kBool}) {
    for (int kind = 0; kind <= int(ReduceKind::kOr); ++kind) {
      if ((t == DType::kBool) != (kind >= int(ReduceKind::kAnd))) continue;
      for (kir::VecAxis vec : {kir::VecAxis::kSpace, kir::VecAxis::kLoop}) {
        for (Stride along : {Stride::kOne, Stride::kAny}) {
          for (int work : {0, 30}) {
            if (work && t == DType::kBool) continue;
            const Kernel k = Reduction(t, ReduceKind(kind), vec, along, work);
            Compile(k);
            if (HasFatalFailure()) return;
            for (int64_t n : {0, 1, 7, 8, 15, 63, 64, 65, 127, 300}) {
              const int64_t columns = 1 + int64_t(rng_() % (n < 64 ? 200 : 40));
              const std::vector<int64_t> extents = {2, columns, n};
              Run(k, extents, WholeRange(k, extents));
              if (HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
}

TEST_P(X86Test, ChunkedSums) {
  for (DType t : {DType::kF32, DType::kF64}) {
    for (kir::VecAxis vec : {kir::VecAxis::kSpace, kir::VecAxis::kLoop}) {
      const bool loop = vec == kir::VecAxis::kLoop;
      Kernel k;
      k.name = "chunks";
      k.rank = 2;
      k.has_loop = k.chunked = true;
      k.vec = vec;
      k.buffers = {In("x", t,
                      {Stride::kZero, loop ? Stride::kAny : Stride::kOne,
                       loop ? Stride::kOne : Stride::kAny}),
                   Out("o", t, {Stride::kAny, Stride::kOne, Stride::kZero}),
                   Out("i", DType::kI64, {Stride::kAny, Stride::kOne, Stride::kZero})};
      kir::Builder b(&k);
      b.Loop();
      kir::V sum = b.Reduce(kir::ReduceKind::kSum, b.Load(0), loop ? 64 : 8);
      kir::V index = b.Reduce(kir::ReduceKind::kSum, b.Index(2), 0);
      b.End();
      b.Store(1, sum);
      b.Store(2, index);
      Compile(k);
      if (HasFatalFailure()) return;
      for (int64_t n : {1, 4095, 4096, 4097, 9000}) {
        const std::vector<int64_t> extents = {(n + 4095) / 4096, 5, n};
        Run(k, extents, WholeRange(k, extents));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Several vectors of columns share a pass over the rows: values before, between and after the
// loops.
TEST_P(X86Test, ColumnVariance) {
  for (DType t : {DType::kF32, DType::kF64}) {
    Kernel k;
    k.name = "variance";
    k.rank = 2;
    k.has_loop = true;
    k.buffers = {In("x", t, {Stride::kAny, Stride::kOne, Stride::kAny}),
                 In("bias", t, {Stride::kZero, Stride::kOne, Stride::kZero}),
                 In("w", DType::kI16, {Stride::kZero, Stride::kZero, Stride::kOne}),
                 Out("o", t, {Stride::kAny, Stride::kOne, Stride::kZero}),
                 Out("m", t, {Stride::kAny, Stride::kOne, Stride::kZero}),
                 Out("d", t, {Stride::kAny, Stride::kOne, Stride::kAny})};
    kir::Builder b(&k);
    kir::V bias = b.Load(1);
    b.Loop();
    kir::V sum = b.Reduce(kir::ReduceKind::kSum, b.Load(0), 8);
    b.End();
    kir::V mean = sum * b.Const(t, 0.25);
    b.Loop();
    kir::V d = b.Load(0) - mean;
    kir::V squares = b.Reduce(kir::ReduceKind::kSum, d * d, 8);
    b.Store(5, d);
    b.End();
    b.Store(3, squares + bias);
    b.Store(4, mean);
    Compile(k);
    if (HasFatalFailure()) return;
    for (int64_t n : {1, 63, 64, 65, 130, 300, 1100}) {
      Run(k, {2, n, 11}, {0, 2, 0, n});
      Run(k, {2, n, 3}, {1, 2, n / 3, n});
      Run(k, {2, n, 0}, {0, 2, 0, n});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(X86Test, Softmax) {
  for (DType t : {DType::kF32, DType::kF64}) {
    Kernel k;
    k.name = "softmax";
    k.has_loop = true;
    k.vec = kir::VecAxis::kLoop;
    k.buffers = {In("x", t, {Stride::kAny, Stride::kOne}),
                 Out("o", t, {Stride::kAny, Stride::kOne})};
    kir::Builder b(&k);
    auto half_exp = [&](kir::V x) { return b.Const(t, 1) / (b.Const(t, 1) - x); };
    b.Loop();
    kir::V max = b.Reduce(kir::ReduceKind::kMax, b.Load(0), 0);
    b.End();
    b.Loop();
    kir::V sum = b.Reduce(kir::ReduceKind::kSum, half_exp(b.Load(0) - max), 64);
    b.End();
    kir::V scale = b.Const(t, 1) / sum;
    b.Loop();
    b.Store(1, half_exp(b.Load(0) - max) * scale);
    b.End();
    Compile(k);
    if (HasFatalFailure()) return;
    for (int64_t n : {0, 1, 5, 64, 100, 200}) {
      Run(k, {7, n}, {0, 1, 0, 7});
      Run(k, {7, n}, {0, 1, 2, 6});
      if (HasFatalFailure()) return;
    }
  }
}

// What is parked in the output between two loops, and kernels that look like it where it may not
// be.
TEST_P(X86Test, ValuesThatTwoLoopsNeed) {
  for (DType t : {DType::kF32, DType::kF64, DType::kF16}) {
    for (int form = 0; form < 6; ++form) {
      SCOPED_TRACE(absl::StrCat(std::string(ShortName(t)), " form ", form));
      const DType wide = t == DType::kF16 ? DType::kF32 : t;
      Kernel k;
      k.name = "twice";
      k.has_loop = true;
      k.vec = kir::VecAxis::kLoop;
      k.buffers = {In("x", t, {Stride::kAny, Stride::kOne}),
                   In("y", t, {Stride::kAny, Stride::kOne}),
                   Out("o", t, {Stride::kAny, form == 1 ? Stride::kAny : Stride::kOne}),
                   Out("p", t, {Stride::kAny, Stride::kOne})};
      kir::Builder b(&k);
      const auto load = [&](int buffer) { return b.Cast(wide, b.Load(buffer)); };
      b.Loop();
      kir::V max = b.Reduce(kir::ReduceKind::kMax, load(0), 0);
      b.End();
      b.Loop();
      const kir::V made = b.Call(kir::FindFn("exp"), load(0) - max);
      kir::V sum = b.Reduce(kir::ReduceKind::kSum, made, 64);
      if (form == 2) b.Reduce(kir::ReduceKind::kMax, load(1), 0);  // behind what would be parked
      b.End();
      b.Loop();
      const kir::V again = b.Call(kir::FindFn("exp"), load(0) - max);
      kir::V result = again / sum;
      if (form == 3) result = result + load(0);
      if (form == 4) result = result * b.Call(kir::FindFn("exp"), load(1));
      b.Store(2, b.Cast(t, result));
      if (form == 5) b.Store(3, b.Cast(t, again));
      b.End();
      Compile(k);
      if (HasFatalFailure()) return;
      for (int64_t n : {0, 1, 5, 64, 100, 300}) {
        Run(k, {7, n}, {0, 1, 0, 7});
        Run(k, {7, n}, {0, 1, 2, 6});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(X86Test, NoPageIsWritableAndExecutable) {
  const Kernel k = OneOp(Op::kAdd, DType::kF32, 0, rng_);
  Compile(k);
  if (HasFatalFailure()) return;
  std::ifstream maps("/proc/self/maps");
  ASSERT_TRUE(maps.good());
  bool found = false;
  const auto code = reinterpret_cast<uintptr_t>(got_->fn());
  for (std::string line; std::getline(maps, line);) {
    const std::string access = line.substr(line.find(' ') + 1, 3);
    EXPECT_FALSE(access[1] == 'w' && access[2] == 'x') << line;
    uintptr_t begin = 0, end = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%lx-%lx", &begin, &end), 2);
    if (begin <= code && code < end) found = access == "r-x";
  }
  EXPECT_TRUE(found);
}

TEST_P(X86Test, ManyThreadsEmitAndRelease) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Rng rng(t);
      for (int i = 0; i < 25; ++i) {
        const Kernel k = OneOp(i % 2 ? Op::kAdd : Op::kMul, DType::kF32, 0, rng);
        auto want = interpreter_->Emit(k);
        auto got = emitter_->Emit(k);
        if (!got.ok() || !CompareRuns(k, **want, **got, {20}, {0, 1, 0, 20}, rng).empty()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  // Code outlives its emitter.
  const Kernel k = OneOp(Op::kSub, DType::kF64, 0, rng_);
  Compile(k);
  if (HasFatalFailure()) return;
  emitter_.reset();
  Run(k, {33}, {0, 1, 0, 33});
}

TEST_P(X86Test, RandomKernels) {
  GenOptions options;
  uint64_t ran = 0;
  const uint64_t kernels = std::getenv("FRAZIL_NIGHTLY") ? 1500 : 600;
  for (uint64_t seed = 0; seed < kernels; ++seed) {
    options.calls = seed % 3 == 0;
    options.down = seed % 2 == 0;
    const Comparison c = CompareEmitters(*interpreter_, *emitter_, seed, options);
    ASSERT_EQ(c.difference, "");
    ran += !c.refused;
  }
  EXPECT_GT(ran, kernels * 14 / 15);
}

}  // namespace
}  // namespace frazil::jit
