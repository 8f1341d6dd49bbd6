#include "jit/run/cuda/lt_call.h"

#include <limits>

#include "core/str.h"

namespace frazil::jit {
namespace {

constexpr int64_t kAlignment = 16;  // of operands, in bytes: what algorithms are chosen for

// As much alignment as counts: the largest power of two up to 16 that divides `bytes`.
int64_t AlignmentOf(int64_t bytes) {
  int64_t alignment = kAlignment;
  while (bytes % alignment != 0) alignment /= 2;
  return alignment;
}

bool IsAligned(const char* data) { return AddressOf(data) % kAlignment == 0; }

}  // namespace

LtSource::LtSource(const Axes& batch, const Axes& rows, const Axes& columns, int64_t item) {
  const int64_t r = SizeOf(rows), c = SizeOf(columns);
  const auto by_row = OneStride(rows), by_column = OneStride(columns), by_batch = OneStride(batch);
  const bool even = by_row && by_column && by_batch && *by_batch >= 0;
  if (even && (c == 1 || *by_column == 1) && (r == 1 || *by_row >= c)) {
    lies = {false, r == 1 ? c : *by_row, *by_batch};
  } else if (even && (r == 1 || *by_row == 1) && (c == 1 || *by_column >= r)) {
    lies = {true, c == 1 ? r : *by_column, *by_batch};
  } else {
    copy = true;
  }
  // The algorithm is chosen for dense operands: those it gets may not be aligned worse.
  const int64_t leading = lies.transposed ? r : c;
  copy |= AlignmentOf(lies.leading * item) < AlignmentOf(leading * item) ||
          AlignmentOf(lies.batch_stride * item) < AlignmentOf(r * c * item);
  if (copy) lies = {lies.transposed, leading, r * c};
  dense = batch;
  const Axes &outer = lies.transposed ? columns : rows, &inner = lies.transposed ? rows : columns;
  dense.insert(dense.end(), outer.begin(), outer.end());
  dense.insert(dense.end(), inner.begin(), inner.end());
}

LtProblem LtProblem::Of(const ProductShape& p, DType dtype, bool tf32) {
  const int64_t item = frazil::SizeOf(dtype);
  Axes batch_a, batch_b, rows;
  for (const ProductShape::Batch& axis : p.batch) {
    (p.one_b ? rows : batch_a).push_back({axis.extent, axis.a});
    if (!p.one_b) batch_b.push_back({axis.extent, axis.b});
  }
  rows.push_back({p.m, p.a.row_stride});
  return {{dtype, tf32, SizeOf(batch_a), SizeOf(rows), p.n, p.k},
          LtSource(batch_a, rows, {{p.k, p.a.col_stride}}, item),
          LtSource(batch_b, {{p.k, p.b.row_stride}}, {{p.n, p.b.col_stride}}, item)};
}

bool IsForLt(const ProductShape& shape, DType dtype, Precision precision) {
  return IsFloat(dtype) && precision != Precision::kExact && !shape.empty();
}

StatusOr<std::unique_ptr<const LtCall>> LtCall::Make(gpu::Device* device, const LtProblem& problem,
                                                     gpu::LtEpilogue epilogue,
                                                     const std::string& origin) {
  if (problem.shape.batches > std::numeric_limits<int32_t>::max())
    return NotImplementedError("[matmul] cuBLASLt has no ", problem.shape.batches, " batches.");
  FZ_ASSIGN_OR_RETURN(auto product, gpu::LtProduct::Make(device, problem.shape, problem.a.lies,
                                                         problem.b.lies, epilogue));
  return std::unique_ptr<const LtCall>(new LtCall(device, problem, std::move(product), origin));
}

LtCall::LtCall(gpu::Device* device, const LtProblem& problem,
               std::unique_ptr<const gpu::LtProduct> product, const std::string& origin)
    : device_(device),
      shape_(problem.shape),
      product_(std::move(product)),
      copy_a_(problem.a.copy || !product_->reads_strided()),
      copy_b_(problem.b.copy || !product_->reads_strided()),
      dense_a_(device, static_cast<int>(frazil::SizeOf(shape_.dtype)), problem.a.dense, origin),
      dense_b_(device, static_cast<int>(frazil::SizeOf(shape_.dtype)), problem.b.dense, origin),
      name_(std::make_shared<const gpu::LaunchName>(gpu::LaunchName{"cublasLtMatmul", origin})) {}

Status LtCall::Run(const char* a, const char* b, const char* bias, char* result) const {
  // The allocator gives memory out again in the order of the stream.
  StorageRef a_copy, b_copy, bias_copy;
  gpu::LtProduct::Dense dense;
  FZ_RETURN_IF_ERROR(Densify(dense_a_, copy_a_, &a, &a_copy, &dense.a));
  FZ_RETURN_IF_ERROR(Densify(dense_b_, copy_b_, &b, &b_copy, &dense.b));
  if (!IsAligned(bias)) {
    const int64_t bytes = shape_.n * frazil::SizeOf(shape_.dtype);
    FZ_ASSIGN_OR_RETURN(bias_copy, Temporary(bytes));
    FZ_RETURN_IF_ERROR(
        device_->CopyWithin(AddressOf(bias_copy->data), AddressOf(bias), size_t(bytes)));
    bias = bias_copy->data;
  }
  return product_->Run(AddressOf(a), AddressOf(b), AddressOf(result), AddressOf(bias), dense,
                       name_);
}

StatusOr<StorageRef> LtCall::Temporary(int64_t bytes) const {
  if (device_->capturing())
    return NotImplementedError("[matmul] an operand is copied: not in a graph.");
  return device_->Allocate(static_cast<size_t>(bytes));
}

Status LtCall::Densify(const StridedCopy& copy, bool always, const char** data, StorageRef* memory,
                       bool* dense) const {
  if (!always && IsAligned(*data)) return absl::OkStatus();
  FZ_ASSIGN_OR_RETURN(*memory, Temporary(copy.bytes()));
  FZ_RETURN_IF_ERROR(copy.Run(*data, (*memory)->data));
  *data = (*memory)->data;
  *dense = true;
  return absl::OkStatus();
}

std::string LtCall::text() const {
  return StrCat("cublasLt ", ShortName(shape_.dtype), shape_.tf32 ? " tf32" : "", " batches ",
                shape_.batches, " m ", shape_.m, " n ", shape_.n, " k ", shape_.k,
                copy_a_ ? " copies a" : "", copy_b_ ? " copies b" : "");
}

}  // namespace frazil::jit
