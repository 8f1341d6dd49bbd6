#include "jit/runtime/cuda/matmul.h"

#include <algorithm>
#include <limits>

#include "core/str.h"
#include "jit/cuda/lt_product.h"
#include "jit/runtime/cuda/exact_product.h"
#include "jit/runtime/cuda/strided.h"

namespace frazil::jit {
namespace {

constexpr int64_t kAlignment = 16;  // of operands, in bytes: what algorithms are chosen for

// As much alignment as counts: the largest power of two up to 16 that divides `bytes`.
int64_t AlignmentOf(int64_t bytes) {
  int64_t alignment = kAlignment;
  while (bytes % alignment != 0) alignment /= 2;
  return alignment;
}

// How an operand reaches cuBLASLt.
struct Operand {
  gpu::LtOperand lies;
  bool copy = false;  // first: dense, in the orientation that it has
  Axes dense;         // what such a copy visits

  Operand(const Axes& batch, const Axes& rows, const Axes& columns, int64_t item) {
    const int64_t r = SizeOf(rows), c = SizeOf(columns);
    const auto by_row = OneStride(rows), by_column = OneStride(columns),
               by_batch = OneStride(batch);
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
};

// What cuBLASLt is asked for, by shape alone: where all batches have one b, they are rows.
struct LtProblem {
  gpu::LtShape shape;
  Operand a, b;

  static LtProblem Of(const Layout* a, const Layout* b, const Layout* c, DType dtype, bool tf32) {
    const int r = c->rank;
    const int64_t m = c->extents[r - 2], n = c->extents[r - 1], k = a->extents[r - 1];
    const int64_t item = frazil::SizeOf(dtype);
    Axes batch_a = AxesOf(a, 0, r - 2, c), batch_b = AxesOf(b, 0, r - 2, c);
    Axes rows = AxesOf(a, r - 2, r - 1);
    const bool one_b =
        std::all_of(b->extents, b->extents + r - 2, [](int64_t e) { return e == 1; });
    int64_t batches = SizeOf(batch_a);
    if (one_b) {
      rows.insert(rows.begin(), batch_a.begin(), batch_a.end());
      batch_a.clear();
      batch_b.clear();
    }
    return {{dtype, tf32, one_b ? 1 : batches, one_b ? m * batches : m, n, k},
            Operand(batch_a, rows, AxesOf(a, r - 1, r), item),
            Operand(batch_b, AxesOf(b, r - 2, r - 1), AxesOf(b, r - 1, r), item)};
  }
};

class LtMatmul : public LibraryCall {
 public:
  static StatusOr<std::unique_ptr<const LibraryCall>> Make(gpu::Device* device,
                                                           const LtProblem& problem,
                                                           const std::string& origin) {
    FZ_ASSIGN_OR_RETURN(
        auto product, gpu::LtProduct::Make(device, problem.shape, problem.a.lies, problem.b.lies));
    return std::make_unique<const LtMatmul>(device, problem, std::move(product), origin);
  }

  LtMatmul(gpu::Device* device, const LtProblem& problem,
           std::unique_ptr<const gpu::LtProduct> product, const std::string& origin)
      : device_(device),
        shape_(problem.shape),
        product_(std::move(product)),
        copy_a_(problem.a.copy || !product_->reads_strided()),
        copy_b_(problem.b.copy || !product_->reads_strided()),
        dense_a_(device, ItemBytes(), problem.a.dense, origin),
        dense_b_(device, ItemBytes(), problem.b.dense, origin),
        name_(std::make_shared<const gpu::LaunchName>("cublasLtMatmul", origin)) {}

