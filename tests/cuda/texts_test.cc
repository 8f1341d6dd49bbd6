// The texts of products, updates and copies, compiled by the real NVRTC for three architectures:
// no errors, no warnings. Run by test_texts.py, which says where NVRTC is and which of the texts to
// take. By day a text is compiled for one of the architectures, in turn.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "jit/cuda/libraries.h"
#include "jit/emit/cuda/copy_text.h"
#include "jit/emit/cuda/cuda.h"
#include "jit/emit/cuda/matmul_text.h"
#include "jit/emit/cuda/put_text.h"

namespace frazil::jit::cuda {
namespace {

namespace gpu = ::frazil::cuda;

// Every text that a plan may ask for, by the name of its entry.
std::map<std::string, std::string> Texts() {
  std::map<std::string, std::string> texts;
  for (const int bytes : {1, 2, 4, 8}) texts[CopyEntry(bytes)] = CopyText(bytes);
  const auto add = [&](DType dtype) {
    for (const bool wide : {false, true}) {
      for (const bool sum : {false, true}) {
        const PutShape shape{dtype, sum, wide};
        texts[PutEntry(shape)] = PutText(shape);
      }
    }
    if (IsBool(dtype)) return;
    const int most = ChooseMatmul(dtype, 1, 1 << 15, 1 << 15, 1, 1).per;
    for (int per = 1; per <= most; per *= 2) {
      for (const bool chunks : {false, true}) {
        if (chunks && !IsFloat(dtype)) continue;
        const MatmulShape shape{dtype, per, chunks};
        texts[MatmulEntry(shape)] = MatmulText(shape);
      }
    }
  };
#define FZ_DTYPE(E, name, short_name, T, bytes, kind) add(DType::E);
#include "core/dtypes.def"
#undef FZ_DTYPE
  return texts;
}

struct Compiled {
  int result;
  std::string log;
};

Compiled Compile(const gpu::NvrtcTable& nvrtc, const std::string& text, int arch) {
  Compiled out{};
  gpu::NvrtcProgram program;
  EXPECT_EQ(nvrtc.CreateProgram(&program, text.c_str(), "text.cu", 0, nullptr, nullptr), 0);
  const std::vector<std::string> texts = NvrtcOptions(arch);
  std::vector<const char*> options;
  for (const std::string& option : texts) options.push_back(option.c_str());
  out.result = nvrtc.CompileProgram(program, static_cast<int>(options.size()), options.data());
  size_t bytes = 0;
  EXPECT_EQ(nvrtc.GetProgramLogSize(program, &bytes), 0);
  out.log.resize(bytes);
  EXPECT_EQ(nvrtc.GetProgramLog(program, out.log.data()), 0);
  EXPECT_EQ(nvrtc.DestroyProgram(&program), 0);
  return out;
}

TEST(CudaTexts, CompileWithoutWarnings) {
  const char* wheels = std::getenv("FRAZIL_SITE_PACKAGES");
  ASSERT_NE(wheels, nullptr);
  gpu::SetWheelFolder(wheels);
  const auto nvrtc = gpu::Nvrtc();
  ASSERT_TRUE(nvrtc.ok()) << nvrtc.status();
  int count = 0;
  ASSERT_EQ((*nvrtc)->GetNumSupportedArchs(&count), 0);
  std::vector<int> archs(static_cast<size_t>(count));
  ASSERT_EQ((*nvrtc)->GetSupportedArchs(archs.data()), 0);
  const int newest = *std::max_element(archs.begin(), archs.end());
  const auto number = [](const char* name, int other) {
    const char* text = std::getenv(name);
    return text ? std::atoi(text) : other;
  };
  const int shards = number("FRAZIL_SHARDS", 1), shard = number("FRAZIL_SHARD", 0);
  const bool all = number("FRAZIL_NIGHTLY", 0) == 1;
  const int targets[] = {75, 90, newest};
  int turn = 0, compiled_texts = 0;
  for (const auto& [entry, text] : Texts()) {
    if (++turn % 2 && !all) continue;
    if (turn / 2 % shards != shard) continue;
    ++compiled_texts;
    for (const int arch : targets) {
      if (!all && arch != targets[turn / 2 % 3]) continue;
      const Compiled compiled = Compile(**nvrtc, std::string(CudaPrelude()) + text, arch);
      EXPECT_EQ(compiled.result, 0) << entry << " for " << arch << "\n" << compiled.log;
      EXPECT_FALSE(absl::StrContains(compiled.log, "warning")) << entry << " for " << arch << "\n"
                                                               << compiled.log;
    }
  }
  std::printf("texts %d\n", compiled_texts);
}

}  // namespace
}  // namespace frazil::jit::cuda
