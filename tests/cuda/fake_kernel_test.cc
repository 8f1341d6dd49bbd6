// Texts compiled by the fake NVRTC and run by the fake driver.
#include <numeric>

#include "tests/cuda/fake_fixture.h"

namespace fake {
namespace {

using FakeKernel = FakeTest;

TEST_F(FakeKernel, RunsAThreadForEachElement) {
  const CUfunction scale = Load(R"(
    struct args { float* p; long long n; float factor; };
    extern "C" __global__ void __launch_bounds__(64) scale(args a) {
      const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= a.n) return;
      a.p[i] *= a.factor;
    })",
                                "scale");
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.0f);
  const CUdeviceptr p = Upload(values);
  struct {
    CUdeviceptr p;
    long long n;
    float factor;
  } args{p, 1000, 3};
  EXPECT_EQ(Launch(scale, 16, 64, nullptr, args), kSuccess);
  const auto out = Download<float>(p, 1000);
  for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 3.0f * float(i));
  EXPECT_EQ(Cuda().MemFree(p), kSuccess);
}

TEST_F(FakeKernel, ThreadsMeetAtBarriers) {
  const CUfunction sum = Load(R"(
    extern "C" __global__ void sum(const float* in, float* out) {
      extern __shared__ float dynamic[];
      __shared__ float fixed[128];
      const int t = threadIdx.x;
      fixed[t] = in[blockIdx.x * 128 + t];
      __syncthreads();
      dynamic[t] = fixed[127 - t];
      for (int h = 64; h > 0; h /= 2) {
        __syncthreads();
        if (t < h) dynamic[t] += dynamic[t + h];
      }
      if (t == 0) out[blockIdx.x] = dynamic[0];
    })",
                              "sum");
  std::vector<float> values(512);
  std::iota(values.begin(), values.end(), 1.0f);
  const CUdeviceptr in = Upload(values), out = Alloc(16);
  void* params[] = {const_cast<CUdeviceptr*>(&in), const_cast<CUdeviceptr*>(&out)};
  EXPECT_EQ(Cuda().LaunchKernel(sum, 4, 1, 1, 128, 1, 1, 512, nullptr, params, nullptr), kSuccess);
  EXPECT_EQ(Download<float>(out, 4), (std::vector<float>{8256, 24640, 41024, 57408}));
}

TEST_F(FakeKernel, WarpsShuffle) {
  const CUfunction shuffle = Load(R"(
    extern "C" __global__ void shuffle(int* out) {
      const int t = threadIdx.x;
      int sum = t;
      for (int h = 16; h > 0; h /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, h);
      double down = __shfl_down_sync(0xffffffffu, t * 0.5, 1);
      int up = __shfl_up_sync(0xffffffffu, t, 2, 8), from = __shfl_sync(0xffffffffu, t, 5);
      unsigned odd = __ballot_sync(0xffffffffu, t & 1);
      if (t >= 64) return;
      int any = __syncthreads_count(t % 3 == 0);
      int half = t % 32 < 16 ? __shfl_xor_sync(0xffffu, t, 1) : -1;
      int* o = out + 7 * t;
      o[0] = sum; o[1] = int(down * 2); o[2] = up; o[3] = from; o[4] = int(odd); o[5] = any; o[6] = half;
    })",
                                  "shuffle");
  const CUdeviceptr out = Alloc(64 * 7 * 4);
  EXPECT_EQ(Launch(shuffle, 1, 96, nullptr, out), kSuccess);
  const auto got = Download<int>(out, 64 * 7);
  for (int t = 0; t < 64; ++t) {
    const int* o = &got[size_t(7 * t)];
    const int base = t / 32 * 32;
    ASSERT_EQ(o[0], 32 * base + 496) << t;
    ASSERT_EQ(o[1], t % 32 == 31 ? t : t + 1) << t;
    ASSERT_EQ(o[2], t % 8 >= 2 ? t - 2 : t) << t;
    ASSERT_EQ(o[3], base + 5) << t;
    ASSERT_EQ(unsigned(o[4]), 0xaaaaaaaau) << t;
    ASSERT_EQ(o[5], 22) << t;
    ASSERT_EQ(o[6], t % 32 < 16 ? t ^ 1 : -1) << t;
  }
}

TEST_F(FakeKernel, CompileErrorsComeWithALog) {
  std::string image, log;
  EXPECT_EQ(Compile("extern \"C\" __global__ void k(int* p) {\n  p[0] = nothing;\n}\n",
                    {"--gpu-architecture=sm_90"}, &image, &log),
            6);
  EXPECT_NE(log.find("test.cu:2:"), std::string::npos) << log;
  EXPECT_NE(log.find("nothing"), std::string::npos) << log;
}

TEST_F(FakeKernel, OptionsAndArchitecturesAreChecked) {
  const std::string text = "extern \"C\" __global__ void k() {}";
  std::string image, log;
  EXPECT_EQ(Compile(text, {"--gpu-architecture=sm_90", "--fmad=false", "-lineinfo"}, &image), 0);
  EXPECT_EQ(Compile(text, {"--gpu-architecture=sm_121"}, &image, &log), 5);
  EXPECT_NE(log.find("--gpu-architecture"), std::string::npos) << log;
  EXPECT_EQ(Compile(text, {"--quickly"}, &image, &log), 5);
  EXPECT_NE(log.find("--quickly"), std::string::npos) << log;
}

