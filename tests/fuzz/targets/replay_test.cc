// Every file of the corpora through its fuzz target, without a fuzzer: inputs that found a fault
// once, and the seeds that `./dev fuzz` begins with.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/targets/target.h"

#define FZ_TARGET(name) int Fuzz_##name(const uint8_t* data, size_t size);
#include "tests/fuzz/targets/targets.def"
#undef FZ_TARGET

namespace {

namespace fs = std::filesystem;

struct Target {
  const char* name;
  int (*run)(const uint8_t*, size_t);
};
constexpr Target kTargets[] = {
#define FZ_TARGET(name) {#name, Fuzz_##name},
#include "tests/fuzz/targets/targets.def"
#undef FZ_TARGET
};

class Corpus : public testing::TestWithParam<Target> {};

TEST_P(Corpus, EachFile) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(FRAZIL_CORPUS) / GetParam().name))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  EXPECT_GE(files.size(), 2u);
  for (const fs::path& file : files) {
    SCOPED_TRACE(file);
    std::ifstream in(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    // A copy that ends where the input ends, so that a sanitizer sees who reads on.
    const std::vector<uint8_t> copy(bytes.begin(), bytes.end());
    EXPECT_EQ(GetParam().run(copy.data(), copy.size()), 0);
    // Cut short, as half a download is.
    for (size_t n = 0; n < copy.size(); n += 1 + copy.size() / 16) {
      const std::vector<uint8_t> part(copy.begin(), copy.begin() + ptrdiff_t(n));
      EXPECT_EQ(GetParam().run(part.data(), n), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Corpus, testing::ValuesIn(kTargets),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
