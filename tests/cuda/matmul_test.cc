// Products of matrices as steps of plans on a GPU, through the fake cuBLASLt (which has the CPU's
// bits) and frazil's own kernel.
#include "core/str.h"
#include "jit/graph/graph.h"
#include "jit/plan/compile.h"
#include "jit/run/cuda/lt_call.h"
#include "tests/cuda/on_gpu.h"

namespace frazil {
namespace {

using cuda::kLtAllocFailed;
using cuda::kLtInternalError;
using cuda::kLtNotSupported;

class CudaMatmul : public OnGpu {
 protected:
  static unsigned long long Products() {
    return fake::CublasLt().fake_cublaslt_count("cublasLtMatmul");
  }
  // Copies of operands by kernels or within the device.
  static unsigned long long Copies() {
    return Count("cuLaunchKernel") + Count("cuMemcpyDtoDAsync");
  }
};

constexpr DType kNumbers[] = {DType::kI8,  DType::kI16,  DType::kI32, DType::kI64,
                              DType::kU8,  DType::kU16,  DType::kU32, DType::kU64,
                              DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

Tensor Product(absl::Span<const Tensor> x) { return ops::matmul(x[0], x[1]); }
Tensor Transposed(const Tensor& x) {
  std::vector<int64_t> axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return ops::permute_dims(x, axes);
}

TEST_F(CudaMatmul, EveryDTypeAndPrecision) {
  for (const DType dtype : kNumbers) {
    const std::vector<Tensor> arrays = {Random(dtype, {33, 20}), Random(dtype, {20, 17})};
    for (const Precision precision : {Precision::kDefault, Precision::kTf32, Precision::kExact,
                                      Precision::kBlas, Precision::kNative}) {
      if (precision == Precision::kTf32 && dtype == DType::kF32) continue;
      State().precision = precision;
      const auto before = Products();
      Compare(arrays, Product, StrCat(ShortName(dtype), " ", Name(precision)));
      EXPECT_EQ(Products() - before, IsFloat(dtype) && precision != Precision::kExact ? 1 : 0)
          << ShortName(dtype) << " " << Name(precision);
    }
  }
}

TEST_F(CudaMatmul, Tf32RoundsFactors) {
  const Tensor a = Random(DType::kF32, {16, 16}), there = ops::to_device(a, kGpu);
  const Tensor exact = ops::matmul(there, there);
  State().precision = Precision::kTf32;
  EXPECT_GT(Differences(exact, ops::matmul(there, there)), 0);
  EXPECT_EQ(Differences(ops::matmul(a, a), exact), 0);  // the CPU has no such thing
}

TEST_F(CudaMatmul, TransposesAreReadAsTheyLie) {
  const std::vector<Tensor> arrays = {Random(DType::kF32, {32, 24}), Random(DType::kF32, {40, 32})};
  const auto before = Copies();
  const auto products = Products();
  Compare(
      arrays, [](auto x) { return ops::matmul(Transposed(x[0]), Transposed(x[1])); }, "a' b'");
  EXPECT_EQ(Products() - products, 1);
  EXPECT_EQ(Copies() - before, 0);
}

// A part of a larger array, whose rows lie apart.
TEST_F(CudaMatmul, RowsApartAreReadAsTheyLieWhereTheyAreAligned) {
  const std::vector<Tensor> arrays = {Random(DType::kF32, {16, 64}), Random(DType::kF32, {32, 12})};
  const auto part = [](int64_t start, int64_t step) {
    return [=](absl::Span<const Tensor> x) {
      return ops::matmul(ops::slice(x[0], {0, 1, 16, start, step, 32}), x[1]);
    };
  };
  auto before = Copies();
  Compare(arrays, part(32, 1), "aligned");
  EXPECT_EQ(Copies() - before, 0);
  before = Copies();
  Compare(arrays, part(31, 1), "not aligned");
  EXPECT_EQ(Copies() - before, 1);
  before = Copies();
  Compare(arrays, part(0, 2), "every second");
  EXPECT_EQ(Copies() - before, 1);
}

TEST_F(CudaMatmul, AnyLayoutHasTheSameBits) {
  const std::function<Tensor(const Tensor&)> views[] = {
      [](const Tensor& x) { return x; },
      [](const Tensor& x) { return Transposed(x); },
      [](const Tensor& x) {
        return ops::slice(x, {19, -1, 20, 19, -1, 20});
      },
      [](const Tensor& x) {
        return ops::broadcast_to(ops::slice(x, {3, 1, 1, 0, 1, 20}), {20, 20});
      },
      [](const Tensor& x) {
        return ops::broadcast_to(ops::slice(x, {0, 1, 20, 3, 1, 1}), {20, 20});
      },
      [](const Tensor& x) {
        return ops::slice(x, {5, 1, 1, 0, 1, 20});
      },
      [](const Tensor& x) {
        return ops::slice(x, {0, 1, 20, 7, 1, 1});
      },
  };
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kF64, DType::kI32}) {
    const std::vector<Tensor> arrays = {Random(dtype, {20, 20}), Random(dtype, {20, 20})};
    for (const Precision precision : {Precision::kDefault, Precision::kExact}) {
      State().precision = precision;
      for (size_t i = 0; i < 7; ++i) {
        for (size_t j = 0; j < 7; ++j) {
          const auto f = [&](absl::Span<const Tensor> x) {
            const Tensor a = views[i](x[0]), b = views[j](x[1]);
            if (a.value()->layout->dim(1) != b.value()->layout->dim(0)) return x[0];
            return ops::matmul(a, b);
          };
          Compare(arrays, f, StrCat(ShortName(dtype), " ", i, " ", j));
        }
      }
    }
  }
}

TEST_F(CudaMatmul, BatchesAndBroadcasting) {
  const std::pair<std::vector<int64_t>, std::vector<int64_t>> dims[] = {
      {{3, 5, 8}, {3, 8, 7}},    {{3, 5, 8}, {8, 7}},
      {{5, 8}, {3, 8, 7}},       {{2, 1, 5, 8}, {1, 3, 8, 7}},
      {{2, 3, 5, 8}, {3, 8, 7}}, {{1, 5, 8}, {1, 8, 7}},
      {{4, 1, 8}, {8, 1}},       {{8}, {8, 7}},
      {{3, 5, 8}, {8}},          {{2, 2, 1, 1, 4}, {1, 2, 2, 4, 3}}};
  for (const auto& [a, b] : dims) {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kU8}) {
      const std::vector<Tensor> arrays = {Random(dtype, a), Random(dtype, b)};
      for (const Precision precision : {Precision::kDefault, Precision::kExact}) {
        State().precision = precision;
        const std::string what = StrCat(ToString(Dims(a)), " ", ToString(Dims(b)));
        Compare(arrays, Product, what);
        if (a.size() > 2 && b.size() > 2) {
          Compare(
              arrays, [](auto x) { return ops::matmul(Transposed(x[1]), Transposed(x[0])); },
              what + " transposed");
        }
      }
    }
  }
}

