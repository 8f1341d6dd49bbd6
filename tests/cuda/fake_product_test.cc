// The fake cuBLASLt against kernels/gemm: the same bits, batches, transposes, epilogues, captures.
#include <cmath>

#include "kernels/gemm/gemm.h"
#include "tests/cuda/fake_fixture.h"

namespace fake {
namespace {

struct Shape {
  int64_t m, n, k;
  bool trans_a = false, trans_b = false;
  int batches = 1;
  int order = kOrderCol;
};

class FakeProduct : public FakeTest {
 protected:
  static LtHandle Handle() {
    static LtHandle handle = [] {
      LtHandle made = nullptr;
      EXPECT_EQ(CublasLt().Create(&made), 0);
      return made;
    }();
    return handle;
  }

  // Rows and columns as stored.
  LtLayout Layout(int type, int64_t rows, int64_t cols, const Shape& s) {
    LtLayout layout = nullptr;
    EXPECT_EQ(CublasLt().MatrixLayoutCreate(&layout, type, uint64_t(rows), uint64_t(cols),
                                            s.order == kOrderCol ? rows : cols),
              0);
    const int64_t offset = rows * cols;
    EXPECT_EQ(CublasLt().MatrixLayoutSetAttribute(layout, kLayoutOrder, &s.order, 4), 0);
    EXPECT_EQ(CublasLt().MatrixLayoutSetAttribute(layout, kLayoutBatchCount, &s.batches, 4), 0);
    EXPECT_EQ(CublasLt().MatrixLayoutSetAttribute(layout, kLayoutBatchOffset, &offset, 8), 0);
    return layout;
  }

  // The status of the heuristic or of the product; D in `d`.
  LtStatus Multiply(const Shape& s, int compute, int scale, int type, CUdeviceptr a, CUdeviceptr b,
                    CUdeviceptr d, CUstream stream, int epilogue = kEpilogueDefault,
                    CUdeviceptr bias = 0) {
    LtMatmulDesc desc = nullptr;
    EXPECT_EQ(CublasLt().MatmulDescCreate(&desc, compute, scale), 0);
    const int ta = s.trans_a ? kOpT : kOpN, tb = s.trans_b ? kOpT : kOpN;
    EXPECT_EQ(CublasLt().MatmulDescSetAttribute(desc, kDescTransA, &ta, 4), 0);
    EXPECT_EQ(CublasLt().MatmulDescSetAttribute(desc, kDescTransB, &tb, 4), 0);
    EXPECT_EQ(CublasLt().MatmulDescSetAttribute(desc, kDescEpilogue, &epilogue, 4), 0);
    EXPECT_EQ(CublasLt().MatmulDescSetAttribute(desc, kDescBiasPointer, &bias, 8), 0);
    const int result = type == kR8I ? kR32I : type;
    const LtLayout la = s.trans_a ? Layout(type, s.k, s.m, s) : Layout(type, s.m, s.k, s),
                   lb = s.trans_b ? Layout(type, s.n, s.k, s) : Layout(type, s.k, s.n, s),
                   ld = Layout(result, s.m, s.n, s);
    LtPreference preference = nullptr;
    EXPECT_EQ(CublasLt().MatmulPreferenceCreate(&preference), 0);
    const uint64_t most = 1 << 20;
    EXPECT_EQ(
        CublasLt().MatmulPreferenceSetAttribute(preference, kPreferenceMaxWorkspace, &most, 8), 0);
    LtHeuristic found;
    int count = 0;
    LtStatus status = CublasLt().MatmulAlgoGetHeuristic(Handle(), desc, la, lb, ld, ld, preference,
                                                        1, &found, &count);
    if (status == kLtSuccess) {
      EXPECT_EQ(count, 1);
      EXPECT_LE(found.workspace, most);
      const CUdeviceptr workspace = Alloc(found.workspace);
      union {
        float f;
        double d;
        int i;
      } one, zero;
      if (scale == kR64F) one.d = 1, zero.d = 0;
      if (scale == kR32F) one.f = 1, zero.f = 0;
      if (scale == kR32I) one.i = 1, zero.i = 0;
      const auto p = [](CUdeviceptr q) { return reinterpret_cast<void*>(q); };
      status = CublasLt().Matmul(Handle(), desc, &one, p(a), la, p(b), lb, &zero, p(d), ld, p(d),
                                 ld, &found.algo, p(workspace), found.workspace, stream);
      workspaces_.push_back(workspace);
    }
    EXPECT_EQ(CublasLt().MatmulPreferenceDestroy(preference), 0);
    for (LtLayout layout : {la, lb, ld}) EXPECT_EQ(CublasLt().MatrixLayoutDestroy(layout), 0);
    EXPECT_EQ(CublasLt().MatmulDescDestroy(desc), 0);
    return status;
  }