  Status Run(absl::Span<char* const> operands, char* result) const override {
    StorageRef a_copy, b_copy;  // the allocator gives memory out again in the stream's order
    const char *a = operands[0], *b = operands[1];
    gpu::LtProduct::Dense dense;
    FZ_RETURN_IF_ERROR(Densify(dense_a_, copy_a_, &a, &a_copy, &dense.a));
    FZ_RETURN_IF_ERROR(Densify(dense_b_, copy_b_, &b, &b_copy, &dense.b));
    return product_->Run(AddressOf(a), AddressOf(b), AddressOf(result), 0, dense, name_);
  }
  bool capturable() const override { return !copy_a_ && !copy_b_; }
  int64_t work() const override { return kLaunchWork; }
  std::string text() const override {
    return StrCat("cublasLt ", ShortName(shape_.dtype), shape_.tf32 ? " tf32" : "", " batches ",
                  shape_.batches, " m ", shape_.m, " n ", shape_.n, " k ", shape_.k,
                  copy_a_ ? " copies a" : "", copy_b_ ? " copies b" : "");
  }
  int64_t bytes() const override { return int64_t{sizeof(*this)} + 2048; }

 private:
  int ItemBytes() const { return static_cast<int>(frazil::SizeOf(shape_.dtype)); }

  Status Densify(const StridedCopy& copy, bool always, const char** data, StorageRef* memory,
                 bool* dense) const {
    if (!always && reinterpret_cast<uintptr_t>(*data) % kAlignment == 0) return absl::OkStatus();
    // A graph would go on using memory that has been given out again.
    if (device_->capturing())
      return NotImplementedError("[matmul] an operand is copied: not in a graph.");
    FZ_ASSIGN_OR_RETURN(*memory, device_->Allocate(static_cast<size_t>(copy.bytes())));
    FZ_RETURN_IF_ERROR(copy.Run(*data, (*memory)->data));
    *data = (*memory)->data;
    *dense = true;
    return absl::OkStatus();
  }

  gpu::Device* const device_;
  const gpu::LtShape shape_;
  const std::unique_ptr<const gpu::LtProduct> product_;
  const bool copy_a_, copy_b_;
  const StridedCopy dense_a_, dense_b_;
  const gpu::LaunchNameRef name_;
};

class ExactMatmul : public LibraryCall {
 public:
  ExactMatmul(gpu::Device* device, const Layout* a, const Layout* b, const Layout* c, DType dtype,
              const std::string& origin)
      : product_(device, a, b, c, dtype, origin),
        text_(StrCat("exact matmul ", ShortName(dtype), " ", ToString(a->dims()), " @ ",
                     ToString(b->dims()))) {}

  Status Run(absl::Span<char* const> operands, char* result) const override {
    return product_.Run(operands[0], operands[1], result);
  }
  bool capturable() const override { return true; }
  int64_t work() const override { return kLaunchWork; }
  std::string text() const override { return text_; }
  int64_t bytes() const override { return int64_t{sizeof(*this)}; }

 private:
  const ExactProduct product_;
  const std::string text_;
};

bool HasLt(DType dtype, Precision precision) {
  return IsFloat(dtype) && precision != Precision::kExact;
}

}  // namespace

StatusOr<std::unique_ptr<const LibraryCall>> MakeCudaMatmul(const Graph& graph, int32_t id,
                                                            const std::string& origin,
                                                            Precision precision) {
  const Node& node = graph.nodes[id];
  const Layout *a = graph.nodes[node.operands[0]].layout, *b = graph.nodes[node.operands[1]].layout;
  const Layout* c = node.layout;
  FZ_ASSIGN_OR_RETURN(gpu::Device * device, gpu::Device::Get(node.device.index()));
  if (HasLt(node.dtype, precision) && c->size > 0 && a->size > 0) {
    const LtProblem problem = LtProblem::Of(a, b, c, node.dtype, precision == Precision::kTf32);
    if (problem.shape.batches <= std::numeric_limits<int32_t>::max()) {
      auto call = LtMatmul::Make(device, problem, origin);
      if (call.ok() || KindOf(call.status()) != ErrorKind::kNotImplemented) return call;
    }
  }
  return std::make_unique<const ExactMatmul>(device, a, b, c, node.dtype, origin);
}

}  // namespace frazil::jit