TEST_F(CudaMatmul, OneMatrixForAllBatchesIsOneProduct) {
  const std::vector<Tensor> arrays = {Random(DType::kF32, {6, 4, 8}), Random(DType::kF32, {8, 8})};
  fake::CublasLt().fake_cublaslt_clear_log();
  Compare(arrays, Product, "rows");
  const std::string log = fake::CublasLt().fake_cublaslt_log();
  EXPECT_NE(log.find("cublasLtMatrixLayoutCreate(0, 8, 24, 8)"), std::string::npos) << log;
}

// What is copied of a matrix that all batches share is one.
TEST_F(CudaMatmul, OneMatrixForAllBatchesIsCopiedOnce) {
  const std::vector<int64_t> a = {6, 4, 8}, b = {1, 8, 8}, apart = {0, 33, 3}, c = {6, 4, 8};
  const auto shape = jit::ProductShape::Of(Dense(a), Intern(b, apart), Dense(c));
  const auto problem = jit::LtProblem::Of(shape, DType::kF32, false);
  EXPECT_TRUE(problem.b.copy);
  EXPECT_FALSE(problem.a.copy);
  EXPECT_EQ(jit::SizeOf(problem.b.dense), 64);
  EXPECT_EQ(problem.shape.batches, 1);
  EXPECT_EQ(problem.shape.m, 24);
}

