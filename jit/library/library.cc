#include "jit/library/library.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "core/backend.h"
#include "core/check.h"
#include "core/cost.h"
#include "core/elements.h"
#include "core/memory/transfers.h"
#include "core/str.h"
#include "core/threads/long_work.h"
#include "core/threads/parallel.h"
#include "jit/library/attention/attention.h"
#include "jit/library/convolution.h"
#include "jit/library/order.h"
#include "kernels/blas.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/small_product.h"
#include "kernels/put.h"
#include "kernels/take.h"

namespace frazil::jit {
namespace {

// One batch of products: a [..., m, k] with b [..., k, n], leading axes broadcast.
class Matmul : public LibraryCall {
 public:
  Matmul(const Layout* a, const Layout* b, const Layout* c, DType dtype, Precision precision)
      : c_(c),
        a_(BatchStrides(a)),
        b_(BatchStrides(b)),
        blas_(precision == Precision::kBlas && (dtype == DType::kF32 || dtype == DType::kF64)),
        item_(SizeOf(dtype)) {
    const int r = c->rank;
    args_.pairs = precision == Precision::kNative && dtype == DType::kBF16;
    args_.dtype = dtype;
    args_.m = c->extents[r - 2];
    args_.n = c->extents[r - 1];
    args_.k = a->extents[r - 1];
    args_.a = {nullptr, a->strides_[r - 2], a->strides_[r - 1]};
    args_.b = {nullptr, b->strides_[r - 2], b->strides_[r - 1]};
    // Extents of 1 have stride 0 in a layout; kernels want the rows of an output apart.
    args_.c = {nullptr, args_.n, 1};
    for (int i = 0; i < r - 2; ++i) batches_ *= c->extents[i];
    StackRows();
    if (!blas_ && batches_ > 0 && batches_ <= kMostSmall) small_ = ChooseSmall();
  }

  Status Run(absl::Span<char* const> operands, char* result) const override {
    if (small_) {
      small_->Run(operands[0], operands[1], result);
      return absl::OkStatus();
    }
    if (c_->size == 0) return absl::OkStatus();
    try {
      return blas_ ? RunBlas(operands, result) : RunOwn(operands, result);
    } catch (const std::bad_alloc&) {
      return NoMemory();
    }
  }
  int64_t bytes() const override { return int64_t{sizeof(*this)} + (small_ ? small_->bytes() : 0); }
  int64_t rows() const override {
    const bool plain = args_.dtype == DType::kF32 || args_.dtype == DType::kF64;
    return plain && !blas_ && batches_ == 1 ? args_.m : 0;
  }
  Status RunByRows(absl::Span<char* const> operands, char* result,
                   absl::FunctionRef<void(int64_t, int64_t)> done) const override {
    if (c_->size == 0) return absl::OkStatus();
    try {
      GemmOnPool(Batch(0, operands, result), done);
    } catch (const std::bad_alloc&) {
      return NoMemory();
    }
    return absl::OkStatus();
  }

  std::string text() const override {
    const char* name = blas_ ? "blas " : args_.pairs ? "native " : "matmul ";
    return StrCat(name, ShortName(args_.dtype), " batches ", batches_, " m ", args_.m, " n ",
                  args_.n, " k ", args_.k);
  }
  int64_t work() const override {
    const double products = double(batches_) * double(args_.m) * double(args_.n) * double(args_.k);
    return cost::Whole(cost::Products(products, args_.dtype, args_.pairs));
  }

 private:
  using Strides = absl::InlinedVector<int64_t, 4>;

  // Element strides over the result's batch axes: 0 where the operand is broadcast.
  static Strides BatchStrides(const Layout* layout) {
    Strides strides;
    for (int i = 0; i < layout->rank - 2; ++i)
      strides.push_back(layout->extents[i] == 1 ? 0 : layout->strides_[i]);
    return strides;
  }

  Status NoMemory() const {
    return MemoryError("[matmul] no memory for the packed panels of ", args_.m, "x", args_.k, "x",
                       args_.n, ".");
  }

