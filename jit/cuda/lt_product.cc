#include "jit/cuda/lt_product.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "core/check.h"
#include "core/str.h"

namespace frazil::cuda {
namespace {

constexpr uint32_t kAlignment = 16;

// What all products of a device share. Made at the first; lives as long as the process.
struct LtContext {
  LtHandle handle = nullptr;
  StorageRef workspace;
};

// The sizes that NVIDIA advises: more from Hopper on.
size_t WorkspaceBytes(const Device& device) {
  return size_t{device.info().arch >= 90 ? 32u : 4u} << 20;
}

std::mutex g_mutex;  // nothing to do before or after main

// Under g_mutex.
std::map<int, LtContext>& Contexts() {
  static auto* contexts = new std::map<int, LtContext>;
  return *contexts;
}

Status LtStatusOf(const CublasLtTable& table, LtStatus status, std::string_view what) {
  if (status == kLtSuccess) return absl::OkStatus();
  return RuntimeError("[matmul] ", what, ": ", table.GetStatusString(status), ".");
}

StatusOr<LtHandle> HandleOf(Device* device, const CublasLtTable& table) {
  std::lock_guard lock(g_mutex);
  LtContext& context = Contexts()[device->index()];
  if (!context.handle) {
    FZ_RETURN_IF_ERROR(
        LtStatusOf(table, table.Create(&context.handle), "cuBLASLt cannot be started"));
  }
  return context.handle;
}

StatusOr<CUdeviceptr> WorkspaceOf(Device* device) {
  std::lock_guard lock(g_mutex);
  LtContext& context = Contexts()[device->index()];
  if (!context.workspace) {
    FZ_ASSIGN_OR_RETURN(context.workspace, device->Allocate(WorkspaceBytes(*device)));
  }
  return reinterpret_cast<uintptr_t>(context.workspace->data);
}

int TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return kR16F;
    case DType::kBF16:
      return kR16BF;
    case DType::kF64:
      return kR64F;
    default:
      FZ_CHECK(dtype == DType::kF32);
      return kR32F;
  }
}

// 16-bit floats are summed in f32.
int ScaleOf(DType dtype) { return dtype == DType::kF64 ? kR64F : kR32F; }
int ComputeOf(const LtShape& shape) {
  if (shape.dtype == DType::kF64) return kCompute64F;
  return shape.dtype == DType::kF32 && shape.tf32 ? kCompute32FTf32 : kCompute32F;
}

LtOperand DenseOf(bool transposed, int64_t rows, int64_t columns) {
  return {transposed, transposed ? rows : columns, rows * columns};
}

}  // namespace

StatusOr<std::unique_ptr<const LtProduct>> LtProduct::Make(Device* device, const LtShape& shape,
                                                           const LtOperand& a, const LtOperand& b,
                                                           LtEpilogue epilogue) {
  const auto table = CublasLt();
  if (!table.ok()) {
    return RuntimeError(table.status().message(),
                        " Without it fz.precision(\"exact\") multiplies by frazil's own kernel.");
  }
  FZ_RETURN_IF_ERROR(device->Enter());
  std::unique_ptr<LtProduct> product(new LtProduct(device, *table, shape, epilogue));
  FZ_RETURN_IF_ERROR(product->Prepare(a, b));
  return product;
}

