// Tests that run on the fake libraries of tests/cuda/fake: sets the environment before frazil reads
// it, and reaches the controls of the libraries that frazil has opened. Invariant: each test begins
// with a context without an error and with no failure ordered.
#pragma once

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "tests/cuda/fake_libraries.h"

namespace frazil::cuda {

class OnFakes : public testing::Test {
 public:
  static void SetUpTestSuite() {
    setenv("FRAZIL_CUDA_PATH", FRAZIL_FAKE_CUDA, 1);
    setenv("FRAZIL_CACHE_DIR", CacheFolder().c_str(), 1);
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    // What is launched does not depend on how long a compiler takes.
    setenv("FRAZIL_CUDA_GENERIC", "never", 0);
  }
  // A folder of this process.
  static const std::string& CacheFolder() {
    static const std::string folder = [] {
      char name[] = "/tmp/frazil-cache-XXXXXX";
      return std::string(mkdtemp(name));
    }();
    return folder;
  }

 protected:
  void SetUp() override { ClearError(); }

  // The nth next call of `name` fails.
  static void Fail(const char* name, int nth, int error) {
    fake::Cuda().fake_cuda_fail(name, nth, error);
  }
  static void ClearError() { fake::Cuda().fake_cuda_clear_error(); }
  static unsigned long long Count(const char* name) { return fake::Cuda().fake_cuda_count(name); }
  static std::string Log() { return fake::Cuda().fake_cuda_log(); }
  static void ClearLog() { fake::Cuda().fake_cuda_clear_log(); }
};

}  // namespace frazil::cuda
