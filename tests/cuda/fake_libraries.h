// The fake CUDA libraries as tables of functions, with what tests ask of them. Used by the tests of
// the fakes and of what stands on them. Invariant: opened once, from FRAZIL_FAKE_CUDA (set by the
// build), the same files that frazil opens through FRAZIL_CUDA_PATH.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "jit/cuda/types.h"
#include "tests/cuda/fake/control.h"

namespace fake {

using namespace frazil::cuda;

inline void* OpenFake(const char* file) {
  setenv("FAKE_CUDA_DEVICES", "2", 0);
  const char* folder = std::getenv("FRAZIL_CUDA_PATH");
  void* library = dlopen((std::string(folder ? folder : FRAZIL_FAKE_CUDA) + "/" + file).c_str(),
                         RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    ADD_FAILURE() << dlerror();
    std::abort();
  }
  return library;
}

// fake_cuda_NAME as control.fake_cuda_NAME(...).
#define FAKE_CONTROL(name) \
  decltype(&::name) name = reinterpret_cast<decltype(name)>(dlsym(library, #name))

struct DriverFake {
  void* library = OpenFake("libcuda.so.1");
#define FZ_CUDA(symbol, name, parameters) \
  CUresult(*name) parameters = reinterpret_cast<decltype(name)>(dlsym(library, #symbol));
#include "jit/cuda/driver.def"
#undef FZ_CUDA
  FAKE_CONTROL(fake_cuda_log);
  FAKE_CONTROL(fake_cuda_clear_log);
  FAKE_CONTROL(fake_cuda_count);
  FAKE_CONTROL(fake_cuda_fail);
  FAKE_CONTROL(fake_cuda_live_bytes);
  FAKE_CONTROL(fake_cuda_live_blocks);
  FAKE_CONTROL(fake_cuda_pinned_bytes);
  FAKE_CONTROL(fake_cuda_pending);
  FAKE_CONTROL(fake_cuda_live);
  FAKE_CONTROL(fake_cuda_clear_error);
};

struct NvrtcFake {
  void* library = OpenFake("libnvrtc.so.12");
#define FZ_NVRTC(symbol, name, parameters) \
  NvrtcResult(*name) parameters = reinterpret_cast<decltype(name)>(dlsym(library, #symbol));
#include "jit/cuda/nvrtc.def"
#undef FZ_NVRTC
  FAKE_CONTROL(fake_nvrtc_log);
  FAKE_CONTROL(fake_nvrtc_clear_log);
  FAKE_CONTROL(fake_nvrtc_count);
  FAKE_CONTROL(fake_nvrtc_fail);
};

struct CublasLtFake {
  void* library = OpenFake("libcublasLt.so.12");
#define FZ_CUBLASLT(symbol, name, result, parameters) \
  result(*name) parameters = reinterpret_cast<decltype(name)>(dlsym(library, #symbol));
#include "jit/cuda/cublaslt.def"
#undef FZ_CUBLASLT
  FAKE_CONTROL(fake_cublaslt_log);
  FAKE_CONTROL(fake_cublaslt_clear_log);
  FAKE_CONTROL(fake_cublaslt_count);
  FAKE_CONTROL(fake_cublaslt_fail);
};

inline const DriverFake& Cuda() {
  static const DriverFake fake;
  return fake;
}
inline const NvrtcFake& Nvrtc() {
  static const NvrtcFake fake;
  return fake;
}
inline const CublasLtFake& CublasLt() {
  static const CublasLtFake fake;
  return fake;
}

}  // namespace fake
