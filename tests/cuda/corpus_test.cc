// Every kernel of a corpus: compiled by NVRTC for three architectures, or for each in turn, and run
// on the host against the interpreter. Started by tests/cuda/test_corpus.py, in several processes.
//   FRAZIL_CORPUS         folder of kernels (.kir) that programs have made (FRAZIL_KERNELS)
//   FRAZIL_CORPUS_SHARD   "1/4": of these processes this is number 1
//   FRAZIL_CORPUS_SAMPLE  one in so many kernels of the folder
//   FRAZIL_NIGHTLY        1: each kernel for all architectures
//   FRAZIL_SITE_PACKAGES  where the nvidia-* wheels are
// Prints "corpus KEY VALUE" lines.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/str.h"
#include "gtest/gtest.h"
#include "jit/cuda/libraries.h"
#include "tests/cuda/on_host.h"
#include "tests/jit/op_cases.h"

namespace frazil::jit {
namespace {

namespace fs = std::filesystem;
namespace gpu = ::frazil::cuda;

constexpr size_t kBatch = 32;  // kernels of one program for NVRTC

int64_t Number(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  int64_t value = otherwise;
  if (text != nullptr) {
    EXPECT_TRUE(absl::SimpleAtoi(text, &value)) << variable;
  }
  return value;
}

kir::Kernel Read(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  auto kernel = kir::Parse(text.str());
  EXPECT_TRUE(kernel.ok()) << path << ": " << kernel.status();
  return kernel.ok() ? *std::move(kernel) : kir::Kernel{};
}

kir::Kernel Random(uint64_t seed) {
  Rng rng(seed);
  GenOptions options{.calls = seed % 4 == 0};
  if (seed % 3 == 0) {  // as the NPU's tests generate them
    options.predicates = options.offsets = options.index = false;
    options.calls = true;
    options.max_values = 3 + int(seed % 8);
  }
  return RandomKernel(rng, options);
}

// This process's number, and how many there are.
std::pair<int64_t, int64_t> Shard() {
  int64_t shard = 0, shards = 1;
  if (const char* text = std::getenv("FRAZIL_CORPUS_SHARD")) {
    const std::vector<std::string> parts = absl::StrSplit(text, '/');
    EXPECT_TRUE(parts.size() == 2 && absl::SimpleAtoi(parts[0], &shard) &&
                absl::SimpleAtoi(parts[1], &shards));
  }
  return {shard, shards};
}

// Different kernels by content, this process's part of them, in a fixed order.
std::vector<kir::Kernel> Corpus() {
  const int64_t sample = Number("FRAZIL_CORPUS_SAMPLE", 1);
  std::map<uint64_t, kir::Kernel> all;
  const auto add = [&](kir::Kernel kernel) {
    all.emplace(kir::ContentHash(kernel), std::move(kernel));
  };
  const char* folder = std::getenv("FRAZIL_CORPUS");
  EXPECT_NE(folder, nullptr);
  if (folder == nullptr) return {};
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".kir") continue;
    kir::Kernel kernel = Read(entry.path());
    if (kernel.has_repeat()) continue;  // the CPU's alone
    if (kir::ContentHash(kernel) % uint64_t(sample) == 0) add(std::move(kernel));
  }
  for (const Case& c : OpCases()) {
    if (kir::ContentHash(c.kernel) % uint64_t(std::min<int64_t>(sample, 2)) == 0) add(c.kernel);
  }
  for (uint64_t seed = 1000; seed < 1000 + 600 / uint64_t(sample); ++seed) add(Random(seed));
  const auto [shard, shards] = Shard();
  int64_t number = 0;
  std::vector<kir::Kernel> kernels;
  for (auto& [hash, kernel] : all) {
    if (number++ % shards == shard) kernels.push_back(std::move(kernel));
  }
  return kernels;
}

// Shapes that a kernel meets, as far as its text depends on them: dense and aligned, or not; rows
// that fit registers, or shared memory.
cuda::CudaVariant UsualVariant(const kir::Kernel& kernel) {
  const uint64_t hash = kir::ContentHash(kernel);
  return DenseVariant(kernel, 48, hash % 3 ? 1024 : 4096, hash % 5 ? 0 : 1);
}

struct Function {
  int registers = 0, stack = 0, spills = 0;
};

