// Which variant a launch gets, its grid and its arguments.
#include <cstring>

#include "gtest/gtest.h"
#include "jit/emit/cuda/cuda.h"

namespace frazil::jit::cuda {
namespace {

kir::Kernel Parse(std::string_view text) {
  const auto kernel = kir::Parse(text);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return *kernel;
}

kir::Kernel Add() {
  return Parse(R"(kernel k_add(a: buf f32 [s,1], b: buf bf16 [s,1], o: out f32 [s,1]) space 2
    %0 = load a : f32
    %1 = load b : bf16
    %2 = cast %1 : f32
    %3 = add %0, %2 : f32
    store o, %3)");
}

struct Shape {
  std::vector<int64_t> extents, strides;
  std::vector<uint64_t> addresses;
};

Shape Dense(int64_t rows, int64_t columns) {
  return {{rows, columns},
          {columns * 4, 4, columns * 2, 2, columns * 4, 4},
          {1 << 20, 2ull << 40, 3ull << 40}};
}

CudaVariant Choose(const kir::Kernel& kernel, const Shape& s) {
  return ChooseVariant(kernel, s.extents, s.strides, s.addresses);
}

TEST(CudaChoice, VectorsNeedAlignedRowsAndDivideThem) {
  const kir::Kernel add = Add();
  EXPECT_EQ(Choose(add, Dense(10, 1024)).vec, 8);
  EXPECT_EQ(Choose(add, Dense(10, 1020)).vec, 4);
  EXPECT_EQ(Choose(add, Dense(10, 1022)).vec, 2);
  EXPECT_EQ(Choose(add, Dense(10, 1023)).vec, 1);
  Shape s = Dense(10, 1024);
  s.addresses[1] += 4;
  EXPECT_EQ(Choose(add, s).vec, 2);
  s.addresses[1] += 2;
  EXPECT_EQ(Choose(add, s).vec, 1);
  s = Dense(10, 1024);
  s.strides[0] += 4;  // rows of `a` one element further apart
  EXPECT_EQ(Choose(add, s).vec, 1);
  s.extents[0] = 1;  // of which there is one
  EXPECT_EQ(Choose(add, s).vec, 8);
}

TEST(CudaChoice, OffsetsOf31BitsAreNarrow) {
  const kir::Kernel add = Add();
  EXPECT_TRUE(Choose(add, Dense(500'000, 1024)).narrow);
  EXPECT_FALSE(Choose(add, Dense(600'000, 1024)).narrow);  // 2.4 GB
  Shape s = Dense(2, 8);
  s.strides[0] = -(int64_t{1} << 33);
  EXPECT_FALSE(Choose(add, s).narrow);
  s.extents[0] = 1;  // it is an argument all the same
  EXPECT_FALSE(Choose(add, s).narrow);
}

TEST(CudaChoice, SeesOutputsThatOverlap) {
  const kir::Kernel add = Add();
  Shape s = Dense(4, 16);
  EXPECT_TRUE(Choose(add, s).apart);
  s.addresses[2] = s.addresses[0];  // in place
  EXPECT_FALSE(Choose(add, s).apart);
  s.addresses[2] = s.addresses[0] + 4 * 16 * 4;
  EXPECT_TRUE(Choose(add, s).apart);
  s.addresses[2] -= 4;
  EXPECT_FALSE(Choose(add, s).apart);
  s.strides[0] = -64;  // from its last row back
  EXPECT_TRUE(Choose(add, s).apart);
  s.addresses[2] = s.addresses[0] - 3 * 64 - 4 * 16 * 4;
  EXPECT_TRUE(Choose(add, s).apart);
  s.addresses[2] += 4;
  EXPECT_FALSE(Choose(add, s).apart);
}

TEST(CudaChoice, RowsAreHeldWhereTheyFit) {
  const kir::Kernel softmax = Parse(R"(
    kernel softmax(x: buf f32 [s,1], o: out f32 [s,1]) space 1 loop long vec loop
      loop
        %1 = load x : f32
        %2 = reduce max %1 : f32
      end
      loop
        %4 = load x : f32
        %5 = sub %4, %2 : f32
        %6 = call exp %5 : f32
        %7 = reduce sum.64 %6 : f32
      end
      loop
        %8 = load x : f32
        %9 = sub %8, %2 : f32
        %10 = call exp %9 : f32
        %11 = div %10, %7 : f32
        store o, %11
      end)");
  const auto choose = [&](int64_t n, int shared) {
    const std::vector<int64_t> extents = {1000, n}, strides = {n * 4, 4, n * 4, 4};
    const std::vector<uint64_t> addresses = {1 << 20, 2ull << 40};
    return ChooseVariant(softmax, extents, strides, addresses, {.shared_bytes = shared});
  };
  const int h200 = 227 << 10;
  // Cut rows are for two warps at least.
  EXPECT_EQ(choose(1024, h200).Text(), "n1a1v2t32w2s16b64");
  EXPECT_EQ(choose(8192, h200).Text(), "n1a1v2t32w2s128b64");
  EXPECT_EQ(choose(32768, h200).Text(), "n1a1v2t32w8s512b256");
  EXPECT_EQ(choose(32768, 48 << 10).keep, 0);
  // Where all that a block may have is a row, the partial results of its warps find no place.
  EXPECT_EQ(choose(16384, 64 << 10).keep, 0);
  EXPECT_EQ(choose(16384, (64 << 10) + 512).keep, 256);
  EXPECT_EQ(choose(65536, h200).Text(), "n1a1v2t32w16k0b512");
  const auto source = PrintCuda(softmax, choose(32768, h200));
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->shared_bytes, 32768 * 4);  // x and exp(x - max) share their place
  EXPECT_EQ(source->static_shared_bytes, 2 * 64 * 4);
  kir::Kernel whole = softmax;
  whole.long_rows = false;
  const auto text = [&](int64_t n) {
    const std::vector<int64_t> extents = {1000, n}, strides = {n * 4, 4, n * 4, 4};
    return ChooseVariant(whole, extents, strides, {{1 << 20, 2ull << 40}}).Text();
  };
  EXPECT_EQ(text(3), "n1a1v1t4w1k1b128");
  EXPECT_EQ(text(10), "n1a1v2t8w1k1b128");
  EXPECT_EQ(text(64), "n1a1v2t32w1f1b128");
  EXPECT_EQ(text(1000), "n1a1v2t32w1k16b128");
  EXPECT_EQ(text(1024), "n1a1v2t32w1f16b128");
  EXPECT_EQ(text(1025), "n1a1v1t32w1s32b128");
  EXPECT_EQ(text(4096), "n1a1v2t32w1s64b64");
}

// Division by multiplication, over all that may be divided.
TEST(CudaChoice, QuotientsAreExact) {
  const kir::Kernel add = Add();
  const auto source = PrintCuda(add, {.narrow = true});
  ASSERT_TRUE(source.ok());
  for (const int64_t d : {1l, 2l, 3l, 5l, 7l, 10l, 641l, 1000l, 4096l, 65535l, 65537l, 1000003l,
                          (1l << 30) - 1, 1l << 30, (1l << 30) + 1, (1l << 31) - (1l << 20) - 1}) {
    const int64_t extents[] = {2, d}, strides[] = {4, 4, 4, 4, 4, 4};
    void* buffers[3] = {};
    const std::vector<uint8_t> bytes = PackArgs(*source, {buffers, extents, strides, nullptr});
    uint32_t factor = 0, shift = 0;
    size_t at = 0;
    for (const CudaArg& arg : source->args) {
      if (arg.kind == CudaArg::kMagic) std::memcpy(&factor, &bytes[at], 4);
      if (arg.kind == CudaArg::kShift) std::memcpy(&shift, &bytes[at], 4);
      at += arg.bytes;
    }
    const auto check = [&](int64_t x) {
      if (x < 0 || x >= int64_t{1} << 31) return;
      const uint32_t high = uint32_t(uint64_t(x) * factor >> 32);
      ASSERT_EQ(int64_t((high + uint32_t(x)) >> shift), x / d) << x << " / " << d;
    };
    for (int64_t x = 0; x < int64_t{1} << 31; x += 99'991) check(x);
    for (int64_t k = 0; k < 1000; ++k) {
      for (const int64_t at_edge : {k * d, (((int64_t{1} << 31) - 1) / d - k) * d}) {
        check(at_edge - 1);
        check(at_edge);
      }
      check((int64_t{1} << 31) - 1 - k);
    }
  }
}

TEST(CudaChoice, ArgumentsAreWhatTheTextUses) {
  const kir::Kernel kernel = Parse(R"(
    kernel k_scale(unused: buf f64 [s,1], x: buf f32 [s,1], w: scalar f32, o: out f32 [s,1]) space 2
      %0 = load x : f32
      %1 = param w : f32
      %2 = mul %0, %1 : f32
      store o, %2)");
  const auto source = PrintCuda(kernel, {.narrow = true, .vec = 4});
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->entries[0].rfind("frazil_scale_", 0), 0u);
  EXPECT_EQ(AddressOffset(*source, 0), -1);
  EXPECT_EQ(AddressOffset(*source, 1), 0);
  EXPECT_EQ(AddressOffset(*source, 2), 8);
  EXPECT_EQ(source->args_bytes % 8, 0);
  // Two addresses, two strides, the scalar, points, columns and their factor and shift.
  EXPECT_EQ(source->args_bytes, 2 * 8 + 2 * 4 + 4 + 4 * 4 + 4);
  const int64_t extents[] = {100, 64};
  const CudaGrid grid = LaunchShape(*source, extents);
  EXPECT_EQ(grid.grid, 7u);  // 1600 vectors
  EXPECT_EQ(grid.block, 256u);
  const int64_t empty[] = {100, 0};
  EXPECT_EQ(LaunchShape(*source, empty).grid, 0u);
  const auto wide = PrintCuda(kernel, {});
  ASSERT_TRUE(wide.ok());
  const int64_t huge[] = {int64_t{1} << 40, 64};
  EXPECT_EQ(LaunchShape(*wide, huge).grid, 0x7fffffffu);
  EXPECT_NE(wide->text.find("tile += gridDim.x"), std::string::npos);
}

TEST(CudaChoice, RefusesArgumentsThatDoNotFit) {
  kir::Kernel kernel{.name = "k_many", .rank = 1};
  for (int i = 0; i < 400; ++i)
    kernel.buffers.push_back({StrCat("o", i), DType::kF32, true, {kir::Stride::kAny}});
  kernel.body.push_back({.op = kir::Op::kConst, .type = DType::kF32});
  for (uint64_t i = 0; i < 400; ++i)
    kernel.body.push_back({.op = kir::Op::kStore, .type = DType::kF32, .a = 0, .imm = i});
  const Status status = PrintCuda(kernel, {}).status();
  EXPECT_EQ(KindOf(status), ErrorKind::kNotImplemented);
  EXPECT_EQ(status.message(), "[cuda] k_many has 6408 bytes of arguments, a launch takes 4000.");
}

}  // namespace
}  // namespace frazil::jit::cuda
