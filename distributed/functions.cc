#include "distributed/functions.h"

#include "core/functions/ops.h"
#include "distributed/world.h"

namespace frazil::ops {
namespace {

using distributed::GroupNumbered;
using distributed::Rank;

StatusOr<Tensor> Checked(std::string_view name, const Tensor& x, int64_t group) {
  FZ_RETURN_IF_ERROR(x.status());
  if (GroupNumbered(group).me < 0)
    return ValueError("[", name, "] rank ", Rank(), " is not in the group.");
  return x;
}

Tensor Call(std::string_view name, Collective kind, const Tensor& x, int64_t group,
            Reduction reduction = Reduction::kSum, int64_t peer = 0) {
  const auto checked = Checked(name, x, group);
  if (!checked.ok()) return checked.status();
  const int64_t ranks = GroupNumbered(group).size();
  if (peer < 0 || peer >= ranks)
    return ValueError("[", name, "] there is no rank ", peer, " among ", ranks, ".");
  const bool one = kind == Collective::kSend || kind == Collective::kRecv;
  if (one && peer == GroupNumbered(group).me)
    return ValueError("[", name, "] rank ", peer, " is this one: a rank has no way to itself.");
  if (ByRows(kind) && x.rank() == 0)
    return ValueError("[", name, "] needs an axis 0 of which the ranks have parts, got ",
                      Describe(x), ".");
  if (ByRows(kind) && kind != Collective::kAllGather && x.dims()[0] % ranks != 0)
    return ValueError("[", name, "] axis 0 must be a multiple of the ", ranks, " ranks, got ",
                      Describe(x), ".");
  Attrs attrs(kCollectiveAttrs, 0);
  attrs[kCollectiveKind] = static_cast<int64_t>(kind);
  attrs[kCollectiveRanks] = ranks;
  attrs[kCollectiveReduction] = static_cast<int64_t>(reduction);
  attrs[kCollectiveGroup] = group;
  attrs[kCollectivePeer] = peer;
  const Tensor* const inputs[] = {&x};
  return Apply({OpId::k_collective, inputs, attrs});
}

// Of arrays one after another along axis 0, in ascending order.
Tensor Folded(const Tensor& all, int64_t ranks, Reduction op) {
  const int64_t rows = all.dims()[0] / ranks;
  Tensor out;
  for (int64_t i = 0; i < ranks && (i == 0 || out.ok()); ++i) {
    Attrs own = WholeSlice(all.dims());
    own[0] = i * rows, own[2] = rows;
    const Tensor part = slice(all, own);
    out = i == 0                   ? part
          : op == Reduction::kProd ? multiply(out, part)
          : op == Reduction::kMin  ? minimum(out, part)
                                   : maximum(out, part);
  }
  return out;
}

// The sum, or for the mean the sum over the number of ranks. Precision "native" is a part of the
// call, so that what recorded it calls the same.
Tensor Summed(std::string_view name, Collective kind, const Tensor& x, Reduction op,
              int64_t group) {
  if (State().precision == Precision::kNative)
    op = IsMean(op) ? Reduction::kNativeMean : Reduction::kNativeSum;
  const Tensor sum = Call(name, kind, x, group, op);
  return IsMean(op) ? divide(sum, GroupNumbered(group).size()) : sum;
}

}  // namespace

// A sum is one collective. The others are made of the ranks' arrays, so that they have the
// gradients of the ops that make them.
Tensor all_reduce(const Tensor& x, Reduction op, int64_t group) {
  constexpr std::string_view kName = "all_reduce";
  if (IsSum(op)) return Summed(kName, Collective::kAllReduce, x, op, group);
  if (!x.ok()) return x;
  absl::InlinedVector<int64_t, 8> dims(x.dims().begin(), x.dims().end());
  dims.insert(dims.begin(), 1);
  const Tensor all = Call(kName, Collective::kAllGather, reshape(x, dims), group, op);
  if (!all.ok()) return all;
  return reshape(Folded(all, GroupNumbered(group).size(), op), x.dims());
}

Tensor reduce_scatter(const Tensor& x, Reduction op, int64_t group) {
  constexpr std::string_view kName = "reduce_scatter";
  if (IsSum(op)) return Summed(kName, Collective::kReduceScatter, x, op, group);
  const Tensor all = Call(kName, Collective::kAllToAll, x, group, op);
  return all.ok() ? Folded(all, GroupNumbered(group).size(), op) : all;
}

Tensor all_gather(const Tensor& x, int64_t group) {
  return Call("all_gather", Collective::kAllGather, x, group);
}
Tensor rank_broadcast(const Tensor& x, int64_t from, int64_t group) {
  return Call("broadcast", Collective::kBroadcast, x, group, Reduction::kSum, from);
}
Tensor all_to_all(const Tensor& x, int64_t group) {
  return Call("all_to_all", Collective::kAllToAll, x, group);
}
Tensor send(const Tensor& x, int64_t to, int64_t group) {
  return Call("send", Collective::kSend, x, group, Reduction::kSum, to);
}
Tensor recv(const Tensor& like, int64_t from, int64_t group) {
  return Call("recv", Collective::kRecv, like, group, Reduction::kSum, from);
}

Status barrier(int64_t group) {
  const Tensor nothing = full({0}, Scalar::Int(0), DType::kF32, Device());
  const Tensor y = Call("barrier", Collective::kBarrier, nothing, group);
  FZ_RETURN_IF_ERROR(y.status());
  return Read(*y.value(), Reading::kInside);
}

}  // namespace frazil::ops
