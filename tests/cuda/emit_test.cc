// The text of kernels: goldens, and the same text run on the host against the interpreter.
// FRAZIL_UPDATE_GOLDENS=1 rewrites tests/cuda/goldens/*.cu.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/str.h"
#include "gtest/gtest.h"
#include "jit/kir/builder.h"
#include "tests/cuda/on_host.h"
#include "tests/jit/op_cases.h"

namespace frazil::jit {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The kernels tests/jit/goldens/*.kir by name, but for repeats, which are refused.
std::map<std::string, kir::Kernel> GoldenKernels() {
  std::map<std::string, kir::Kernel> kernels;
  for (const auto& entry : fs::directory_iterator(FRAZIL_JIT_GOLDENS)) {
    if (entry.path().extension() != ".kir") continue;
    const auto kernel = kir::Parse(ReadFile(entry.path()));
    EXPECT_TRUE(kernel.ok()) << entry.path() << ": " << kernel.status();
    if (kernel.ok() && kernel->has_repeat()) {
      const Status refused = cuda::PrintCuda(*kernel, {}).status();
      EXPECT_EQ(KindOf(refused), ErrorKind::kNotImplemented) << refused;
    } else if (kernel.ok()) {
      kernels.emplace(entry.path().stem(), *kernel);
    }
  }
  return kernels;
}

TEST(CudaText, Goldens) {
  const char* update = std::getenv("FRAZIL_UPDATE_GOLDENS");
  int seen = 0;
  for (const auto& [name, kernel] : GoldenKernels()) {
    for (const int64_t inner : {1000, 1024, 4096}) {
      if (inner != 1000 && kernel.vec != kir::VecAxis::kLoop) continue;
      const auto source = cuda::PrintCuda(kernel, DenseVariant(kernel, 64, inner));
      ASSERT_TRUE(source.ok()) << name << ": " << source.status();
      const fs::path golden = fs::path(FRAZIL_CUDA_GOLDENS) /
                              StrCat(name, inner == 1000 ? "" : StrCat("_", inner), ".cu");
      if (update != nullptr && *update == '1') std::ofstream(golden) << source->text;
      EXPECT_EQ(source->text, ReadFile(golden)) << golden;
      ++seen;
    }
  }
  EXPECT_GE(seen, 6);
}

TEST(CudaText, EveryInstructionAgreesWithTheInterpreter) {
  EXPECT_GT(CompareOnHost(OpCases()), 300);
}

// At aligned addresses (stream) vectors are used, at others not.
TEST(CudaText, RandomKernelsAgreeWithTheInterpreter) {
  std::vector<Case> cases;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    Rng rng(seed);
    kir::Kernel kernel = RandomKernel(rng, {.calls = seed % 4 == 0});
    kernel.stream |= seed % 2 == 0;
    std::vector<int64_t> extents = RandomExtents(kernel, rng);
    cases.push_back(MakeCase(std::move(kernel), std::move(extents), rng));
  }
  EXPECT_GT(CompareOnHost(cases), 300);
}

TEST(CudaText, GoldensAgreeWithTheInterpreter) {
  std::vector<Case> cases;
  Rng rng(3);
  for (auto [name, kernel] : GoldenKernels()) {
    for (int i = 0; i < 4; ++i) {
      kernel.stream = i % 2;
      cases.push_back(MakeCase(kernel, RandomExtents(kernel, rng), rng));
    }
    if (kernel.vec != kir::VecAxis::kLoop) continue;
    for (const int64_t n : {64, 65, 127, 1000, 1024, 2048, 4095, 4096}) {
      kernel.stream = n % 2 == 0;
      std::vector<int64_t> extents(size_t(kernel.axes()), 3);
      extents.back() = n;
      cases.push_back(MakeCase(kernel, extents, rng));
    }
  }
  CompareOnHost(cases);
}

// Rows of several chunks: by warps that share a block.
TEST(CudaText, LongRowsAgreeWithTheInterpreter) {
  std::vector<Case> cases;
  Rng rng(4);
  for (auto [name, kernel] : GoldenKernels()) {
    if (kernel.vec != kir::VecAxis::kLoop) continue;
    kernel.long_rows = true;
    for (const int64_t n : {0, 1, 64, 1000, 4096, 4097, 8192, 12345, 20000, 70000}) {
      kernel.stream = n % 2 == 0;
      std::vector<int64_t> extents(size_t(kernel.axes()), 2);
      extents.back() = n;
      cases.push_back(MakeCase(kernel, extents, rng));
    }
  }
  EXPECT_GT(cases.size(), 0u);
  CompareOnHost(cases);
}

TEST(CudaText, RefusesReductionsBeyondSharedMemory) {
  kir::Kernel kernel{.name = "wide", .rank = 2, .has_loop = true};
  kernel.buffers.push_back(
      {"x", DType::kF64, false, {kir::Stride::kAny, kir::Stride::kOne, kir::Stride::kAny}});
  kernel.buffers.push_back(
      {"o", DType::kF64, true, {kir::Stride::kAny, kir::Stride::kOne, kir::Stride::kZero}});
  kir::Builder b(&kernel);
  b.Loop();
  const kir::V x = b.Load(0);
  std::vector<kir::V> sums;
  for (int i = 0; i < 25; ++i)
    sums.push_back(b.Reduce(kir::ReduceKind::kSum, x * double(i + 2), 8));
  b.End();
  kir::V all = sums[0];
  for (size_t i = 1; i < sums.size(); ++i) all = all + sums[i];
  b.Store(1, all);
  EXPECT_TRUE(cuda::PrintCuda(kernel, {}).ok());
  const Status status = cuda::PrintCuda(kernel, {.team = 8}).status();
  EXPECT_EQ(KindOf(status), ErrorKind::kNotImplemented);
  EXPECT_EQ(status.message(),
            "[cuda] wide reduces through 51200 bytes of shared memory, 49152 are there.");
}

TEST(CudaText, PointsAtTheUsersLine) {
  const kir::Kernel kernel = GoldenKernels().at("chain");
  const std::vector<std::string> one = {"net/train \"a\".py:12"};
  const auto source = cuda::PrintCuda(kernel, {}, one);
  ASSERT_TRUE(source.ok());
  EXPECT_NE(source->text.find("#line 12 \"net/train \\\"a\\\".py\"\n"), std::string::npos);
  EXPECT_NE(source->entries[0], cuda::PrintCuda(kernel, {})->entries[0]);
  std::vector<std::string> each;
  for (size_t i = 0; i < kernel.body.size(); ++i) each.push_back(StrCat("f.py:", 100 + i));
  const auto lines = cuda::PrintCuda(kernel, {}, each);
  ASSERT_TRUE(lines.ok());
  for (const char* line : {"#line 100 ", "#line 103 ", "#line 107 "})
    EXPECT_NE(lines->text.find(line), std::string::npos) << lines->text;
}

}  // namespace
}  // namespace frazil::jit
