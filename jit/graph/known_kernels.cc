#include "jit/graph/known_kernels.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "core/cost.h"
#include "jit/graph/space.h"

namespace frazil::jit {
namespace {

enum What : int64_t { kRead, kView, kMember, kOutput };

std::optional<KernelFacts> FactsOf(const Graph& graph, absl::Span<const int32_t> nodes,
                                   absl::Span<const int32_t> outputs) {
  const std::optional<Space> space = Analyse(graph, nodes, outputs);
  if (!space) return std::nullopt;
  return KernelFacts{space->compute, space->bytes, space->shares, space->repeats,
                     space->repeat != nullptr};
}

bool IsIn(absl::Span<const int32_t> ascending, int32_t id) {
  return std::binary_search(ascending.begin(), ascending.end(), id);
}

void SortOnce(std::vector<int32_t>* ids) {
  absl::c_sort(*ids);
  ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
}

}  // namespace

double KernelFacts::Time() const { return cost::Overlapped(compute, cost::Bytes(bytes, bytes)); }

std::optional<KernelFacts> KnownKernels::Find(const Graph& graph, absl::Span<const int32_t> nodes,
                                              absl::Span<const int32_t> outputs) {
  // A loop's body is a graph of its own.
  if (absl::c_any_of(nodes, [&](int32_t id) { return graph.nodes[id].role != Role::kOp; }))
    return FactsOf(graph, nodes, outputs);
  Describe(graph, nodes, outputs);
  if (const auto it = known_.find(key_); it != known_.end()) return it->second;
  const std::optional<KernelFacts> facts = FactsOf(graph, nodes, outputs);
  known_.emplace(key_, facts);
  return facts;
}

// Writes the key, node by node: operands are places among all that the set is made of.
void KnownKernels::Describe(const Graph& graph, absl::Span<const int32_t> nodes,
                            absl::Span<const int32_t> outputs) {
  ids_.assign(nodes.begin(), nodes.end());
  for (const int32_t id : nodes) {
    for (int32_t x : graph.nodes[id].operands) {
      for (; graph.nodes[x].view; x = graph.nodes[x].operands[0]) ids_.push_back(x);
      ids_.push_back(x);
    }
  }
  SortOnce(&ids_);
  key_.clear();
  for (const int32_t id : ids_) {
    const Node& n = graph.nodes[id];
    const bool member = IsIn(nodes, id);
    const What what = !member ? n.view ? kView : kRead : IsIn(outputs, id) ? kOutput : kMember;
    key_.push_back(what << 32 | int64_t{n.immediate} << 24 | int64_t{n.device.word} << 16 |
                   static_cast<int64_t>(n.dtype));
    key_.push_back(static_cast<int64_t>(n.layout->id));
    if (what == kRead) continue;
    key_.push_back(static_cast<int64_t>(n.op) << 32 | static_cast<int64_t>(n.attrs.size()));
    key_.push_back(n.offset);
    key_.insert(key_.end(), n.attrs.begin(), n.attrs.end());
    for (const int32_t x : n.operands) key_.push_back(absl::c_lower_bound(ids_, x) - ids_.begin());
  }
}

std::vector<int32_t> WithViews(const Graph& graph, absl::Span<const int32_t> nodes) {
  std::vector<int32_t> all(nodes.begin(), nodes.end());
  for (const int32_t id : nodes) {
    for (int32_t x : graph.nodes[id].operands) {
      if (!graph.nodes[x].view || !IsIn(nodes, BaseOf(graph, x))) continue;
      for (; graph.nodes[x].view; x = graph.nodes[x].operands[0]) all.push_back(x);
    }
  }
  SortOnce(&all);
  return all;
}

}  // namespace frazil::jit