Status LtProduct::Prepare(const LtOperand& a, const LtOperand& b) {
  const auto [dtype, tf32, batches, m, n, k] = shape_;
  FZ_ASSIGN_OR_RETURN(handle_, HandleOf(device_, *table_));
  FZ_RETURN_IF_ERROR(MakeDescriptor(a.transposed, b.transposed, LtEpilogue::kNone, &plain_));
  FZ_RETURN_IF_ERROR(MakeDescriptor(a.transposed, b.transposed, epilogue_, &descriptor_));
  FZ_RETURN_IF_ERROR(MakeLayout(m, k, DenseOf(a.transposed, m, k), &dense_[0]));
  FZ_RETURN_IF_ERROR(MakeLayout(k, n, DenseOf(b.transposed, k, n), &dense_[1]));
  FZ_RETURN_IF_ERROR(MakeLayout(m, n, DenseOf(false, m, n), &result_));
  FZ_RETURN_IF_ERROR(MakeLayout(m, k, a, &strided_[0]));
  FZ_RETURN_IF_ERROR(MakeLayout(k, n, b, &strided_[1]));
  FZ_RETURN_IF_ERROR(ChooseAlgorithm());
  reads_strided_ = Supports(plain_.get(), strided_[0].get(), strided_[1].get());
  if (epilogue_ == LtEpilogue::kNone) return absl::OkStatus();
  const auto& read = reads_strided_ ? strided_ : dense_;
  if (!Supports(descriptor_.get(), read[0].get(), read[1].get()))
    return NotImplementedError("[matmul] the product's algorithm has no such epilogue.");
  return absl::OkStatus();
}

// cuBLASLt's matrices stand in columns: it is given the transposes, of which the product is
// b' a' = d'.
Status LtProduct::MakeDescriptor(bool a_transposed, bool b_transposed, LtEpilogue epilogue,
                                 Owned<LtMatmulDesc>* out) const {
  LtMatmulDesc made = nullptr;
  FZ_RETURN_IF_ERROR(Check(
      table_->MatmulDescCreate(&made, ComputeOf(shape_), ScaleOf(shape_.dtype)), "no descriptor"));
  *out = Owned<LtMatmulDesc>(made, Destroy{table_});
  const int32_t first = b_transposed ? kOpT : kOpN, second = a_transposed ? kOpT : kOpN;
  const uint32_t last = epilogue == LtEpilogue::kBias ? kEpilogueBias : kEpilogueDefault;
  const struct {
    int attribute;
    const void* value;
  } rows[] = {{kDescTransA, &first}, {kDescTransB, &second}, {kDescEpilogue, &last}};
  for (const auto& [attribute, value] : rows) {
    FZ_RETURN_IF_ERROR(Check(table_->MatmulDescSetAttribute(made, attribute, value, 4),
                             "a descriptor's attribute was refused"));
  }
  return absl::OkStatus();
}

Status LtProduct::MakeLayout(int64_t rows, int64_t columns, const LtOperand& operand,
                             Owned<LtLayout>* out) const {
  if (operand.transposed) std::swap(rows, columns);
  LtLayout made = nullptr;
  FZ_RETURN_IF_ERROR(
      Check(table_->MatrixLayoutCreate(&made, TypeOf(shape_.dtype), static_cast<uint64_t>(columns),
                                       static_cast<uint64_t>(rows), operand.leading),
            "no layout"));
  *out = Owned<LtLayout>(made, Destroy{table_});
  if (shape_.batches == 1) return absl::OkStatus();
  const auto batches = static_cast<int32_t>(shape_.batches);
  const int64_t stride = operand.batch_stride;
  FZ_RETURN_IF_ERROR(
      Check(table_->MatrixLayoutSetAttribute(made, kLayoutBatchCount, &batches, sizeof(batches)),
            "batches were refused"));
  return Check(table_->MatrixLayoutSetAttribute(made, kLayoutBatchOffset, &stride, sizeof(stride)),
               "the stride of batches was refused");
}

