// The interpreter against hand-made answers, and legalisation against the interpreter.
#include "jit/emit/interp/interp.h"

#include <cmath>

#include "gtest/gtest.h"
#include "jit/kir/fn_table.h"
#include "jit/kir/legalize.h"
#include "tests/jit/kernel_gen.h"
#include "tests/jit/op_cases.h"
#include "tests/jit/reference.h"

namespace frazil::jit {
namespace {

// An interpreter that legalises first: the same kernels must give the same bits.
class LegalizingInterpreter : public Emitter {
 public:
  const Caps& caps() const override {
    static constexpr Caps kCaps{.name = "legalized", .executes = true};
    return kCaps;
  }
  StatusOr<std::unique_ptr<Compiled>> Emit(const kir::Kernel& kernel) override {
    FZ_ASSIGN_OR_RETURN(const kir::Kernel legal, kir::Legalize(kernel));
    FZ_RETURN_IF_ERROR(kir::Verify(legal));
    for (const kir::Inst& inst : legal.body) {
      if (!kir::IsLegal(inst, legal, {})) return ValueError("[test] not legal: ", Print(legal));
    }
    return interpreter_->Emit(legal);
  }

 private:
  std::unique_ptr<Emitter> interpreter_ = NewInterpreter();
};

TEST(Interp, EveryInstructionOnEveryTypeAgreesWithTheReference) {
  const auto reference = NewReference(), interpreter = NewInterpreter();
  const std::vector<Case> cases = OpCases();
  // 156 casts, 26 bitcasts, and 6 arithmetic types, of which 4 integers and 2 floats, and bool for
  // the rest.
  EXPECT_EQ(cases.size(), 156u + 26 + 6 * 8 + 4 * 2 + 2 * 6 + 6 * 2 + 7 * 2 + 5 * 4 + 4 * 2 + 7);
  for (const Case& c : cases) ASSERT_EQ(CompareOn(c, *reference, *interpreter, 0).difference, "");
}

TEST(Interp, RandomKernelsAgreeWithTheReference) {
  const auto reference = NewReference(), interpreter = NewInterpreter();
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const GenOptions options{.down = seed % 2 == 0};
    ASSERT_EQ(CompareEmitters(*reference, *interpreter, seed, options).difference, "");
  }
}

TEST(Interp, RandomRepeatsAgreeWithTheReference) {
  const auto reference = NewReference(), interpreter = NewInterpreter();
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const GenOptions options{.loops = false, .repeats = true};
    ASSERT_EQ(CompareEmitters(*reference, *interpreter, seed, options).difference, "");
  }
}

// The value of a one-element kernel over a row of f32, as text: shows the sign of zero.
std::string OverRow(const char* text, std::vector<float> row) {
  const kir::Kernel kernel = *kir::Parse(text);
  float out = 77;
  void* buffers[] = {row.data(), &out};
  const int64_t extents[] = {1, int64_t(row.size())}, strides[] = {0, 4, 0, 0};
  auto compiled = NewInterpreter()->Emit(kernel);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  (*compiled)->Run({buffers, extents, strides, nullptr}, 0, 1, 0, 1);
  return absl::StrCat(std::signbit(out) ? "-" : "+", std::fabs(out));
}

TEST(Interp, SumsBySixtyFourLanesAndTheHalvingTree) {
  const char* sum = R"(kernel s(x: buf f32 [0,1], o: out f32 [0,0]) space 1 loop vec loop
    loop
      %1 = load x : f32
      %2 = reduce sum.64 %1 : f32
    end
    store o, %2)";
  EXPECT_EQ(OverRow(sum, {}), "+0");
  EXPECT_EQ(OverRow(sum, {-0.0f}), "-0");
  EXPECT_EQ(OverRow(sum, {-0.0f, 0.0f}), "+0");
  // 2^24 + 1 - 2^24: elements 0 and 64 share a lane, where the 1 is lost; 0 and 1 do not meet until
  // the 2^24 are gone.
  std::vector<float> row(129, 0.0f);
  row[0] = 0x1p24f, row[64] = 1, row[128] = -0x1p24f;
  EXPECT_EQ(OverRow(sum, row), "+0");
  std::swap(row[64], row[1]);
  EXPECT_EQ(OverRow(sum, row), "+1");
}

