// A context of the fake driver and short names for what its tests do. Used by tests/cuda/fake_*.cc.
#pragma once

#include <cstring>

#include "tests/cuda/fake_libraries.h"

namespace fake {

class FakeTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(Cuda().Init(0), kSuccess);
    ASSERT_EQ(Cuda().DevicePrimaryCtxRetain(&context_, 0), kSuccess);
    ASSERT_EQ(Cuda().CtxSetCurrent(context_), kSuccess);
    Cuda().fake_cuda_clear_error();
    Cuda().fake_cuda_clear_log();
  }

  CUdeviceptr Alloc(size_t bytes) {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(Cuda().MemAlloc(&pointer, bytes), kSuccess);
    return pointer;
  }
  template <typename T>
  CUdeviceptr Upload(const std::vector<T>& values, CUstream stream = nullptr) {
    const CUdeviceptr pointer = Alloc(values.size() * sizeof(T));
    EXPECT_EQ(Cuda().MemcpyHtoDAsync(pointer, values.data(), values.size() * sizeof(T), stream),
              kSuccess);
    return pointer;
  }
  template <typename T>
  std::vector<T> Download(CUdeviceptr pointer, size_t count, CUstream stream = nullptr) {
    std::vector<T> values(count);
    EXPECT_EQ(Cuda().MemcpyDtoHAsync(values.data(), pointer, count * sizeof(T), stream), kSuccess);
    return values;
  }

  // The result of the compilation; image and log.
  NvrtcResult Compile(const std::string& text, std::vector<const char*> options, std::string* image,
                      std::string* log = nullptr) {
    NvrtcProgram program;
    EXPECT_EQ(Nvrtc().CreateProgram(&program, text.c_str(), "test.cu", 0, nullptr, nullptr), 0);
    const NvrtcResult result = Nvrtc().CompileProgram(program, int(options.size()), options.data());
    size_t bytes = 0;
    if (log != nullptr) {
      EXPECT_EQ(Nvrtc().GetProgramLogSize(program, &bytes), 0);
      log->resize(bytes);
      EXPECT_EQ(Nvrtc().GetProgramLog(program, log->data()), 0);
    }
    if (result == 0) {
      EXPECT_EQ(Nvrtc().GetCUBINSize(program, &bytes), 0);
      image->resize(bytes);
      EXPECT_EQ(Nvrtc().GetCUBIN(program, image->data()), 0);
      if (bytes == 0) {
        EXPECT_EQ(Nvrtc().GetPTXSize(program, &bytes), 0);
        image->resize(bytes);
        EXPECT_EQ(Nvrtc().GetPTX(program, image->data()), 0);
      }
    }
    EXPECT_EQ(Nvrtc().DestroyProgram(&program), 0);
    return result;
  }

  CUfunction Load(const std::string& text, const char* name) {
    std::string image, log;
    EXPECT_EQ(Compile(text, {"--gpu-architecture=sm_90"}, &image, &log), 0) << log;
    CUmodule module = nullptr;
    EXPECT_EQ(Cuda().ModuleLoadDataEx(&module, image.data(), 0, nullptr, nullptr), kSuccess);
    CUfunction function = nullptr;
    EXPECT_EQ(Cuda().ModuleGetFunction(&function, module, name), kSuccess);
    return function;
  }

  template <typename... Args>
  CUresult Launch(CUfunction function, unsigned grid, unsigned block, CUstream stream,
                  Args... args) {
    void* params[] = {&args..., nullptr};
    return Cuda().LaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, params, nullptr);
  }

  CUstream NewStream() {
    CUstream stream = nullptr;
    EXPECT_EQ(Cuda().StreamCreate(&stream, kStreamNonBlocking), kSuccess);
    return stream;
  }
  CUevent NewEvent() {
    CUevent event = nullptr;
    EXPECT_EQ(Cuda().EventCreate(&event, 0), kSuccess);
    return event;
  }

  CUcontext context_ = nullptr;
};

}  // namespace fake