  // Matrices whose rows follow each other, times one matrix, are one product.
  void StackRows() {
    while (!a_.empty() && b_.back() == 0) {
      const int64_t count = c_->extents[a_.size() - 1], apart = a_.back();
      if (count > 1) {
        if (args_.m == 1) args_.a.row_stride = apart;
        if (apart != args_.m * args_.a.row_stride) return;
        args_.m *= count;
        batches_ /= count;
      }
      a_.pop_back();
      b_.pop_back();
    }
  }

  gemm::BatchPlace PlaceOf(int64_t index) const {
    gemm::BatchPlace at{0, 0, index * args_.m * args_.n};
    int64_t rest = index;
    for (int i = static_cast<int>(a_.size()) - 1; i >= 0; --i) {
      const int64_t along = rest % c_->extents[i];
      rest /= c_->extents[i];
      at.a += along * a_[i];
      at.b += along * b_[i];
    }
    return at;
  }

  GemmArgs Batch(int64_t index, absl::Span<char* const> operands, char* result) const {
    GemmArgs args = args_;
    const gemm::BatchPlace at = PlaceOf(index);
    args.a.data = operands[0] + at.a * item_;
    args.b.data = operands[1] + at.b * item_;
    args.c.data = result + at.c * item_;
    return args;
  }

  std::unique_ptr<const gemm::SmallProduct> ChooseSmall() const {
    std::vector<gemm::BatchPlace> batch;
    for (int64_t i = 0; i < batches_; ++i) batch.push_back(PlaceOf(i));
    return gemm::SmallProduct::Make(args_, batch);
  }

  Status RunBlas(absl::Span<char* const> operands, char* result) const {
    for (int64_t i = 0; i < batches_ && !Abandoned(); ++i)
      FZ_RETURN_IF_ERROR(BlasGemm(Batch(i, operands, result)));
    return absl::OkStatus();
  }

  Status RunOwn(absl::Span<char* const> operands, char* result) const {
    const int threads = NumThreads();
    if (batches_ >= 2 * threads) {
      ParallelFor(batches_, BatchGrain(), [&](int64_t begin, int64_t end) {
        GemmSeries series(args_);
        for (int64_t i = begin; i < end && !Abandoned(); ++i) {
          const GemmArgs batch = Batch(i, operands, result);
          series.Run(batch.a.data, batch.b.data, batch.c.data);
        }
      });
      return absl::OkStatus();
    }
    for (int64_t i = 0; i < batches_ && !Abandoned(); ++i) GemmOnPool(Batch(i, operands, result));
    return absl::OkStatus();
  }

  // Batches worth handing to a thread.
  int64_t BatchGrain() const { return std::max<int64_t>(1, cost::kPart * batches_ / work()); }

  static constexpr int64_t kMostSmall = 64;  // products of a batch that is chosen beforehand

  LayoutRef c_;
  Strides a_, b_;
  bool blas_;
  int64_t item_;
  int64_t batches_ = 1;
  GemmArgs args_;
  std::unique_ptr<const gemm::SmallProduct> small_;  // null: chosen at each run
};

// The elements of a value, dense, in other memory.
class Transfer : public LibraryCall {
 public:
  Transfer(const Layout* from, DType dtype, Device device, Device to)
      : from_(from), dtype_(dtype), device_(device), to_(to) {}

  Status Run(absl::Span<char* const> operands, char* result) const override {
    const int64_t size = SizeOf(dtype_), bytes = from_->size * size;
    if (from_->dense) {
      FZ_RETURN_IF_ERROR(CopyBytes(to_, result, device_, operands[0], size_t(bytes)));
    } else {  // within the CPU's memory: PlaceOperands makes all others dense
      ForEachIndex(*from_, [&](int64_t position, int64_t element) {
        std::memcpy(result + position * size, operands[0] + element * size,
                    static_cast<size_t>(size));
        return true;
      });
    }
    CountTransfer(device_, to_, bytes);
    return absl::OkStatus();
  }
  std::string text() const override {
    return StrCat("transfer ", ToString(from_->dims()), " ", Name(device_), " -> ", Name(to_));
  }
  int64_t work() const override {
    return cost::Whole(cost::Copy(double(from_->size * SizeOf(dtype_))));
  }

