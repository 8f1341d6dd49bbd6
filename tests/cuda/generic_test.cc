// The text that runs every kernel, on the host against the interpreter, and what NVRTC says of it.
#include "jit/emit/cuda/generic.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "gtest/gtest.h"
#include "jit/kir/builder.h"
#include "tests/cuda/on_host.h"
#include "tests/jit/op_cases.h"

namespace frazil::jit {
namespace {

namespace fs = std::filesystem;

TEST(CudaGeneric, EveryInstructionAgreesWithTheInterpreter) { CompareGenericOnHost(OpCases()); }

TEST(CudaGeneric, RandomKernelsAgreeWithTheInterpreter) {
  std::vector<Case> cases;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Rng rng(seed);
    kir::Kernel kernel = RandomKernel(rng, {.calls = seed % 4 == 0});
    std::vector<int64_t> extents = RandomExtents(kernel, rng);
    cases.push_back(MakeCase(std::move(kernel), std::move(extents), rng));
  }
  CompareGenericOnHost(cases);
}

TEST(CudaGeneric, GoldensAgreeWithTheInterpreter) {
  std::vector<Case> cases;
  Rng rng(5);
  for (const auto& entry : fs::directory_iterator(FRAZIL_JIT_GOLDENS)) {
    if (entry.path().extension() != ".kir") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const auto kernel = kir::Parse(text.str());
    ASSERT_TRUE(kernel.ok()) << entry.path() << ": " << kernel.status();
    if (kernel->has_repeat()) {
      const Status refused = cuda::EncodeGeneric(*kernel).status();
      EXPECT_EQ(KindOf(refused), ErrorKind::kNotImplemented) << refused;
      continue;
    }
    for (int i = 0; i < 4; ++i)
      cases.push_back(MakeCase(*kernel, RandomExtents(*kernel, rng), rng));
    if (!kernel->has_loop) continue;
    for (const int64_t n : {0, 1, 63, 64, 65, 1000, 4096}) {
      std::vector<int64_t> extents(size_t(kernel->axes()), 3);
      extents.back() = n;
      cases.push_back(MakeCase(*kernel, extents, rng));
    }
  }
  CompareGenericOnHost(cases);
}

// More points than threads: each has several.
TEST(CudaGeneric, AThreadHasManyPoints) {
  kir::Kernel kernel{.name = "many"};
  kernel.buffers.push_back({"x", DType::kI32, false, {kir::Stride::kOne}});
  kernel.buffers.push_back({"o", DType::kI32, true, {kir::Stride::kOne}});
  kir::Builder b(&kernel);
  b.Store(1, b.Load(0) * 3);
  const auto program = cuda::EncodeGeneric(kernel);
  ASSERT_TRUE(program.ok());
  const std::vector<int64_t> extents = {100'003};
  EXPECT_LT(cuda::GenericShape(*program, extents)->grid * cuda::kGenericThreads, 100'003u);
  Rng rng(1);
  CompareGenericOnHost({MakeCase(kernel, extents, rng)});
}

// Sums of integers that round: their order shows.
kir::Kernel RowSum() {
  kir::Kernel kernel{.name = "row", .rank = 1, .has_loop = true, .vec = kir::VecAxis::kLoop};
  kernel.buffers.push_back({"x", DType::kU16, false, {kir::Stride::kAny, kir::Stride::kOne}});
  kernel.buffers.push_back({"o", DType::kF32, true, {kir::Stride::kOne, kir::Stride::kZero}});
  kir::Builder b(&kernel);
  b.Loop();
  const kir::V sum = b.Reduce(kir::ReduceKind::kSum, b.Cast(DType::kF32, b.Load(0)), 64);
  b.End();
  b.Store(1, sum);
  return kernel;
}

TEST(CudaGeneric, LongRowsAgreeWithTheInterpreter) {
  std::vector<Case> cases;
  Rng rng(9);
  kir::Kernel kernel = RowSum();
  for (const int64_t n : {0, 1, 65, 4095, 4096}) cases.push_back(MakeCase(kernel, {3, n}, rng));
  kernel.long_rows = true;
  for (const int64_t n : {0, 1, 4095, 4096, 4097, 8192, 70'000, 500'001})
    cases.push_back(MakeCase(kernel, {3, n}, rng));
  CompareGenericOnHost(cases);
}

TEST(CudaGenericProgram, RefusesMoreThanAChunkInOrder) {
  const auto program = cuda::EncodeGeneric(RowSum());
  ASSERT_TRUE(program.ok()) << program.status();
  const std::vector<int64_t> fits = {2, 4096}, longer = {2, 4097};
  EXPECT_TRUE(cuda::GenericShape(*program, fits).ok());
  const Status status = cuda::GenericShape(*program, longer).status();
  EXPECT_EQ(KindOf(status), ErrorKind::kNotImplemented);
  EXPECT_EQ(status.message(),
            "[cuda] the generic kernel reduces 4096 elements in order, not 4097.");
}

TEST(CudaGenericProgram, RefusesWhatIsTooMuch) {
  kir::Kernel kernel{.name = "long"};
  kernel.buffers.push_back({"x", DType::kF32, false, {kir::Stride::kOne}});
  kernel.buffers.push_back({"o", DType::kF32, true, {kir::Stride::kOne}});
  kir::Builder b(&kernel);
  kir::V x = b.Load(0);
  for (int i = 0; i < 2048; ++i) x = x + double(i);
  b.Store(1, x);
  const Status status = cuda::EncodeGeneric(kernel).status();
  EXPECT_EQ(KindOf(status), ErrorKind::kNotImplemented);
  EXPECT_EQ(
      status.message(),
      "[cuda] long has 4098 instructions, 5 words of arguments and 1 axes, the generic kernel "
      "takes 4096, 494 and 17.");
}

}  // namespace
}  // namespace frazil::jit