TEST_F(CudaMatmul, SixteenBitFloatsRoundOnce) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    fake::CublasLt().fake_cublaslt_clear_log();
    Compare({Random(dtype, {6, 5}), Random(dtype, {5, 6})}, Product, std::string(ShortName(dtype)));
    const std::string log = fake::CublasLt().fake_cublaslt_log();
    EXPECT_NE(log.find("cublasLtMatmulPreferenceSetAttribute(3, 4)"), std::string::npos) << log;
  }
}

TEST_F(CudaMatmul, Empty) {
  for (const DType dtype : {DType::kF32, DType::kI64}) {
    Compare({Random(dtype, {4, 0}), Random(dtype, {0, 5})}, Product, "k 0");
    Compare({Random(dtype, {0, 4}), Random(dtype, {4, 5})}, Product, "m 0");
    Compare({Random(dtype, {2, 3, 4}), Random(dtype, {2, 4, 0})}, Product, "n 0");
  }
}

TEST_F(CudaMatmul, LongSums) {
  State().precision = Precision::kExact;
  for (const DType dtype : {DType::kF32, DType::kF16})
    Compare({Random(dtype, {3, 9001}), Random(dtype, {9001, 4})}, Product, "k 9001");
}

TEST_F(CudaMatmul, NoAlgorithmMeansOurs) {
  const auto products = Products();
  fake::CublasLt().fake_cublaslt_fail("cublasLtMatmulAlgoGetHeuristic", 1, kLtNotSupported);
  Compare({Random(DType::kF32, {5, 6}), Random(DType::kF32, {6, 3})}, Product, "not supported");
  EXPECT_EQ(Products() - products, 0);
}

TEST_F(CudaMatmul, AnAlgorithmThatNeedsDenseOperandsGetsThem) {
  const std::vector<Tensor> arrays = {Random(DType::kF32, {12, 64}), Random(DType::kF32, {32, 20})};
  fake::CublasLt().fake_cublaslt_fail("cublasLtMatmulAlgoCheck", 1, kLtNotSupported);
  const auto copies = Copies();
  Compare(
      arrays,
      [](auto x) {
        return ops::matmul(ops::slice(x[0], {0, 1, 12, 16, 1, 32}), x[1]);
      },
      "dense");
  EXPECT_EQ(Copies() - copies, 2);
}

TEST_F(CudaMatmul, FailuresAreErrors) {
  const Tensor a = ops::to_device(Random(DType::kF32, {7, 6}), kGpu),
               b = ops::to_device(Random(DType::kF32, {6, 7}), kGpu);
  fake::CublasLt().fake_cublaslt_fail("cublasLtMatmul", 1, kLtInternalError);
  const Tensor bad = ops::matmul(a, b);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(KindOf(bad.status()), ErrorKind::kRuntime);
  EXPECT_EQ(bad.status().message(),
            "[matmul] cuBLASLt cannot multiply m 7, n 7, k 6 of f32: "
            "CUBLAS_STATUS_INTERNAL_ERROR.");
  EXPECT_TRUE(ops::matmul(a, b).ok());
  const Tensor c = ops::to_device(Random(DType::kF32, {9, 6}), kGpu);
  fake::CublasLt().fake_cublaslt_fail("cublasLtMatmulAlgoGetHeuristic", 1, kLtInternalError);
  EXPECT_EQ(ops::matmul(c, b).status().message(),
            "[matmul] no algorithm: CUBLAS_STATUS_INTERNAL_ERROR.");
}