 private:
  LayoutRef from_;
  DType dtype_;
  Device device_, to_;
};

class TakeCall : public LibraryCall {
 public:
  TakeCall(TakeArgs args, int64_t bytes) : args_(std::move(args)), bytes_(bytes) {}

  Status Run(absl::Span<char* const> operands, char* result) const override {
    TakeArgs args = args_;
    args.x_data = operands[0];
    args.indices_data = operands[1];
    args.out = result;
    TakeRows(args);
    return absl::OkStatus();
  }
  std::string text() const override {
    return StrCat("take rows of ", ToString(args_.x->dims()), " axis ", args_.axis);
  }
  int64_t work() const override { return cost::Whole(cost::Copy(double(bytes_))); }

 private:
  TakeArgs args_;
  int64_t bytes_;
};

class PutCall : public LibraryCall {
 public:
  explicit PutCall(const PutArgs& args) : args_(args) {}

  Status Run(absl::Span<char* const> operands, char* result) const override {
    PutArgs args = args_;
    args.x_data = operands[0];
    args.indices_data = operands[1];
    args.updates_data = operands[2];
    args.out = result;
    try {
      Put(args);  // allocates before it writes
    } catch (const std::bad_alloc&) {
      return MemoryError("[put] no memory for the positions of ", args.updates->size, " updates.");
    }
    return absl::OkStatus();
  }
  bool in_place() const override { return true; }
  std::string text() const override {
    return StrCat(args_.add ? "put_add " : "put_set ", ShortName(args_.dtype),
                  args_.axes > 1 ? StrCat(" axes ", args_.axis, " to ", args_.axis + args_.axes - 1)
                                 : StrCat(" axis ", args_.axis),
                  " of ", ToString(args_.x->dims()));
  }
  int64_t work() const override {
    return cost::Whole(cost::Put(double(args_.x->size), double(args_.updates->size), args_.dtype));
  }

 private:
  PutArgs args_;
};

}  // namespace

Status LibraryCall::RunByRows(absl::Span<char* const>, char*,
                              absl::FunctionRef<void(int64_t, int64_t)>) const {
  return RuntimeError("[library] ", text(), " does not tell of its rows.");
}

StatusOr<std::unique_ptr<const LibraryCall>> MakeLibraryCall(const Graph& graph, int32_t id,
                                                             Precision precision) {
  const Node& node = graph.nodes[id];
  const auto operand = [&](int i) -> const Node& { return graph.nodes[node.operands[i]]; };
  switch (Info(node.op).klass) {
    case OpClass::kMatmul:
      return std::make_unique<Matmul>(operand(0).layout, operand(1).layout, node.layout, node.dtype,
                                      precision);
    case OpClass::kConv:
    case OpClass::kConvWeights:
      return MakeConvolution(graph, id);
    case OpClass::kTransfer:
      return std::make_unique<Transfer>(operand(0).layout, node.dtype, operand(0).device,
                                        node.device);
    case OpClass::kPut: {
      PutArgs args;
      args.dtype = node.dtype;
      args.wide_indices = operand(1).dtype == DType::kI64;
      args.axis = static_cast<int>(node.attrs[0]);
      args.add = node.attrs[1] != 0;
      args.axes = static_cast<int>(node.attrs[2]);
      args.x = operand(0).layout;
      args.indices = operand(1).layout;
      args.updates = operand(2).layout;
      return std::make_unique<PutCall>(args);
    }
    case OpClass::kTake:
      return std::make_unique<TakeCall>(
          TakeArgs{SizeOf(node.dtype), operand(1).dtype == DType::kI64,
                   static_cast<int>(node.attrs[0]), operand(0).layout, operand(1).layout},
          node.layout->size * SizeOf(node.dtype));
    case OpClass::kPositions:
    case OpClass::kSort:
    case OpClass::kScan:
      return MakeOrderCall(graph, id);
    case OpClass::kAttention:
      return MakeAttention(graph, id);
    case OpClass::kAttentionGrad:
      return MakeAttentionGradient(graph, id);
    default:
      return NotImplementedError("[", Info(node.op).name, "] has no library kernel.");
  }
}

}  // namespace frazil::jit
