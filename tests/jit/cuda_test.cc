// The CUDA emitter: golden text, and the same text compiled for the host against the interpreter.
// FRAZIL_UPDATE_GOLDENS=1 rewrites tests/jit/goldens/*.cu.
#include "jit/emit/cuda/cuda.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "core/str.h"
#include "gtest/gtest.h"
#include "jit/emit/interp/interp.h"
#include "jit/kir/builder.h"
#include "tests/jit/kernel_gen.h"
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

TEST(Cuda, PrintsTheGoldens) {
  const char* update = std::getenv("FRAZIL_UPDATE_GOLDENS");
  int seen = 0;
  for (const auto& entry : fs::directory_iterator(FRAZIL_JIT_GOLDENS)) {
    if (entry.path().extension() != ".kir") continue;
    const auto kernel = kir::Parse(ReadFile(entry.path()));
    ASSERT_TRUE(kernel.ok()) << entry.path() << ": " << kernel.status();
    const auto compiled = NewCudaEmitter()->Emit(*kernel);
    ASSERT_TRUE(compiled.ok()) << entry.path() << ": " << compiled.status();
    fs::path golden = entry.path();
    golden.replace_extension(".cu");
    if (update != nullptr && *update == '1') std::ofstream(golden) << (*compiled)->text();
    EXPECT_EQ((*compiled)->text(), ReadFile(golden)) << golden;
    ++seen;
  }
  EXPECT_GE(seen, 5);
}

using Entry = void (*)(const void* words, long long points);

// CUDA text, run by the shim.
class OnHost : public Compiled {
 public:
  OnHost(const kir::Kernel& kernel, Entry entry) : kernel_(kernel), entry_(entry) {}
  size_t code_bytes() const override { return 0; }

  void Run(const kir::KernelArgs& args, int64_t row_begin, int64_t row_end, int64_t col_begin,
           int64_t col_end) const override {
    const size_t buffers = kernel_.buffers.size(), axes = kernel_.axes();
    std::vector<uint64_t> words;
    for (size_t b = 0; b < buffers; ++b)
      words.push_back(reinterpret_cast<uintptr_t>(args.buffers[b]));
    words.insert(words.end(), args.extents, args.extents + axes);
    words.insert(words.end(), args.strides, args.strides + buffers * axes);
    words.insert(words.end(), args.scalars, args.scalars + kernel_.scalars.size());
    for (int64_t bound : {row_begin, row_end, col_begin, col_end}) words.push_back(uint64_t(bound));
    entry_(words.data(), (row_end - row_begin) * (col_end - col_begin));
  }

 private:
  const kir::Kernel kernel_;
  const Entry entry_;
};

// Many kernels in one library: a compiler starts slowly. Add all (names differ), Build once, then
// Emit finds them.
class HostCuda : public Emitter {
 public:
  const Caps& caps() const override {
    static constexpr Caps kCaps{.name = "cuda text on the host", .executes = true};
    return kCaps;
  }

  ~HostCuda() override {
    if (library_ != nullptr) dlclose(library_);
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  void Add(const kir::Kernel& kernel) {
    const auto compiled = NewCudaEmitter()->Emit(kernel);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const auto& text = dynamic_cast<const CudaText&>(**compiled);
    source_ += text.text();
    StrAppend(&source_, "extern \"C\" void run_", kernel.name,
              "(const void* words, long long points) {\n");
    for (const std::string& entry : text.entries()) {
      StrAppend(&source_, "  Launch(", entry, ", words, points, ", kCudaThreads, ", ",
                text.block_per_point() ? "true" : "false", ");\n");
    }
    source_ += "}\n";
  }

  void Build() {
    char name[] = "/tmp/frazil-cuda-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    std::ofstream(folder_ / "kernels.cc") << source_;
    const std::string command =
        StrCat(FRAZIL_CXX, " -std=c++20 -O1 -w -ffp-contract=off -fno-math-errno -shared -fPIC -o ",
               name, "/kernels.so ", name, "/kernels.cc");
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    library_ = dlopen((folder_ / "kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
  }

  StatusOr<std::unique_ptr<Compiled>> Emit(const kir::Kernel& kernel) override {
    void* entry = dlsym(library_, StrCat("run_", kernel.name).c_str());
    if (entry == nullptr) return RuntimeError("[test] ", kernel.name, " was not built.");
    return std::make_unique<OnHost>(kernel, reinterpret_cast<Entry>(entry));
  }

 private:
  std::string source_ = StrCat("#include \"", FRAZIL_CUDA_SHIM, "\"\n", CudaPrelude());
  fs::path folder_;
  void* library_ = nullptr;
};

// Names the kernels apart, builds them into one library and compares each with the interpreter.
void CompareAll(std::vector<Case> cases) {
  HostCuda host;
  for (size_t i = 0; i < cases.size(); ++i) {
    StrAppend(&cases[i].kernel.name, "_", i);
    host.Add(cases[i].kernel);
  }
  host.Build();
  if (testing::Test::HasFatalFailure()) return;
  const auto interpreter = NewInterpreter();
  for (size_t i = 0; i < cases.size(); ++i) {
    ASSERT_EQ(CompareOn(cases[i], *interpreter, host, i).difference, "");
  }
}

TEST(Cuda, EveryInstructionAgreesWithTheInterpreter) { CompareAll(OpCases()); }

TEST(Cuda, RandomKernelsAgreeWithTheInterpreter) {
  std::vector<Case> cases;
  for (uint64_t seed = 1; seed <= 80; ++seed) {
    Rng rng(seed);
    kir::Kernel kernel = RandomKernel(rng, {.calls = seed % 4 == 0});
    std::vector<int64_t> extents = RandomExtents(kernel, rng);
    cases.push_back(MakeCase(std::move(kernel), std::move(extents), rng));
  }
  CompareAll(std::move(cases));
}

TEST(Cuda, GoldensAgreeWithTheInterpreter) {
  std::vector<Case> cases;
  Rng rng(3);
  for (const auto& entry : fs::directory_iterator(FRAZIL_JIT_GOLDENS)) {
    if (entry.path().extension() != ".kir") continue;
    const kir::Kernel kernel = *kir::Parse(ReadFile(entry.path()));
    for (int i = 0; i < 3; ++i) cases.push_back(MakeCase(kernel, RandomExtents(kernel, rng), rng));
  }
  CompareAll(std::move(cases));
}

TEST(Cuda, RefusesReductionsBeyondSharedMemory) {
  kir::Kernel kernel{.name = "wide", .has_loop = true, .vec = kir::VecAxis::kLoop};
  kernel.buffers.push_back({"x", DType::kF64, false, {kir::Stride::kAny, kir::Stride::kOne}});
  kir::Builder b(&kernel);
  b.Loop();
  const kir::V x = b.Load(0);
  for (int i = 0; i < 97; ++i) b.Reduce(kir::ReduceKind::kSum, x * double(i + 2), 64);
  b.End();
  const Status status = NewCudaEmitter()->Emit(kernel).status();
  EXPECT_EQ(KindOf(status), ErrorKind::kNotImplemented);
  EXPECT_EQ(status.message(),
            "[cuda] wide reduces through 49664 bytes of shared memory, 49152 are there.");
}

}  // namespace
}  // namespace frazil::jit