// Each chunk of 4096 alone, then their results.
TEST(Interp, SumsLongRowsByChunks) {
  const char* sum = R"(kernel s(x: buf f32 [0,1], o: out f32 [0,0]) space 1 loop long vec loop
    loop
      %1 = load x : f32
      %2 = reduce sum.64 %1 : f32
    end
    store o, %2)";
  EXPECT_EQ(OverRow(sum, {}), "+0");
  EXPECT_EQ(OverRow(sum, std::vector<float>(4096, -0.0f)), "-0");
  EXPECT_EQ(OverRow(sum, std::vector<float>(4097, -0.0f)), "-0");
  EXPECT_EQ(OverRow(sum, std::vector<float>(9000, 1.0f)), "+9000");
  // 2^24 and 1 are of one lane, but of two chunks: the 1 meets -2^24 after 2^24 has.
  std::vector<float> row(3 * 4096, 0.0f);
  row[0] = 0x1p24f, row[2 * 4096] = -0x1p24f, row[4096 + 64] = 1;
  EXPECT_EQ(OverRow(sum, row), "+1");
  row[4096 + 64] = 0, row[64] = 1;
  EXPECT_EQ(OverRow(sum, row), "+0");
}

TEST(Interp, ExtremesTakeNaNAndOrderZeros) {
  const char* max = R"(kernel m(x: buf f32 [0,1], o: out f32 [0,0]) space 1 loop vec loop
    loop
      %1 = load x : f32
      %2 = reduce max %1 : f32
    end
    store o, %2)";
  EXPECT_EQ(OverRow(max, {}), "-inf");
  EXPECT_EQ(OverRow(max, {-0.0f, 0.0f, -0.0f}), "+0");
  EXPECT_EQ(OverRow(max, {1, NAN, 2}).substr(1), "nan");
}

TEST(Interp, PhasesSeeWhatEarlierPhasesStored) {
  // Reverses through o: every point of the first phase is done before the second reads across
  // points.
  const kir::Kernel kernel =
      *kir::Parse(R"(kernel r(x: buf i64 [1], o: out i64 [1], p: out i64 [1]) space 1
    %a = load x : i64
    store o, %a
    barrier
    %i = index 0 : i64
    %last = const 999 : i64
    %two = const 2 : i64
    %twice = mul %i, %two : i64
    %back = sub %last, %twice : i64
    %v = load o[%back] : i64
    store p, %v)");
  std::vector<int64_t> x(1000), o(1000), p(1000);
  for (int i = 0; i < 1000; ++i) x[i] = i * i;
  void* buffers[] = {x.data(), o.data(), p.data()};
  const int64_t extents[] = {1000}, strides[] = {8, 8, 8};
  (*NewInterpreter()->Emit(kernel))->Run({buffers, extents, strides, nullptr}, 0, 1, 0, 1000);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(p[i], x[999 - i]);
}

// Three carries that change places, one word an iteration for each of two scalars, and a bool.
TEST(Interp, RepeatsAssignInParallel) {
  const kir::Kernel kernel = *kir::Parse(
      R"(kernel r(x: buf i32 [1], n: scalar i64, k: scalar i32, w: each i32, b: each bool, o: out i32 [1], p: out i32 [1], q: out bool [1]) space 1
    %x = load x : i32
    %k = param k : i32
    %true = const true : bool
    %n = param n : i64
    repeat %n
      %1 = carry %x : i32
      %2 = carry %k : i32
      %3 = carry %true : bool
      %w = param w : i32
      %b = param b : bool
      %s = add %1, %w : i32
      %t = xor %3, %b : bool
      next %1, %2
      next %2, %s
      next %3, %t
    done
    store o, %1
    store p, %2
    store q, %3)");
  std::vector<int32_t> x(600), o(600), p(600);
  for (int i = 0; i < 600; ++i) x[i] = i;
  std::vector<uint8_t> q(600, 7);
  void* buffers[] = {x.data(), o.data(), p.data(), q.data()};
  const int64_t extents[] = {600}, strides[] = {4, 4, 4, 1};
  const uint64_t scalars[] = {3, 1000, 1, 1, 20, 0, 300, 1};
  (*NewInterpreter()->Emit(kernel))->Run({buffers, extents, strides, scalars}, 0, 1, 0, 600);
  for (int i = 0; i < 600; ++i) {  // (i, 1000) (1000, i + 1) (i + 1, 1020) (1020, i + 301)
    ASSERT_EQ(o[i], 1020);
    ASSERT_EQ(p[i], i + 301);
    ASSERT_EQ(q[i], 1);  // switched twice
  }
}