TEST_F(FakeKernel, ImagesSuitDevices) {
  const std::string text = "extern \"C\" __global__ void k() {}";
  std::string image;
  CUmodule module;
  EXPECT_EQ(Compile(text, {"--gpu-architecture=compute_75"}, &image), 0);
  EXPECT_EQ(Cuda().ModuleLoadDataEx(&module, image.data(), 0, nullptr, nullptr), kSuccess);
  EXPECT_EQ(Cuda().ModuleUnload(module), kSuccess);
  EXPECT_EQ(Cuda().ModuleUnload(module), 400);
  EXPECT_EQ(Compile(text, {"--gpu-architecture=sm_80"}, &image), 0);
  EXPECT_EQ(Cuda().ModuleLoadDataEx(&module, image.data(), 0, nullptr, nullptr), kNoBinaryForGpu);
  image = "no image at all, of any kind";
  EXPECT_EQ(Cuda().ModuleLoadDataEx(&module, image.data(), 0, nullptr, nullptr), kInvalidImage);
}

TEST_F(FakeKernel, LaunchesAreChecked) {
  const CUfunction k = Load("extern \"C\" __global__ void k(int* p) {}", "k");
  EXPECT_EQ(Launch(k, 1, 1025, nullptr, CUdeviceptr{0}), kInvalidValue);
  EXPECT_EQ(Launch(k, 0, 32, nullptr, CUdeviceptr{0}), kInvalidValue);
  EXPECT_EQ(Launch(reinterpret_cast<CUfunction>(8), 1, 1, nullptr, CUdeviceptr{0}), 400);
  EXPECT_EQ(Cuda().LaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), kInvalidValue);
  CUdeviceptr p = 0;
  void* params[] = {&p};
  EXPECT_EQ(Cuda().LaunchKernel(k, 1, 1, 1, 1, 1, 1, 49153, nullptr, params, nullptr),
            kInvalidValue);
  EXPECT_EQ(Cuda().FuncSetAttribute(k, kFuncMaxDynamicSharedSize, 100000), kSuccess);
  EXPECT_EQ(Cuda().LaunchKernel(k, 1, 1, 1, 1, 1, 1, 49153, nullptr, params, nullptr), kSuccess);
  EXPECT_EQ(Cuda().FuncSetAttribute(k, kFuncMaxDynamicSharedSize, 300000), kInvalidValue);
  // What a kernel declares counts too.
  const CUfunction s = Load(
      "extern \"C\" __global__ void s(int* p) { __shared__ int t[256]; t[threadIdx.x] = 0; }", "s");
  const auto launch = [&](unsigned bytes) {
    return Cuda().LaunchKernel(s, 1, 1, 1, 1, 1, 1, bytes, nullptr, params, nullptr);
  };
  EXPECT_EQ(launch(48128), kSuccess);
  EXPECT_EQ(launch(48129), kInvalidValue);
  EXPECT_EQ(Cuda().FuncSetAttribute(s, kFuncMaxDynamicSharedSize, 49152), kSuccess);
  EXPECT_EQ(launch(49152), kSuccess);
  EXPECT_EQ(Cuda().FuncSetAttribute(s, kFuncMaxDynamicSharedSize, (227 << 10) - 1023),
            kInvalidValue);
  EXPECT_EQ(Cuda().StreamSynchronize(nullptr), kSuccess);
}

TEST_F(FakeKernel, ThreadsThatWaitForeverAreAnError) {
  for (const char* wait : {"if (threadIdx.x < 32) __syncthreads(); else __syncwarp(0xffff);",
                           "if (threadIdx.x % 2) __syncthreads(); else __syncwarp();",
                           "__shfl_sync(threadIdx.x % 2 ? 0x3u : ~0u, 1, 0);"}) {
    const CUfunction k =
        Load(std::string("extern \"C\" __global__ void k() { if (threadIdx.x >= 64) return; ") +
                 wait + " }",
             "k");
    EXPECT_EQ(Launch(k, 1, 96, nullptr), kSuccess);
    EXPECT_EQ(Cuda().StreamSynchronize(nullptr), 702);
    EXPECT_EQ(Cuda().StreamSynchronize(nullptr), 702);  // it stays
    Cuda().fake_cuda_clear_error();
  }
}

TEST_F(FakeKernel, MemoryOfThreadsMustBeAligned) {
  const CUfunction k = Load(R"(
    extern "C" __global__ void k(const float4* p, float* out) { float4 v = *p; *out = v.w; })",
                            "k");
  const CUdeviceptr p = Upload(std::vector<float>{1, 2, 3, 4, 5}), out = Alloc(4);
  EXPECT_EQ(Launch(k, 1, 1, nullptr, p, out), kSuccess);
  EXPECT_EQ(Download<float>(out, 1)[0], 4);
  EXPECT_EQ(Launch(k, 1, 1, nullptr, p + 4, out), kSuccess);
  EXPECT_EQ(Cuda().StreamSynchronize(nullptr), 716);
  Cuda().fake_cuda_clear_error();
}

}  // namespace
}  // namespace fake
