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
#include "jit/library/collective.h"
#include "jit/library/convolution.h"
#include "jit/library/fourier.h"
#include "jit/library/lapack.h"
#include "jit/library/order.h"
#include "jit/library/product_shape.h"
#include "jit/library/sparse.h"
#include "kernels/blas.h"
#include "kernels/gemm/scratch.h"
#include "kernels/gemm/stored_gemm.h"
#include "kernels/put.h"
#include "kernels/take.h"

namespace frazil::jit {
namespace {

// Products of matrices, one for each batch.
class Matmul : public LibraryCall {
 public:
  // `right`: of 16 bits beside a dtype of float32, or the same. `wide`: int8 into int32.
  Matmul(const ProductShape& shape, DType dtype, DType right, bool wide, Precision precision)
      : shape_(shape.Stacked()),
        batches_(shape_.batches()),
        right_(right),
        blas_(precision == Precision::kBlas && right == dtype &&
              (dtype == DType::kF32 || dtype == DType::kF64)),
        args_(shape_.Args(dtype)) {
    args_.pairs = precision == Precision::kNative && dtype == DType::kBF16;
    args_.wide = wide;
    if (WorthJoining()) {
      joined_ = batches_;
      args_.m *= batches_;
      args_.a.row_stride = args_.k;
      batches_ = 1;
    }
    if (!blas_ && !stored() && !joined_ && batches_ > 0 && batches_ <= tuned::kMostSmallProducts)
      small_ = ChooseSmall();
  }

  Status Run(absl::Span<char* const> operands, char* result) const override {
    if (small_) {
      small_->Run(operands[0], operands[1], result);
      return absl::OkStatus();
    }
    if (IsEmpty()) return absl::OkStatus();
    try {
      return blas_ ? RunBlas(operands, result) : RunOwn(operands, result);
    } catch (const std::bad_alloc&) {
      return NoMemory();
    }
  }
  int64_t bytes() const override { return int64_t{sizeof(*this)} + (small_ ? small_->bytes() : 0); }
  int64_t rows() const override {
    const bool told = args_.dtype == DType::kF32 || args_.dtype == DType::kF64 || args_.wide;
    return told && !blas_ && batches_ == 1 ? args_.m : 0;
  }
  Status RunByRows(absl::Span<char* const> operands, char* result,
                   absl::FunctionRef<void(int64_t, int64_t)> done) const override {
    if (IsEmpty()) return absl::OkStatus();
    try {
      const GemmArgs args = joined_ ? Joined(operands, result) : Batch(0, operands, result);
      stored() ? StoredGemmOnPool(args, right_, done) : GemmOnPool(args, done);
    } catch (const std::bad_alloc&) {
      return NoMemory();
    }
    return absl::OkStatus();
  }

  std::string text() const override {
    const char* name = blas_ ? "blas " : args_.pairs ? "native " : args_.wide ? "wide " : "matmul ";
    return StrCat(name, ShortName(args_.dtype), stored() ? " by " : "",
                  stored() ? ShortName(right_) : "", " batches ", batches_, " m ", args_.m, " n ",
                  args_.n, " k ", args_.k);
  }
  int64_t work() const override {
    const double products = double(batches_) * double(args_.m) * double(args_.n) * double(args_.k);
    return cost::Whole(cost::Products(products, args_.dtype, args_.pairs));
  }

 private:
  Status NoMemory() const {
    return MemoryError("[matmul] no memory for the packed panels of ", args_.m, "x", args_.k, "x",
                       args_.n, ".");
  }

  bool stored() const { return right_ != args_.dtype; }
  bool IsEmpty() const { return batches_ * args_.m * args_.n == 0; }

  // Whether all batches have one right factor, which each would read anew for a few rows.
  bool WorthJoining() const {
    const int64_t item = SizeOf(args_.dtype);
    if (blas_ || batches_ < 2 || args_.a.col_stride != 1 || args_.m >= tuned::kJoinedRows ||
        args_.k * args_.n * item < tuned::kJoinedMatrix ||
        batches_ * args_.m * args_.k * item > tuned::kJoinedBytes)
      return false;
    return std::ranges::all_of(shape_.batch, [](const auto& axis) { return axis.b == 0; });
  }

