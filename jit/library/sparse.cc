#include "jit/library/sparse.h"

#include <array>
#include <new>

#include "core/cost.h"
#include "core/str.h"
#include "kernels/dense_copy.h"
#include "kernels/sparse/sparse.h"

namespace frazil::jit {
namespace {

class SparseCall final : public LibraryCall {
 public:
  SparseCall(const Graph& graph, int32_t id) : op_(graph.nodes[id].op) {
    const Node& node = graph.nodes[id];
    for (size_t i = 0; i < 3; ++i) {
      const Node& operand = graph.nodes[node.operands[i]];
      operands_[i] = operand.layout;
      sizes_[i] = SizeOf(operand.dtype);
    }
    args_.dtype = node.dtype;
    args_.wide = sizes_[1] == 8;
    args_.pairs = node.attrs[kSparsePairs] != 0;
    args_.transposed = node.attrs[kSparseTransposed] != 0;
    args_.rows = node.attrs[kSparseRows];
    args_.columns = node.attrs[kSparseColumns];
    args_.entries = sample() ? node.layout->size : operands_[0]->size;
    args_.width = operands_[2]->extents[1];
  }

  Status Run(absl::Span<char* const> operands, char* result) const override {
    try {
      std::array<std::unique_ptr<char[]>, 3> own;
      std::array<const char*, 3> dense;
      for (size_t i = 0; i < 3; ++i) {
        dense[i] = operands[i];
        if (operands_[i]->dense) continue;
        own[i].reset(new char[static_cast<size_t>(operands_[i]->size * sizes_[i])]);
        CopyDense(*operands_[i], sizes_[i], operands[i], own[i].get());
        dense[i] = own[i].get();
      }
      SparseArgs args = args_;
      args.a = dense[0], args.structure = dense[1], args.b = dense[2], args.out = result;
      return sample() ? SparseSample(args) : SparseMatmul(args);
    } catch (const std::bad_alloc&) {
      return MemoryError("[", std::string(Info(op_).name), "] no memory to work on ",
                         ToString(operands_[2]->dims()), ".");
    }
  }
  int64_t work() const override {
    return cost::Whole(cost::Sparse(double(args_.entries), double(args_.width), args_.dtype));
  }
  std::string text() const override {
    return StrCat(Info(op_).name, " ", ShortName(args_.dtype), args_.pairs ? " pairs" : " rows",
                  args_.transposed ? " transposed " : " ", args_.rows, "x", args_.columns, " of ",
                  args_.entries, " width ", args_.width);
  }

 private:
  bool sample() const { return op_ == OpId::k_sparse_sample; }

  OpId op_;
  std::array<LayoutRef, 3> operands_;
  std::array<int64_t, 3> sizes_;
  SparseArgs args_ = {};  // without pointers
};

}  // namespace

std::unique_ptr<const LibraryCall> MakeSparse(const Graph& graph, int32_t id) {
  return std::make_unique<SparseCall>(graph, id);
}

}  // namespace frazil::jit