// What ptxas says of each function.
std::map<std::string, Function> ReadLog(const std::string& log) {
  std::map<std::string, Function> functions;
  Function* current = nullptr;
  for (const std::string& text : std::vector<std::string>(absl::StrSplit(log, "\n"))) {
    int stack, stores, loads;
    if (const size_t at = text.find("Compiling entry function '"); at != std::string::npos) {
      const size_t begin = at + 26;
      current = &functions[text.substr(begin, text.find('\'', begin) - begin)];
    } else if (std::sscanf(text.c_str(),
                           "ptxas . %d bytes stack frame, %d bytes spill stores, %d bytes spill",
                           &stack, &stores, &loads) == 3) {
      current->stack = stack;
      current->spills = stores + loads;
    } else if (const size_t used = text.find(": Used "); used != std::string::npos) {
      current->registers = std::atoi(text.c_str() + used + 7);
    }
  }
  return functions;
}

struct Program {
  int result = 0;
  std::string log, image;
};

Program Compile(const gpu::NvrtcTable& nvrtc, const std::string& text, int arch) {
  Program out;
  gpu::NvrtcProgram program;
  EXPECT_EQ(nvrtc.CreateProgram(&program, text.c_str(), "corpus.cu", 0, nullptr, nullptr), 0);
  std::vector<std::string> texts = cuda::NvrtcOptions(arch);
  texts.push_back("--ptxas-options=-v");
  std::vector<const char*> options;
  for (const std::string& option : texts) options.push_back(option.c_str());
  out.result = nvrtc.CompileProgram(program, int(options.size()), options.data());
  size_t bytes = 0;
  EXPECT_EQ(nvrtc.GetProgramLogSize(program, &bytes), 0);
  out.log.resize(bytes);
  EXPECT_EQ(nvrtc.GetProgramLog(program, out.log.data()), 0);
  if (out.result == 0) {
    EXPECT_EQ(nvrtc.GetCUBINSize(program, &bytes), 0);
    out.image.resize(bytes);
    EXPECT_EQ(nvrtc.GetCUBIN(program, out.image.data()), 0);
  }
  EXPECT_EQ(nvrtc.DestroyProgram(&program), 0);
  return out;
}

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// NVRTC of the wheels, and three of its architectures; null: failed.
const gpu::NvrtcTable* OpenNvrtc(std::vector<int>* archs) {
  const char* wheels = std::getenv("FRAZIL_SITE_PACKAGES");
  EXPECT_NE(wheels, nullptr);
  gpu::SetWheelFolder(wheels ? wheels : "");
  const auto nvrtc = gpu::Nvrtc();
  EXPECT_TRUE(nvrtc.ok()) << nvrtc.status();
  int count = 0;
  if (!nvrtc.ok() || (*nvrtc)->GetNumSupportedArchs(&count) != 0) return nullptr;
  std::vector<int> known(static_cast<size_t>(count));
  if ((*nvrtc)->GetSupportedArchs(known.data()) != 0) return nullptr;
  *archs = {75, 90, *std::max_element(known.begin(), known.end())};
  return *nvrtc;
}

int64_t DivisionsOfDoubles(const kir::Kernel& kernel) {
  return std::count_if(kernel.body.begin(), kernel.body.end(), [](const kir::Inst& inst) {
    return inst.op == kir::Op::kDiv && inst.type == DType::kF64;
  });
}

TEST(CudaCorpus, CompilesWithoutWarningsAndSpills) {
  std::vector<int> archs;
  const gpu::NvrtcTable* nvrtc = OpenNvrtc(&archs);
  ASSERT_NE(nvrtc, nullptr);
  const double begin = Seconds();
  const std::vector<kir::Kernel> kernels = Corpus();
  int64_t functions = 0, registers = 0, spilling = 0;
  int most = 0;
  const bool all = Number("FRAZIL_NIGHTLY", 0) == 1;
  for (size_t first = 0; first < kernels.size(); first += kBatch) {
    std::string text(CudaPrelude());
    std::map<std::string, const kir::Kernel*> of;
    for (size_t i = first; i < std::min(kernels.size(), first + kBatch); ++i) {
      const std::vector<std::string> lines(i % 4 == 0, "user.py:7");
      const auto source = cuda::PrintCuda(kernels[i], UsualVariant(kernels[i]), lines);
      ASSERT_TRUE(source.ok()) << source.status() << "\n" << kir::Print(kernels[i]);
      text += source->text;
      for (const std::string& entry : source->entries) of[entry] = &kernels[i];
    }
    for (const int arch : archs) {
      if (!all && arch != archs[first / kBatch % archs.size()]) continue;
      const Program compiled = Compile(*nvrtc, text, arch);
      const bool warned = absl::StrContains(compiled.log, "warning");
      const std::string failed = testing::TempDir() + "/frazil-corpus-failed.cu";
      if (compiled.result != 0 || warned) std::ofstream(failed) << text;
      ASSERT_EQ(compiled.result, 0) << arch << "\n" << compiled.log;
      // The first kernel's instructions are the user's line's, for debuggers and profilers.
      EXPECT_TRUE(absl::StrContains(compiled.image, "user.py"));
      EXPECT_FALSE(warned) << arch << "\n" << compiled.log << "the text is " << failed;
      const std::map<std::string, Function> said = ReadLog(compiled.log);
      EXPECT_EQ(said.size(), of.size()) << compiled.log;
      for (const auto& [name, f] : said) {
        ASSERT_TRUE(of.contains(name)) << name;
        ++functions;
        registers += f.registers;
        most = std::max(most, f.registers);
        spilling += f.spills > 0 || f.stack > 0;
        if (of[name]->has_loop) continue;
        // Doubles kept over divisions of doubles, which are calls, are no array of the kernel's;
        // they count as spilled at each of them.
        EXPECT_LE(f.stack, 8 * std::max<int64_t>(1, DivisionsOfDoubles(*of[name])))
            << name << " for " << arch << ": " << f.stack << " bytes of stack, " << f.spills
            << " spilled\n"
            << kir::Print(*of[name]);
      }
    }
  }
  EXPECT_GT(functions, 0);
  std::printf("corpus kernels %zu\ncorpus compiled %ld\ncorpus registers %ld\n", kernels.size(),
              long(functions), long(registers));
  std::printf("corpus most_registers %d\ncorpus spilling %ld\ncorpus compile_seconds %.1f\n", most,
              long(spilling), Seconds() - begin);
}

