#include "jit/graph/order.h"

#include <algorithm>
#include <vector>

#include "core/tuned.h"
#include "jit/graph/recompute.h"

namespace frazil::jit {
namespace {

class Orderer {
 public:
  Orderer(const Graph& graph, const Grouping& grouping)
      : graph_(graph),
        groups_(grouping.groups),
        home_(graph.nodes.size(), -1),
        readers_(graph.nodes.size(), 0),
        reads_(groups_.size()),
        next_(groups_.size()),
        waits_(groups_.size(), 0) {
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (const int32_t id : groups_[g].nodes) {
        if (Computes(id)) home_[id] = int(g);
      }
    }
    for (const int32_t id : graph.outputs) ++readers_[BaseOf(graph, id)];  // the caller
    for (size_t g = 0; g < groups_.size(); ++g) FindReads(int(g));
  }

  // Always the group that adds the fewest bytes, the first of several.
  Grouping Greedy() const {
    Grouping result;
    std::vector<int> waits = waits_, readers = readers_, ready;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (waits[g] == 0) ready.push_back(int(g));
    }
    const auto added = [&](int g) {
      int64_t bytes = 0;
      for (const int32_t id : groups_[g].outputs) bytes += BytesOf(graph_.nodes[id]);
      for (const int32_t x : reads_[g]) bytes -= readers[x] == 1 ? BytesOf(graph_.nodes[x]) : 0;
      return bytes;
    };
    while (!ready.empty()) {
      auto best = ready.begin();
      int64_t fewest = added(*best);
      for (auto it = ready.begin() + 1; it != ready.end(); ++it) {
        const int64_t bytes = added(*it);
        if (bytes > fewest || (bytes == fewest && *it > *best)) continue;
        best = it;
        fewest = bytes;
      }
      const int g = *best;
      ready.erase(best);
      result.groups.push_back(groups_[g]);
      for (const int32_t x : reads_[g]) --readers[x];
      for (const int other : next_[g]) {
        if (--waits[other] == 0) ready.push_back(other);
      }
    }
    return result;
  }

 private:
  bool Computes(int32_t id) const { return !graph_.nodes[id].input && !graph_.nodes[id].view; }

  void FindReads(int g) {
    std::vector<int> from;
    for (const int32_t id : groups_[g].nodes) {
      if (!Computes(id)) continue;
      for (const int32_t operand : graph_.nodes[id].operands) {
        const int32_t x = BaseOf(graph_, operand);
        if (home_[x] < 0 || home_[x] == g) continue;
        reads_[g].push_back(x);
        from.push_back(home_[x]);
      }
    }
    const auto once = [](auto* list) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    };
    once(&reads_[g]);
    once(&from);
    for (const int32_t x : reads_[g]) ++readers_[x];
    for (const int other : from) next_[other].push_back(g);
    waits_[g] = int(from.size());
  }

  const Graph& graph_;
  const std::vector<Group>& groups_;
  std::vector<int> home_;                    // the group of a computing node
  std::vector<int> readers_;                 // groups, and the caller once for each result
  std::vector<std::vector<int32_t>> reads_;  // values of other groups
  std::vector<std::vector<int>> next_;       // groups that wait for it
  std::vector<int> waits_;                   // for how many groups
};

// Library calls whose result the next group reads.
int Followed(const Graph& graph, const Grouping& grouping) {
  int followed = 0;
  for (size_t g = 0; g + 1 < grouping.groups.size(); ++g) {
    const Group &group = grouping.groups[g], &next = grouping.groups[g + 1];
    if (group.kind != Group::Kind::kLibrary || next.kind != Group::Kind::kKernel) continue;
    followed += std::any_of(next.nodes.begin(), next.nodes.end(), [&](int32_t id) {
      const auto& operands = graph.nodes[id].operands;
      return std::any_of(operands.begin(), operands.end(),
                         [&](int32_t x) { return BaseOf(graph, x) == group.nodes[0]; });
    });
  }
  return followed;
}

}  // namespace

std::optional<Grouping> OrderByMemory(const Graph& graph, const Grouping& grouping, int64_t worth) {
  const size_t count = grouping.groups.size();
  if (count < 3 || count > tuned::kMostOrderedGroups) return std::nullopt;
  // The pass `overlap` has said when collectives begin and are waited for.
  for (const Node& node : graph.nodes)
    if (!node.input && node.op == OpId::k_collective_wait) return std::nullopt;
  const int64_t now = PeakBytes(graph, grouping);
  if (now < worth) return std::nullopt;
  Grouping other = Orderer(graph, grouping).Greedy();
  const int64_t least = worth > 0 ? now / tuned::kOrderGain : 1;
  if (PeakBytes(graph, other) > now - least) return std::nullopt;
  if (Followed(graph, other) < Followed(graph, grouping)) return std::nullopt;
  return other;
}

}  // namespace frazil::jit
