// Matrix products on the NPU against their definition, under the checker.
#include "jit/emit/npu/gemm.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "jit/emit/interp/interp.h"
#include "kernels/gemm/gemm.h"
#include "npu/asm.h"
#include "npu/simulator.h"

namespace frazil::npu {
namespace {

using Rng = std::mt19937_64;

// A matrix of rows x cols stored plainly or transposed, with some elements between rows.
struct Matrix {
  std::vector<char> bytes;
  MatrixRef ref;

  Matrix(DType dtype, int64_t rows, int64_t cols, bool transposed, int64_t gap, Rng& rng) {
    const int64_t inner = (transposed ? rows : cols) + gap, outer = transposed ? cols : rows;
    bytes.resize(size_t(inner * outer * SizeOf(dtype)));
    for (int64_t i = 0; i < inner * outer; ++i) {
      const double x = double(int64_t(rng() % 2001) - 1000) / 256;
      char* at = bytes.data() + i * SizeOf(dtype);
      VisitDType(dtype, [&]<typename T>() {
        const T value = Make<T>(x);
        std::memcpy(at, &value, sizeof value);
      });
    }
    ref = {bytes.data(), transposed ? 1 : inner, transposed ? inner : 1};
  }

 private:
  template <typename T>
  static T Make(double x) {
    if constexpr (std::is_same_v<T, Half>) return ToHalf(x);
    if constexpr (std::is_same_v<T, BFloat16>) return ToBFloat16(x);
    if constexpr (std::is_integral_v<T>) return T(int64_t(x * 20));
    if constexpr (std::is_floating_point_v<T>) return T(x);
    return T{};
  }
  template <typename F>
  static void VisitDType(DType dtype, F f) {
    switch (dtype) {
      case DType::kF32:
        return f.template operator()<float>();
      case DType::kF16:
        return f.template operator()<Half>();
      case DType::kBF16:
        return f.template operator()<BFloat16>();
      case DType::kI8:
        return f.template operator()<int8_t>();
      default:
        return f.template operator()<uint8_t>();
    }
  }
};

struct GemmCase {
  const char* preset;
  DType dtype;
  int64_t m, n, k;
  bool a_transposed, b_transposed, single = false;  // single: not double-buffered
};

void Compare(const GemmCase& c, Rng& rng) {
  const Preset preset = *FindPreset(c.preset);
  const int64_t gap = rng() % 3 ? 0 : int64_t(rng() % 5);
  Matrix a(c.dtype, c.m, c.k, c.a_transposed, gap, rng),
      b(c.dtype, c.k, c.n, c.b_transposed, gap, rng), want(c.dtype, c.m, c.n, false, 0, rng);
  Matrix got = want;
  got.ref.data = got.bytes.data();
  GemmArgs args{c.dtype, c.m, c.n, c.k, a.ref, b.ref, want.ref};
  Gemm(args, Isa::kScalar);
  args.c = got.ref;
  GemmBlocks blocks = ChooseBlocks(preset, *MatrixTypeOf(c.dtype), c.m, c.n, c.k);
  if (c.single) blocks.double_buffered = blocks.prefetch = false;
  const auto program = EmitGemm(args, {{{0, 0, 0}}}, preset, blocks);
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<uint64_t> params;
  std::vector<Window> windows;
  for (Matrix* m : {&a, &b, &got}) {
    params.push_back(kGmBase + params.size() * 0x1000'0000);
    windows.push_back({params.back(), int64_t(m->bytes.size()), m->bytes.data(), m == &got});
  }
  LaunchOptions options;
  options.mode = Mode::kCheck;
  const auto result = Launch(*program, preset, params, windows, options);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_FALSE(result->fault) << result->fault->Text();
  EXPECT_EQ(std::memcmp(want.bytes.data(), got.bytes.data(), want.bytes.size()), 0);
}

TEST(NpuGemm, EqualsTheDefinition) {
  Rng rng(7);
  constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kI8, DType::kU8};
  constexpr int64_t kSizes[] = {1, 2, 7, 16, 17, 31, 64, 100, 130, 257, 300};
  for (int i = 0; i < 200; ++i) {
    const auto size = [&](int64_t n) { return kSizes[rng() % uint64_t(n)]; };
    const GemmCase c{i % 2 ? "edge16" : "dc16",   kTypes[i / 2 % 5], size(11),        size(11),
                     rng() % 10 ? size(10) : 700, bool(rng() & 1),   bool(rng() & 1), i % 4 == 3};
    SCOPED_TRACE(StrCat("case ", i, ": ", c.preset, " ", ShortName(c.dtype), " ", c.m, "x", c.n,
                        "x", c.k, c.a_transposed ? " aT" : "", c.b_transposed ? " bT" : "",
                        c.single ? " single" : ""));
    Compare(c, rng);
    if (HasFailure()) return;
  }
}

// What follows a product is computed from the accumulators: relu(a @ b + bias) * y.
TEST(NpuGemm, EpiloguesHaveTheBitsOfTheKernelsApart) {
  const auto kernel = kir::Parse(
      "kernel tail(c: buf f32 [s,1], bias: buf f32 [0,1], y: buf f32 [s,1], w: scalar f32, "
      "o: out f32 [s,1], p: out f16 [s,1]) space 2\n"
      "  %0 = load c : f32\n  %1 = load bias : f32\n  %2 = add %0, %1 : f32\n"
      "  %3 = param w : f32\n  %4 = max %2, %3 : f32\n  %5 = load y : f32\n"
      "  %6 = mul %4, %5 : f32\n  store o, %6\n  %7 = cast %2 : f16\n  store p, %7\n");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  Rng rng(11);
  for (const auto& [name, m, n, k] : {std::tuple{"dc16", 300, 260, 200},
                                      {"edge16", 100, 70, 90},
                                      {"dc16", 1, 33, 7},
                                      {"dc16", 64, 1, 40},
                                      {"edge16", 17, 10, 300}}) {
    SCOPED_TRACE(StrCat(name, " ", m, "x", n, "x", k));
    const Preset preset = *FindPreset(name);
    Matrix a(DType::kF32, m, k, false, 0, rng), b(DType::kF32, k, n, true, 0, rng),
        c(DType::kF32, m, n, false, 0, rng), bias(DType::kF32, 1, n, false, 0, rng),
        y(DType::kF32, m, n, false, 0, rng), o(DType::kF32, m, n, false, 0, rng),
        p(DType::kF16, m, n, false, 0, rng), want_o = o, want_p = p;
    const GemmArgs args{DType::kF32, m, n, k, a.ref, b.ref, c.ref};
    Gemm(args, Isa::kScalar);
    const uint64_t w = 0x3e800000;  // 0.25
    const std::vector<int64_t> extents{m, n};
    const std::vector<int64_t> strides{4 * n, 4, 0, 4, 4 * n, 4, 4 * n, 4, 2 * n, 2};
    void* apart[] = {c.bytes.data(), bias.bytes.data(), y.bytes.data(), want_o.bytes.data(),
                     want_p.bytes.data()};
    const auto interpreted = jit::NewInterpreter()->Emit(*kernel);
    ASSERT_TRUE(interpreted.ok());
    (*interpreted)->Run({apart, extents.data(), strides.data(), &w}, 0, m, 0, n);

    const Epilogue epilogue{&*kernel, {extents, strides}, 0};
    const auto program =
        EmitGemm(args, {{{0, 0, 0}}}, preset, ChooseBlocks(preset, kF32, m, n, k), {}, &epilogue);
    ASSERT_TRUE(program.ok()) << program.status();
    std::vector<uint64_t> params;
    std::vector<Window> windows;
    for (Matrix* x : {&a, &b, &bias, &y, &o, &p}) {
      params.push_back(kGmBase + params.size() * 0x1000'0000);
      windows.push_back(
          {params.back(), int64_t(x->bytes.size()), x->bytes.data(), x == &o || x == &p});
    }
    params.push_back(w);
    LaunchOptions options;
    options.mode = Mode::kCheck;
    const auto result = Launch(*program, preset, params, windows, options);
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_FALSE(result->fault) << result->fault->Text();
    EXPECT_EQ(o.bytes, want_o.bytes);
    EXPECT_EQ(p.bytes, want_p.bytes);
  }
}

TEST(NpuGemm, RefusesWhatTheMatrixUnitDoesNotDo) {
  const Preset preset = *FindPreset("dc16");
  GemmArgs args{DType::kF64, 4, 4, 4, {nullptr, 4, 1}, {nullptr, 4, 1}, {nullptr, 4, 1}};
  const GemmBlocks blocks = ChooseBlocks(preset, kF32, 4, 4, 4);
  const auto refusal = [&] {
    return std::string(EmitGemm(args, {{{0, 0, 0}}}, preset, blocks).status().message());
  };
  EXPECT_EQ(refusal(), "[npu] matmul of f64: the matrix unit has f32, f16, bf16, i8 and u8.");
  args.dtype = DType::kF32;
  args.k = 5000;
  EXPECT_EQ(refusal(), "[npu] matmul: k = 5000 is not in [1, 4096].");
  args.k = 4;
  args.a = {nullptr, 8, 2};
  EXPECT_EQ(refusal(), "[npu] matmul: the elements of the left operand lie apart along both axes.");
}

TEST(NpuGemm, TinyMemoriesGetTinyBlocksOrARefusal) {
  for (const int l0c : {1024, 2048, 4096, 16384}) {
    const Preset preset =
        *PresetFromJson(StrCat("{\"base\": \"edge16\", \"l0c_bytes\": ", l0c, "}"));
    const GemmArgs args{DType::kF32,     40, 40, 50, {nullptr, 50, 1}, {nullptr, 40, 1},
                        {nullptr, 40, 1}};
    const auto program =
        EmitGemm(args, {{{0, 0, 0}}}, preset, ChooseBlocks(preset, kF32, 40, 40, 50));
    EXPECT_EQ(program.ok(), l0c >= 2048) << l0c << ": " << program.status();
  }
}

// Cycles of a product with warm L2, as a share of the matrix unit's peak.
double Utilisation(std::string_view name, DType dtype, int64_t n, bool double_buffered,
                   bool warm = true) {
  const Preset preset = *FindPreset(name);
  const Type type = *MatrixTypeOf(dtype);
  const GemmArgs args{dtype, n, n, n, {nullptr, n, 1}, {nullptr, n, 1}, {nullptr, n, 1}};
  GemmBlocks blocks = ChooseBlocks(preset, type, n, n, n);
  if (!double_buffered) blocks.double_buffered = blocks.prefetch = false;
  const auto program = EmitGemm(args, {{{0, 0, 0}}}, preset, blocks);
  EXPECT_TRUE(program.ok()) << program.status();
  std::vector<uint64_t> params;
  std::vector<Window> windows;
  for (int i = 0; i < 3; ++i) {
    params.push_back(kGmBase + uint64_t(i) * 0x1000'0000);
    windows.push_back({params.back(), n * n * SizeOf(dtype), nullptr, i == 2});
  }
  LaunchOptions options;
  options.mode = Mode::kTimeOnly;
  options.l2_warm = warm;
  const auto result = Launch(*program, preset, params, windows, options);
  EXPECT_TRUE(result.ok() && !result->fault && result->timing);
  const int tk = dtype == DType::kF32 ? preset.tk_f32 : preset.tk_f16;
  const double peak = double(n) / preset.tm * double(n) / preset.tn * double(n) / tk;
  return peak / double(result->timing->cycles);
}

// The profiles of docs/npu.md.
TEST(NpuGemm, KeepsTheMatrixUnitBusy) {
  EXPECT_GE(Utilisation("dc16", DType::kF16, 1024, true), 0.95);
  EXPECT_GE(Utilisation("dc16", DType::kF16, 2048, true), 0.98);
  const double single = Utilisation("dc16", DType::kF16, 1024, false);
  EXPECT_GE(single, 0.45);
  EXPECT_LE(single, 0.56);
  const double small = Utilisation("dc16", DType::kF16, 256, true);
  EXPECT_GE(small, 0.40);
  EXPECT_LE(small, 0.55);
  const double cold = Utilisation("dc16", DType::kF16, 1024, true, false);
  EXPECT_GE(cold, 0.78);
  EXPECT_LE(cold, 0.90);
}

}  // namespace
}  // namespace frazil::npu
