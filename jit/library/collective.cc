#include "jit/library/collective.h"

#include <cstring>
#include <new>

#include "core/check.h"
#include "core/cost.h"
#include "core/str.h"
#include "distributed/collectives.h"
#include "kernels/dense_copy.h"

namespace frazil::jit {
namespace {

// Long enough for the host's lock to be let go: other processes may take any time.
int64_t WorkOf(const Node& node) {
  return cost::kLong + cost::Whole(cost::Copy(double(BytesOf(node))));
}

class CollectiveCall final : public LibraryCall {
 public:
  CollectiveCall(const Node& x, const Node& node)
      : x_(x.layout),
        call_(distributed::CollectiveCall::Of(node.attrs, x.dtype, x.layout->shape)),
        started_(node.attrs[kCollectiveStarted] != 0),
        work_(started_ ? cost::kCall : WorkOf(x)) {}

  Status Run(absl::Span<char* const> operands, char* result) const override {
    std::unique_ptr<char[]> dense;
    const char* x = operands[0];
    if (!x_->dense) {
      dense.reset(new (std::nothrow) char[static_cast<size_t>(x_->size * SizeOf(call_.dtype))]);
      if (!dense) {
        return MemoryError("[", Info(OpId::k_collective).name, "] no memory for a copy of ",
                           ToString(x_->dims()), ".");
      }
      CopyDense(*x_, SizeOf(call_.dtype), operands[0], dense.get());
      x = dense.get();
    }
    if (started_ && !dense && !distributed::WithoutMpi()) {
      distributed::Start(call_, x, result);
      return absl::OkStatus();
    }
    return distributed::Run(call_, x, result);
  }
  int64_t work() const override { return work_; }
  std::string text() const override { return StrCat(started_ ? "start " : "", call_.text()); }

 private:
  const LayoutRef x_;
  const distributed::CollectiveCall call_;
  const bool started_;
  const int64_t work_;
};

// Of a result that lies where the collective was told to put it.
class WaitCall final : public LibraryCall {
 public:
  WaitCall(const Node& node, std::string what)
      : bytes_(BytesOf(node)), work_(WorkOf(node)), what_(std::move(what)) {}

  Status Run(absl::Span<char* const> operands, char* result) const override {
    FZ_RETURN_IF_ERROR(distributed::Wait(operands[0]));
    if (result != operands[0]) std::memcpy(result, operands[0], static_cast<size_t>(bytes_));
    return absl::OkStatus();
  }
  bool in_place() const override { return true; }
  int64_t work() const override { return work_; }
  std::string text() const override { return "wait for " + what_; }

 private:
  const int64_t bytes_, work_;
  const std::string what_;
};

}  // namespace

std::unique_ptr<const LibraryCall> MakeCollective(const Graph& graph, int32_t id) {
  const Node& node = graph.nodes[id];
  if (node.op == OpId::k_collective_wait) {
    const Node &started = graph.nodes[node.operands[0]], &x = graph.nodes[node.operands[1]];
    FZ_CHECK(started.op == OpId::k_collective);
    const auto call = distributed::CollectiveCall::Of(started.attrs, x.dtype, x.layout->shape);
    return std::make_unique<WaitCall>(node, call.text());
  }
  return std::make_unique<CollectiveCall>(graph.nodes[node.operands[0]], node);
}

}  // namespace frazil::jit