TEST_F(CudaMatmul, NoMemoryForTheWorkspace) {
  const Device other(DeviceKind::kCuda, 1);
  const Tensor a = ops::to_device(Random(DType::kF32, {8, 8}), other);
  // A segment, just the bytes, and both again after what is kept was given back.
  for (int nth = 1; nth <= 4; ++nth) Fail("cuMemAlloc", nth, cuda::kOutOfMemory);
  const Tensor bad = ops::matmul(a, a);
  ClearError();
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(KindOf(bad.status()), ErrorKind::kMemory) << bad.status();
  EXPECT_TRUE(ops::matmul(a, a).ok());
}

TEST_F(CudaMatmul, PlansMayBeGraphs) {
  const auto graph = jit::Parse(
      "graph (f32[24,16]@cuda, f32[16,24]@cuda) {\n"
      "  %2 = exp %0 : f32[24,16]@cuda\n"
      "  %3 = matmul %2, %1 : f32[24,24]@cuda\n"
      "  %4 = matmul %3, %2 : f32[24,16]@cuda\n"
      "  %5 = negative %4 : f32[24,16]@cuda\n"
      "  return %5\n"
      "}\n");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto plan = jit::Compile(*graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE((*plan)->unlocks()) << "others go on while the GPU is waited for";
  for (int i = 0; i < 6; ++i) {
    const Tensor a = Random(DType::kF32, {24, 16}), b = Random(DType::kF32, {16, 24});
    const Tensor e = ops::exp(a), want = ops::negative(ops::matmul(ops::matmul(e, b), e));
    const Tensor da = ops::to_device(a, kGpu), db = ops::to_device(b, kGpu);
    ValueRef out;
    Value* inputs[] = {da.value(), db.value()};
    ASSERT_TRUE((*plan)->Run(inputs, absl::MakeSpan(&out, 1)).ok());
    EXPECT_EQ(Differences(want, Tensor(std::move(out))), 0) << i;
  }
  EXPECT_GT(Count("cuGraphLaunch"), 0);
}

// Plans of a product and what follows it.
class CudaEpilogue : public CudaMatmul {
 protected:
  // Runs the graph on both devices, often enough for a graph of launches. `biased`: the product
  // adds the bias.
  void Check(const std::string& text, const std::vector<Tensor>& arrays, bool biased,
             const std::string& what, Precision precision = Precision::kDefault) {
    const auto here = jit::Parse(text), there = jit::Parse(OnTheGpu(text));
    ASSERT_TRUE(here.ok()) << here.status();
    ASSERT_TRUE(there.ok()) << there.status();
    const auto cpu = jit::Compile(*here, {});
    fake::CublasLt().fake_cublaslt_clear_log();
    const auto gpu = jit::Compile(*there, {.precision = precision});
    ASSERT_TRUE(cpu.ok()) << cpu.status();
    ASSERT_TRUE(gpu.ok()) << gpu.status();
    std::vector<Tensor> moved;
    for (const Tensor& x : arrays) moved.push_back(ops::to_device(x, kGpu));
    for (int run = 0; run < 4; ++run) {
      const Tensor want = Run(**cpu, arrays), got = Run(**gpu, moved);
      EXPECT_EQ(Differences(want, got), 0) << what << " run " << run;
    }
    EXPECT_EQ((*gpu)->stats().library_calls, biased ? 0 : 1) << what;
  }

  static std::string OnTheGpu(std::string text) {
    for (size_t at = 0; (at = text.find(']', at)) != std::string::npos; at += 6)
      text.insert(at + 1, "@cuda");
    return text;
  }

  static Tensor Run(const jit::Plan& plan, const std::vector<Tensor>& arrays) {
    std::vector<Value*> inputs;
    for (const Tensor& x : arrays) inputs.push_back(x.value());
    std::vector<ValueRef> outputs(1);
    const Status status = plan.Run(inputs, absl::MakeSpan(outputs));
    return status.ok() ? Tensor(std::move(outputs[0])) : Tensor(status);
  }
};

std::string Biased(const std::string& dtype, const std::string& a = "12,16",
                   const std::string& b = "16,20", const std::string& c = "12,20",
                   const std::string& bias = "20", const std::string& rest = "add %3, %2") {
  return StrCat("graph (", dtype, "[", a, "], ", dtype, "[", b, "], ", dtype, "[", bias,
                "]) {\n  %3 = matmul %0, %1 : ", dtype, "[", c, "]\n  %4 = ", rest, " : ", dtype,
                "[", c, "]\n  return %4\n}\n");
}

TEST_F(CudaEpilogue, ABiasIsAddedByTheProduct) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI32}) {
    const std::vector<Tensor> arrays = {Random(dtype, {12, 16}), Random(dtype, {16, 20}),
                                        Random(dtype, {20})};
    // 16-bit floats round before the bias is added.
    const bool biased = IsFloat(dtype) && !IsHalf(dtype);
    const std::string name(ShortName(dtype));
    Check(Biased(name), arrays, biased, name);
    Check(Biased(name), arrays, false, name + " exact", Precision::kExact);
    Check(Biased(name, "12,16", "16,20", "12,20", "20", "add %2, %3"), arrays, biased,
          name + " the other way round");
  }
}