  void TearDown() override {
    for (CUdeviceptr p : workspaces_) EXPECT_EQ(Cuda().MemFree(p), kSuccess);
  }
  std::vector<CUdeviceptr> workspaces_;
};

template <typename T>
std::vector<T> Random(size_t count, unsigned seed) {
  std::vector<T> out(count);
  for (T& x : out) x = T(int((seed = seed * 1664525 + 1013904223) >> 8) % 2001 - 1000) / T(512);
  return out;
}

template <typename T>
void CompareWithGemm(const Shape& s, const std::vector<T>& a, const std::vector<T>& b,
                     const std::vector<T>& d, frazil::DType dtype) {
  std::vector<T> want(size_t(s.m * s.n));
  const bool col = s.order == kOrderCol;
  for (int64_t batch = 0; batch < s.batches; ++batch) {
    const auto matrix = [&](const T* data, int64_t rows, int64_t cols, bool trans) {
      const int64_t leading = col ? (trans ? cols : rows) : (trans ? rows : cols);
      const bool down = col != trans;  // elements of a column are neighbours
      return frazil::MatrixRef{const_cast<T*>(data) + batch * rows * cols, down ? 1 : leading,
                               down ? leading : 1};
    };
    frazil::Gemm({.dtype = dtype,
                  .m = s.m,
                  .n = s.n,
                  .k = s.k,
                  .a = matrix(a.data(), s.m, s.k, s.trans_a),
                  .b = matrix(b.data(), s.k, s.n, s.trans_b),
                  .c = {want.data(), col ? 1 : s.n, col ? s.m : 1}});
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_EQ(want[i], d[size_t(batch * s.m * s.n) + i]) << i << " of " << batch;
  }
}

TEST_F(FakeProduct, HasTheBitsOfTheCpu) {
  const Shape shapes[] = {{5, 7, 9},
                          {3, 2, 1},
                          {4, 6, 9000},
                          {8, 5, 33, true},
                          {8, 5, 33, false, true},
                          {6, 3, 17, true, true, 4},
                          {6, 3, 17, false, false, 3, kOrderRow},
                          {6, 3, 17, true, false, 1, kOrderRow}};
  for (const Shape& s : shapes) {
    const auto a = Random<float>(size_t(s.m * s.k * s.batches), 1),
               b = Random<float>(size_t(s.k * s.n * s.batches), 2);
    const size_t count = size_t(s.m * s.n * s.batches);
    const CUdeviceptr pa = Upload(a), pb = Upload(b), pd = Alloc(count * 4);
    ASSERT_EQ(Multiply(s, kCompute32F, kR32F, kR32F, pa, pb, pd, nullptr), 0);
    CompareWithGemm(s, a, b, Download<float>(pd, count), frazil::DType::kF32);
    const auto wide_a = Random<double>(a.size(), 3), wide_b = Random<double>(b.size(), 4);
    const CUdeviceptr qa = Upload(wide_a), qb = Upload(wide_b), qd = Alloc(count * 8);
    ASSERT_EQ(Multiply(s, kCompute64F, kR64F, kR64F, qa, qb, qd, nullptr), 0);
    CompareWithGemm(s, wide_a, wide_b, Download<double>(qd, count), frazil::DType::kF64);
    for (CUdeviceptr p : {pa, pb, pd, qa, qb, qd}) EXPECT_EQ(Cuda().MemFree(p), kSuccess);
  }
}

TEST_F(FakeProduct, KnowsNarrowTypes) {
  const Shape s{8, 5, 12, true};
  std::vector<int8_t> a(96), b(60);
  for (size_t i = 0; i < a.size(); ++i) a[i] = int8_t(i * 37);
  for (size_t i = 0; i < b.size(); ++i) b[i] = int8_t(i * 91);
  const CUdeviceptr pa = Upload(a), pb = Upload(b), pd = Alloc(160);
  ASSERT_EQ(Multiply(s, kCompute32I, kR32I, kR8I, pa, pb, pd, nullptr), 0);
  const auto d = Download<int>(pd, 40);
  for (size_t i = 0; i < 8; ++i) {
    for (size_t j = 0; j < 5; ++j) {
      int want = 0;
      for (size_t k = 0; k < 12; ++k) want += a[i * 12 + k] * b[j * 12 + k];
      ASSERT_EQ(d[j * 8 + i], want);
    }
  }
  EXPECT_EQ(Multiply({8, 5, 12}, kCompute32I, kR32I, kR8I, pa, pb, pd, nullptr), kLtNotSupported);
  EXPECT_EQ(Multiply(s, kCompute64F, kR64F, kR8I, pa, pb, pd, nullptr), kLtNotSupported);
  // 1 x 2 times 2 x 1 in bfloat16: 1.5 * 2 + 1 * 0.5.
  const CUdeviceptr ha = Upload(std::vector<uint16_t>{0x3fc0, 0x3f80}),
                    hb = Upload(std::vector<uint16_t>{0x4000, 0x3f00}), hd = Alloc(2);
  ASSERT_EQ(Multiply({1, 1, 2}, kCompute32F, kR32F, kR16BF, ha, hb, hd, nullptr), 0);
  EXPECT_EQ(Download<uint16_t>(hd, 1)[0], 0x4060);
  const CUdeviceptr ga = Upload(std::vector<uint16_t>{0x3e00, 0x3c00}),
                    gb = Upload(std::vector<uint16_t>{0x4000, 0x3800});
  ASSERT_EQ(Multiply({1, 1, 2}, kCompute32F, kR32F, kR16F, ga, gb, hd, nullptr), 0);
  EXPECT_EQ(Download<uint16_t>(hd, 1)[0], 0x4300);
  for (CUdeviceptr p : {pa, pb, pd, ha, hb, hd, ga, gb}) EXPECT_EQ(Cuda().MemFree(p), kSuccess);
}

TEST_F(FakeProduct, AddsABiasAndActivates) {
  const Shape s{2, 2, 1};
  const CUdeviceptr a = Upload(std::vector<float>{1, -1}), b = Upload(std::vector<float>{1, 2}),
                    bias = Upload(std::vector<float>{0.5, 0.25}), d = Alloc(16);
  ASSERT_EQ(Multiply(s, kCompute32F, kR32F, kR32F, a, b, d, nullptr, kEpilogueReluBias, bias), 0);
  EXPECT_EQ(Download<float>(d, 4), (std::vector<float>{1.5, 0, 2.5, 0}));
  ASSERT_EQ(Multiply(s, kCompute32F, kR32F, kR32F, a, b, d, nullptr, kEpilogueGelu), 0);
  EXPECT_NEAR(Download<float>(d, 4)[0], 0.8412, 1e-4);
  EXPECT_EQ(Multiply(s, kCompute32F, kR32F, kR32F, a, b, d, nullptr, kEpilogueBias), 7);
  for (CUdeviceptr p : {a, b, bias, d}) EXPECT_EQ(Cuda().MemFree(p), kSuccess);
}

TEST_F(FakeProduct, Tf32RoundsOperands) {
  const CUdeviceptr a = Upload(std::vector<float>{1 + 0x1p-12f}), b = Upload(std::vector<float>{1}),
                    d = Alloc(4);
  ASSERT_EQ(Multiply({1, 1, 1}, kCompute32FTf32, kR32F, kR32F, a, b, d, nullptr), 0);
  EXPECT_EQ(Download<float>(d, 1)[0], 1);
  ASSERT_EQ(Multiply({1, 1, 1}, kCompute32F, kR32F, kR32F, a, b, d, nullptr), 0);
  EXPECT_EQ(Download<float>(d, 1)[0], 1 + 0x1p-12f);
  for (CUdeviceptr p : {a, b, d}) EXPECT_EQ(Cuda().MemFree(p), kSuccess);
}

TEST_F(FakeProduct, IsPartOfStreamsAndGraphs) {
  const CUdeviceptr a = Upload(std::vector<float>{2}), b = Upload(std::vector<float>{3}),
                    d = Alloc(4);
  EXPECT_EQ(Cuda().StreamSynchronize(nullptr), kSuccess);
  const CUstream stream = NewStream();
  const LtHandle handle = Handle();
  EXPECT_EQ(Cuda().StreamBeginCapture(stream, kCaptureThreadLocal), kSuccess);
  LtMatmulDesc desc = nullptr;
  EXPECT_EQ(CublasLt().MatmulDescCreate(&desc, kCompute32F, kR32F), 0);
  const LtLayout layout = Layout(kR32F, 1, 1, {1, 1, 1});
  const float one = 1, zero = 0;
  const auto p = [](CUdeviceptr q) { return reinterpret_cast<void*>(q); };
  EXPECT_EQ(CublasLt().Matmul(handle, desc, &one, p(a), layout, p(b), layout, &zero, p(d), layout,
                              p(d), layout, nullptr, nullptr, 0, stream),
            0);
  CUgraph graph = nullptr;
  EXPECT_EQ(Cuda().StreamEndCapture(stream, &graph), kSuccess);
  EXPECT_TRUE(std::isnan(Download<float>(d, 1)[0]));
  CUgraphExec exec = nullptr;
  EXPECT_EQ(Cuda().GraphInstantiate(&exec, graph, 0), kSuccess);
  const auto before = Cuda().fake_cuda_count("kernel");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Cuda().GraphLaunch(exec, stream), kSuccess);
  EXPECT_EQ(Download<float>(d, 1, stream), (std::vector<float>{6}));
  EXPECT_EQ(Cuda().fake_cuda_count("kernel") - before, 2);
  CublasLt().fake_cublaslt_fail("cublasLtMatmul", 1, kLtInternalError);
  EXPECT_EQ(CublasLt().Matmul(handle, desc, &one, p(a), layout, p(b), layout, &zero, p(d), layout,
                              p(d), layout, nullptr, nullptr, 0, stream),
            kLtInternalError);
  for (CUdeviceptr q : {a, b, d}) EXPECT_EQ(Cuda().MemFree(q), kSuccess);
}

}  // namespace
}  // namespace fake