  // The rows of all batches, put after each other, as one product.
  GemmArgs Joined(absl::Span<char* const> operands, char* result) const {
    GemmArgs args = args_;
    const int64_t item = SizeOf(args_.dtype), row = args_.k * item, m = args_.m / joined_;
    char* const rows = gemm::Scratch::ThisThread().Get<char>(gemm::Scratch::kRows, args_.m * row);
    ParallelFor(joined_, std::max<int64_t>(1, joined_ / NumThreads()), [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        const char* from = operands[0] + shape_.PlaceOf(i).a * item;
        for (int64_t r = 0; r < m; ++r)
          std::memcpy(rows + (i * m + r) * row, from + r * shape_.a.row_stride * item, size_t(row));
      }
    });
    args.a.data = rows, args.b.data = operands[1], args.c.data = result;
    return args;
  }

  GemmArgs Batch(int64_t index, absl::Span<char* const> operands, char* result) const {
    GemmArgs args = args_;
    const gemm::BatchPlace at = shape_.PlaceOf(index);
    const int64_t item = SizeOf(args_.dtype);
    args.a.data = operands[0] + at.a * item;
    args.b.data = operands[1] + at.b * SizeOf(right_);
    args.c.data = result + at.c * (args_.wide ? SizeOf(DType::kI32) : item);
    return args;
  }

  std::unique_ptr<const gemm::SmallProduct> ChooseSmall() const {
    std::vector<gemm::BatchPlace> batch;
    for (int64_t i = 0; i < batches_; ++i) batch.push_back(shape_.PlaceOf(i));
    return gemm::SmallProduct::Make(args_, batch);
  }

  Status RunBlas(absl::Span<char* const> operands, char* result) const {
    for (int64_t i = 0; i < batches_ && !Abandoned(); ++i)
      FZ_RETURN_IF_ERROR(BlasGemm(Batch(i, operands, result)));
    return absl::OkStatus();
  }

  Status RunOwn(absl::Span<char* const> operands, char* result) const {
    if (joined_) {
      RunOne(Joined(operands, result));
      return absl::OkStatus();
    }
    const int threads = NumThreads();
    if (batches_ >= 2 * threads) {
      ParallelFor(batches_, BatchGrain(), [&](int64_t begin, int64_t end) {
        if (stored()) {
          for (int64_t i = begin; i < end && !Abandoned(); ++i) RunOne(Batch(i, operands, result));
          return;
        }
        GemmSeries series(args_);
        for (int64_t i = begin; i < end && !Abandoned(); ++i) {
          const GemmArgs batch = Batch(i, operands, result);
          series.Run(batch.a.data, batch.b.data, batch.c.data);
        }
      });
      return absl::OkStatus();
    }
    for (int64_t i = 0; i < batches_ && !Abandoned(); ++i) RunOne(Batch(i, operands, result));
    return absl::OkStatus();
  }

  void RunOne(const GemmArgs& args) const {
    stored() ? StoredGemmOnPool(args, right_) : GemmOnPool(args);
  }

  // Batches worth handing to a thread.
  int64_t BatchGrain() const { return std::max<int64_t>(1, cost::kPart * batches_ / work()); }

  const ProductShape shape_;
  int64_t batches_, joined_ = 0;  // those that are one product, made of as many
  const DType right_;
  const bool blas_;
  GemmArgs args_;                                    // of a batch, without pointers
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
      return std::make_unique<Matmul>(ProductShape::Of(graph, id), operand(0).dtype,
                                      operand(1).dtype, operand(0).dtype != node.dtype, precision);
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
    case OpClass::kLapack:
      return MakeLapackCall(graph, id);
    case OpClass::kCollective:
    case OpClass::kCollectiveWait:
      return MakeCollective(graph, id);
    case OpClass::kFourier:
      return MakeFourier(graph, id);
    case OpClass::kSparse:
      return MakeSparse(graph, id);
    case OpClass::kAttention:
      return MakeAttention(graph, id);
    case OpClass::kAttentionGrad:
      return MakeAttentionGradient(graph, id);
    default:
      return NotImplementedError("[", Info(node.op).name, "] has no library kernel.");
  }
}

}  // namespace frazil::jit