TEST_F(CudaEpilogue, BatchesOfRowsHaveOneBias) {
  Check(
      Biased("f32", "3,4,16", "1,16,8", "3,4,8", "8"),
      {Random(DType::kF32, {3, 4, 16}), Random(DType::kF32, {1, 16, 8}), Random(DType::kF32, {8})},
      true, "rows of batches");
  Check(
      Biased("f32", "3,4,16", "3,16,8", "3,4,8", "8"),
      {Random(DType::kF32, {3, 4, 16}), Random(DType::kF32, {3, 16, 8}), Random(DType::kF32, {8})},
      false, "batches");
  Check(Biased("f32", "1,16", "16,8", "1,8", "8"),
        {Random(DType::kF32, {1, 16}), Random(DType::kF32, {16, 8}), Random(DType::kF32, {8})},
        true, "one row");
}

TEST_F(CudaEpilogue, OtherAdditionsAndOpsStayApart) {
  const Tensor a = Random(DType::kF32, {12, 12});
  const std::string n = "12,12";
  Check(Biased("f32", n, n, n, "12,1"), {a, a, Random(DType::kF32, {12, 1})}, false, "a column");
  Check(Biased("f32", n, n, n, "1"), {a, a, Random(DType::kF32, {1})}, false, "a number");
  Check(Biased("f32", n, n, n, n), {a, a, a}, false, "a matrix");
  Check(Biased("f32", n, n, n, "12", "subtract %3, %2"), {a, a, Random(DType::kF32, {12})}, false,
        "a difference");
  Check(Biased("f32", n, n, n, n, "add %3, %3"), {a, a, a}, false, "twice the product");
}

TEST_F(CudaEpilogue, ABiasAnywhereInMemory) {
  const Tensor bias = ops::to_device(Random(DType::kF32, {31}), kGpu);
  const std::vector<Tensor> there = {ops::to_device(Random(DType::kF32, {12, 16}), kGpu),
                                     ops::to_device(Random(DType::kF32, {16, 20}), kGpu),
                                     ops::slice(bias, {3, 1, 20})};
  const auto plan = jit::Compile(*jit::Parse(OnTheGpu(Biased("f32"))), {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (int run = 0; run < 3; ++run) {
    const Tensor got = Run(**plan, there);
    ASSERT_TRUE(got.ok()) << got.status();
    const Tensor product = ops::matmul(there[0], there[1]);
    const Tensor want = Apply(OpId::k_add, {&product, &there[2]});
    EXPECT_EQ(Differences(Tensor(*OnHost(*want.value())), got), 0);
  }
}

TEST_F(CudaEpilogue, AnAlgorithmWithoutItLeavesTwoSteps) {
  // The product's own check, then that of the product with the bias.
  fake::CublasLt().fake_cublaslt_fail("cublasLtMatmulAlgoCheck", 3, kLtNotSupported);
  Check(Biased("f32"),
        {Random(DType::kF32, {12, 16}), Random(DType::kF32, {16, 20}), Random(DType::kF32, {20})},
        false, "refused");
}

}  // namespace
}  // namespace frazil