Status LtProduct::ChooseAlgorithm() {
  LtPreference made = nullptr;
  FZ_RETURN_IF_ERROR(Check(table_->MatmulPreferenceCreate(&made), "no preference"));
  const Owned<LtPreference> preference(made, Destroy{table_});
  const uint64_t workspace = WorkspaceBytes(*device_);
  FZ_RETURN_IF_ERROR(Check(table_->MatmulPreferenceSetAttribute(made, kPreferenceMaxWorkspace,
                                                                &workspace, sizeof(workspace)),
                           "the size of the workspace was refused"));
  for (const int attribute : {kPreferenceMinAlignmentA, kPreferenceMinAlignmentB,
                              kPreferenceMinAlignmentC, kPreferenceMinAlignmentD}) {
    FZ_RETURN_IF_ERROR(Check(
        table_->MatmulPreferenceSetAttribute(made, attribute, &kAlignment, sizeof(kAlignment)),
        "an alignment was refused"));
  }
  // Sums that are split are put together in f32 also where the result has 16 bits: rounded once.
  const uint32_t reductions = IsHalf(shape_.dtype) ? kReductionInComputeType : kAnyReduction;
  FZ_RETURN_IF_ERROR(Check(table_->MatmulPreferenceSetAttribute(made, kPreferenceReductions,
                                                                &reductions, sizeof(reductions)),
                           "a way to reduce was refused"));
  LtHeuristic found{};
  int count = 0;
  const LtStatus status =
      table_->MatmulAlgoGetHeuristic(handle_, plain_.get(), dense_[1].get(), dense_[0].get(),
                                     result_.get(), result_.get(), made, 1, &found, &count);
  if (status == kLtNotSupported || (status == kLtSuccess && count == 0))
    return NotImplementedError("[matmul] cuBLASLt has no algorithm for m ", shape_.m, ", n ",
                               shape_.n, ", k ", shape_.k, " of ", ShortName(shape_.dtype), ".");
  FZ_RETURN_IF_ERROR(Check(status, "no algorithm"));
  algorithm_ = found.algo;
  workspace_bytes_ = found.workspace;
  return absl::OkStatus();
}

bool LtProduct::Supports(LtMatmulDesc descriptor, LtLayout a, LtLayout b) const {
  LtHeuristic result{};
  const LtStatus status = table_->MatmulAlgoCheck(handle_, descriptor, b, a, result_.get(),
                                                  result_.get(), &algorithm_, &result);
  return status == kLtSuccess && result.workspace <= workspace_bytes_;
}

Status LtProduct::Run(CUdeviceptr a, CUdeviceptr b, CUdeviceptr d, CUdeviceptr bias, Dense dense,
                      const LaunchNameRef& name) const {
  FZ_RETURN_IF_ERROR(device_->Enter());
  CUdeviceptr workspace = 0;
  if (workspace_bytes_ > 0) {
    FZ_ASSIGN_OR_RETURN(workspace, WorkspaceOf(device_));
  }
  // Of both sizes the one of the descriptor's scale is read.
  const double one_f64 = 1, zero_f64 = 0;
  const float one_f32 = 1, zero_f32 = 0;
  const bool f64 = shape_.dtype == DType::kF64;
  const void* const one = f64 ? static_cast<const void*>(&one_f64) : &one_f32;
  const void* const zero = f64 ? static_cast<const void*>(&zero_f64) : &zero_f32;
  const auto at = [](CUdeviceptr p) { return reinterpret_cast<void*>(p); };
  // The pointer to a bias is part of the descriptor, which other threads use too.
  static std::mutex bias_mutex;
  std::unique_lock lock(bias_mutex, std::defer_lock);
  if (epilogue_ == LtEpilogue::kBias) {
    lock.lock();
    const void* const pointer = at(bias);
    FZ_RETURN_IF_ERROR(Check(table_->MatmulDescSetAttribute(descriptor_.get(), kDescBiasPointer,
                                                            &pointer, sizeof(pointer)),
                             "a bias was refused"));
  }
  const LtStatus status = table_->Matmul(
      handle_, descriptor_.get(), one, at(b), (dense.b ? dense_ : strided_)[1].get(), at(a),
      (dense.a ? dense_ : strided_)[0].get(), zero, at(d), result_.get(), at(d), result_.get(),
      &algorithm_, at(workspace), workspace_bytes_, device_->stream());
  FZ_RETURN_IF_ERROR(Check(status, StrCat("cuBLASLt cannot multiply m ", shape_.m, ", n ", shape_.n,
                                          ", k ", shape_.k, " of ", ShortName(shape_.dtype))));
  return device_->Launched(kSuccess, name);
}

Status LtProduct::Check(LtStatus status, std::string_view what) const {
  return LtStatusOf(*table_, status, what);
}

}  // namespace frazil::cuda
