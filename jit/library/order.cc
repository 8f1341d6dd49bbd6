#include "jit/library/order.h"

#include <new>

#include "core/cost.h"
#include "core/str.h"
#include "core/threads/long_work.h"
#include "kernels/dense_copy.h"
#include "kernels/order/partition.h"
#include "kernels/order/scan.h"
#include "kernels/order/sort.h"
#include "kernels/positions.h"

namespace frazil::jit {
namespace {

// What these calls have in common: one operand.
class OrderCall : public LibraryCall {
 public:
  OrderCall(const Graph& graph, int32_t id)
      : x_(graph.nodes[graph.nodes[id].operands[0]].layout),
        dtype_(graph.nodes[graph.nodes[id].operands[0]].dtype),
        op_(graph.nodes[id].op),
        attrs_(graph.nodes[id].attrs) {}

  Status Run(absl::Span<char* const> operands, char* result) const override {
    try {
      return RunOn(operands[0], result);
    } catch (const std::bad_alloc&) {
      return MemoryError("[", std::string(Info(op_).name), "] no memory to work on ",
                         ToString(x_->dims()), ".");
    }
  }
  std::string text() const override {
    return StrCat(Info(op_).name, " ", ShortName(dtype_), " ", ToString(AttrSpan(attrs_)), " of ",
                  ToString(x_->dims()));
  }

 protected:
  virtual Status RunOn(const char* x, char* result) const = 0;

  LayoutRef x_;
  DType dtype_;
  OpId op_;
  Attrs attrs_;
};

class PositionsCall final : public OrderCall {
 public:
  using OrderCall::OrderCall;
  int64_t work() const override {
    return cost::Whole(cost::Positions(double(x_->size), double(attrs_[0])));
  }

 private:
  Status RunOn(const char* x, char* result) const override {
    const PositionsArgs args{x_, attrs_[0], attrs_[1] != 0, x, reinterpret_cast<int64_t*>(result)};
    if (Positions(args) || Abandoned()) return absl::OkStatus();
    return RuntimeError("[positions] not ", attrs_[0], " elements of ", ToString(x_->dims()),
                        " are true: they were counted in another array.");
  }
};

class SortCall final : public OrderCall {
 public:
  using OrderCall::OrderCall;
  int64_t work() const override {
    return cost::Whole(cost::Sort(double(x_->size), double(RowLength())));
  }

 private:
  int64_t RowLength() const { return x_->rank == 0 ? 1 : x_->extents[x_->rank - 1]; }

  Status RunOn(const char* x, char* result) const override {
    if (x_->size == 0) return absl::OkStatus();
    std::unique_ptr<char[]> dense;
    if (!x_->dense) {
      dense.reset(new char[static_cast<size_t>(x_->size * SizeOf(dtype_))]);
      CopyDense(*x_, SizeOf(dtype_), x, dense.get());
      x = dense.get();
    }
    const int64_t n = RowLength();
    const SortArgs args{dtype_, attrs_[0] == 1, x_->size / n, n, x, result};
    if (attrs_[0] > 1) {
      op_ == OpId::k_sort ? Partition(args, attrs_[0] - 2) : ArgPartition(args, attrs_[0] - 2);
    } else {
      op_ == OpId::k_sort ? Sort(args) : ArgSort(args);
    }
    return absl::OkStatus();
  }
};

class ScanCall final : public OrderCall {
 public:
  using OrderCall::OrderCall;
  int64_t work() const override { return cost::Whole(cost::Scan(double(x_->size), dtype_)); }

 private:
  Status RunOn(const char* x, char* result) const override {
    if (x_->size == 0) return absl::OkStatus();
    if (!x_->dense) {
      CopyDense(*x_, SizeOf(dtype_), x, result);
      x = result;
    }
    ScanArgs args{dtype_, op_ == OpId::k_cumulative_prod, 1, 1, 1, x, result};
    for (int axis = 0; axis < x_->rank; ++axis) {
      (axis < attrs_[0]    ? args.outer
       : axis == attrs_[0] ? args.n
                           : args.inner) *= x_->extents[axis];
    }
    Scan(args);
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<const LibraryCall> MakeOrderCall(const Graph& graph, int32_t id) {
  switch (Info(graph.nodes[id].op).klass) {
    case OpClass::kPositions:
      return std::make_unique<PositionsCall>(graph, id);
    case OpClass::kSort:
      return std::make_unique<SortCall>(graph, id);
    default:
      return std::make_unique<ScanCall>(graph, id);
  }
}

}  // namespace frazil::jit