// Once for all processes.
TEST(CudaCorpus, CompilesTheGenericKernel) {
  if (Shard().first != 0) return;
  std::vector<int> archs;
  const gpu::NvrtcTable* nvrtc = OpenNvrtc(&archs);
  ASSERT_NE(nvrtc, nullptr);
  for (const int arch : archs) {
    const Program compiled = Compile(*nvrtc, StrCat(CudaPrelude(), cuda::GenericText()), arch);
    ASSERT_EQ(compiled.result, 0) << arch << "\n" << compiled.log;
    EXPECT_FALSE(absl::StrContains(compiled.log, "warning")) << arch << "\n" << compiled.log;
    const std::map<std::string, Function> said = ReadLog(compiled.log);
    ASSERT_TRUE(said.contains(cuda::kGenericEntry)) << compiled.log;
    EXPECT_EQ(said.at(cuda::kGenericEntry).spills, 0) << compiled.log;
    // The indices of a point, and none of the arguments.
    EXPECT_LE(said.at(cuda::kGenericEntry).stack, 256) << compiled.log;
  }
}

// Offsets that come from memory or arguments would reach outside the random buffers.
bool IsBounded(const kir::Kernel& kernel) {
  for (const kir::Inst& inst : kernel.body) {
    const kir::Id offset = inst.op == kir::Op::kLoad    ? inst.a
                           : inst.op == kir::Op::kStore ? inst.b
                                                        : kir::kNone;
    if (offset != kir::kNone) return false;
  }
  return true;
}

// Short, with awkward ends; of rows every fourth is a long one.
std::vector<int64_t> ExtentsFor(const kir::Kernel& kernel, Rng& rng) {
  std::vector<int64_t> extents = RandomExtents(kernel, rng);
  if (kernel.has_loop && kernel.vec == kir::VecAxis::kLoop && rng() % 4 == 0) {
    for (int64_t& n : extents) n = std::min<int64_t>(n, 2);
    extents.back() = 1 + int64_t(rng() % 2100);
  }
  return extents;
}

TEST(CudaCorpus, AgreesWithTheInterpreter) {
  const double begin = Seconds();
  int64_t ran = 0, texts = 0;
  std::vector<Case> cases;
  const auto flush = [&] {
    texts += CompareOnHost(cases);
    CompareGenericOnHost(cases);
    ran += int64_t(cases.size());
    cases.clear();
  };
  for (kir::Kernel kernel : Corpus()) {
    if (!IsBounded(kernel)) continue;
    Rng rng(kir::ContentHash(kernel));
    kernel.stream |= rng() % 2 == 0;  // aligned
    std::vector<int64_t> extents = ExtentsFor(kernel, rng);
    cases.push_back(MakeCase(std::move(kernel), std::move(extents), rng));
    if (cases.size() == kBatch) flush();
    if (HasFailure()) break;
  }
  if (!cases.empty()) flush();
  EXPECT_GT(ran, 0);
  std::printf("corpus ran %ld\ncorpus texts %ld\ncorpus run_seconds %.1f\n", long(ran), long(texts),
              Seconds() - begin);
}

}  // namespace
}  // namespace frazil::jit