TEST(Interp, RepeatsFollowOneAnother) {
  const kir::Kernel kernel =
      *kir::Parse(R"(kernel r(x: buf f64 [1], y: buf f64 [1], n: scalar i64, o: out f64 [1]) space 1
    %x = load x : f64
    %n = param n : i64
    repeat %n
      %1 = carry %x : f64
      %y = load y : f64
      %2 = mul %1, %y : f64
      next %1, %2
    done
    %one = const 1 : i64
    repeat %one
      %3 = carry %1 : f64
      %4 = carry %x : f64
      next %3, %4
      next %4, %3
    done
    %d = sub %4, %3 : f64
    store o, %d)");
  std::vector<double> x = {1, 2, 3}, y = {2, 3, 4}, o(3);
  void* buffers[] = {x.data(), y.data(), o.data()};
  const int64_t extents[] = {3}, strides[] = {8, 8, 8};
  const uint64_t scalars[] = {5};
  (*NewInterpreter()->Emit(kernel))->Run({buffers, extents, strides, scalars}, 0, 1, 0, 3);
  EXPECT_EQ(o, (std::vector<double>{31, 2 * 243 - 2, 3 * 1024 - 3}));
}

TEST(Interp, RefusesWhatDoesNotVerify) {
  kir::Kernel kernel{.name = "k"};
  kernel.body.push_back({.op = kir::Op::kEnd});
  EXPECT_EQ(NewInterpreter()->Emit(kernel).status().message(),
            "[kir] k at %0 end: no loop is open.");
}

TEST(Legalize, KeepsEveryInstruction) {
  const auto interpreter = NewInterpreter();
  LegalizingInterpreter legalizing;
  for (const Case& c : OpCases())
    ASSERT_EQ(CompareOn(c, *interpreter, legalizing, 0).difference, "");
}

TEST(Legalize, KeepsEveryBitOfRandomKernels) {
  const auto interpreter = NewInterpreter();
  LegalizingInterpreter legalizing;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Comparison result = CompareEmitters(*interpreter, legalizing, seed);
    ASSERT_FALSE(result.refused);
    ASSERT_EQ(result.difference, "");
  }
}

TEST(Legalize, KeepsEveryBitOfRepeats) {
  const auto interpreter = NewInterpreter();
  LegalizingInterpreter legalizing;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const GenOptions options{.loops = false, .calls = true, .repeats = true};
    ASSERT_EQ(CompareEmitters(*interpreter, legalizing, seed, options).difference, "");
  }
}

// Calls have one definition: inlined before, or together with, the legalisation of everything else.
TEST(Legalize, KeepsCalls) {
  const auto interpreter = NewInterpreter();
  LegalizingInterpreter legalizing;
  int calls = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng(seed);
    kir::Kernel kernel = RandomKernel(rng, {.calls = true});
    for (const kir::Inst& inst : kernel.body) calls += inst.op == kir::Op::kCall;
    std::vector<int64_t> extents = RandomExtents(kernel, rng);
    const Case c = MakeCase(std::move(kernel), std::move(extents), rng);
    ASSERT_EQ(CompareOn(c, *interpreter, legalizing, seed).difference, "");
  }
  EXPECT_GT(calls, 30);
}

TEST(Legalize, LeavesNativeCalls) {
  const kir::Kernel kernel = *kir::Parse(R"(kernel e(x: buf f32 [1], o: out f32 [1]) space 1
    %0 = load x : f32
    %1 = call exp %0 : f32
    %2 = call log %1 : f32
    store o, %2)");
  const kir::LegalCaps caps{.native_calls = uint64_t{1} << kir::FindFn("exp")};
  const kir::Kernel legal = *kir::Legalize(kernel, caps);
  EXPECT_TRUE(kir::Verify(legal).ok());
  int calls = 0;
  for (const kir::Inst& inst : legal.body) {
    EXPECT_TRUE(kir::IsLegal(inst, legal, caps));
    calls += inst.op == kir::Op::kCall;
  }
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace frazil::jit
