#include "distributed/header.h"

#include <algorithm>

#include "core/str.h"

namespace frazil::distributed {
namespace {

constexpr const char* kNames[] = {"all_reduce", "reduce_scatter", "all_gather",
                                  "broadcast",  "reduce",         "all_to_all",
                                  "send",       "recv",           "barrier"};
constexpr const char* kReductionNames[] = {"sum", "mean",       "prod",       "min",
                                           "max", "native sum", "native mean"};

}  // namespace

Header Header::Of(const CollectiveCall& call, int64_t sequence, uint64_t group) {
  Header h;
  h.sequence = sequence;
  h.group = group;
  h.kind = static_cast<uint8_t>(call.kind);
  h.reduction = static_cast<uint8_t>(call.reduction);
  h.dtype = static_cast<uint8_t>(call.dtype);
  h.peer = call.kind == Collective::kBroadcast || call.kind == Collective::kReduce ? call.peer : 0;
  h.rank = call.shape->rank;
  for (int i = 0; i < std::min<int>(h.rank, 8); ++i) h.dims[i] = call.shape->extents[i];
  return h;
}

std::string Header::text() const {
  const auto k = static_cast<Collective>(kind);
  // Those that are not sums are made of the ranks' arrays (distributed/functions.cc).
  const bool made = !IsSum(static_cast<Reduction>(reduction));
  const bool all = made && k == Collective::kAllGather;
  std::string out = all ? "all_reduce" : made ? "reduce_scatter" : kNames[kind];
  if (Sums(k) || reduction != 0) StrAppend(&out, "(", kReductionNames[reduction], ")");
  if (k == Collective::kBarrier) return out;
  StrAppend(&out, " of ", Name(static_cast<DType>(dtype)), "[");
  const int first = all ? 1 : 0;
  for (int i = first; i < std::min(rank, 8); ++i) StrAppend(&out, i > first ? "," : "", dims[i]);
  StrAppend(&out, "]");
  if (k == Collective::kBroadcast || k == Collective::kReduce) StrAppend(&out, " with root ", peer);
  return out;
}

bool Header::Agrees(const Header& other) const {
  const auto mine = static_cast<Collective>(kind), its = static_cast<Collective>(other.kind);
  if (ToOne(mine) || ToOne(its)) {
    if (mine == its || !ToOne(mine) || !ToOne(its)) return false;
  } else if (mine != its || sequence != other.sequence || peer != other.peer) {
    return false;
  }
  return group == other.group && reduction == other.reduction && dtype == other.dtype &&
         rank == other.rank && std::equal(dims, dims + 8, other.dims);
}

}  // namespace frazil::distributed
