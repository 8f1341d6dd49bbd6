// The fuse pass. Nodes are visited in order; each starts a group of its own and then takes in the
// groups that make its operands, latest first, as long as the union is one kernel (Analyse) and no
// path leaves the union and comes back. Groups only ever grow, so the result does not depend on
// anything but the graph.
#include <algorithm>
#include <queue>

#include "core/check.h"
#include "jit/graph/groups.h"
#include "jit/graph/space.h"

namespace frazil::jit {
namespace {

class Fuser {
 public:
  Fuser(const Graph& graph, const Copies& copies)
      : graph_(graph),
        copies_(copies),
        group_of_(graph.nodes.size(), -1),
        users_(graph.nodes.size()) {
    returned_.assign(graph.nodes.size(), false);
    for (int32_t id = 0; id < int32_t(graph.nodes.size()); ++id) {
      if (graph.nodes[id].input || graph.nodes[id].view) continue;
      for (int32_t x : graph.nodes[id].operands) users_[Base(x)].push_back(id);
    }
    for (int32_t id : graph.outputs) returned_[Base(id)] = true;
  }

  Grouping Run(bool enabled) {
    for (int32_t id = 0; id < int32_t(graph_.nodes.size()); ++id) {
      const Node& n = graph_.nodes[id];
      if (n.input || n.view) continue;
      const bool goes_on = n.loop >= 0 && !sets_.empty() && !sets_.back().empty() &&
                           graph_.nodes[sets_.back().back()].loop == n.loop;
      if (!goes_on) sets_.emplace_back();
      group_of_[id] = int(sets_.size()) - 1;
      sets_.back().push_back(id);
      if (enabled && Fusible(id) && EndsLoop(id)) TakeIn(id);
    }
    return Order();
  }

 private:
  int32_t Base(int32_t id) const {
    while (graph_.nodes[id].view) id = graph_.nodes[id].operands[0];
    return id;
  }
  bool Fusible(int32_t id) const {
    return !IsLibrary(graph_.nodes[id].op) && !StandsAlone(graph_.nodes[id]);
  }

  // A loop is in one group from the start.
  bool EndsLoop(int32_t id) const {
    const int32_t loop = graph_.nodes[id].loop;
    return loop < 0 || id + 1 == int32_t(graph_.nodes.size()) || graph_.nodes[id + 1].loop != loop;
  }

  std::vector<int> OperandGroups(const std::vector<int32_t>& nodes) const {
    std::vector<int> groups;
    for (int32_t id : nodes) {
      for (int32_t x : graph_.nodes[id].operands) {
        if (const int g = group_of_[Base(x)]; g >= 0) groups.push_back(g);
      }
    }
    std::sort(groups.begin(), groups.end(), std::greater<>());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    return groups;
  }

  void TakeIn(int32_t id) {
    const int own = group_of_[id];
    for (int g : OperandGroups(sets_[own])) {
      if (g == own || sets_[g].empty() || !Fusible(sets_[g][0])) continue;
      if (!SameHome(sets_[g][0], id) || !copies_.MayJoin(sets_[g], sets_[own]) || Returns(g, own))
        continue;
      std::vector<int32_t> both;
      std::merge(sets_[g].begin(), sets_[g].end(), sets_[own].begin(), sets_[own].end(),
                 std::back_inserter(both));
      if (!Analyse(graph_, both, Outputs(both))) continue;
      for (int32_t x : sets_[g]) group_of_[x] = own;
      sets_[g].clear();
      sets_[own] = std::move(both);
    }
  }

  // On one device, which can compute both or neither: a kernel that the device lacks one op for
  // runs elsewhere as a whole.
  bool SameHome(int32_t a, int32_t b) const {
    return graph_.nodes[a].device == graph_.nodes[b].device && IsComputed(a) == IsComputed(b);
  }

  bool IsComputed(int32_t id) const {
    const Node& node = graph_.nodes[id];
    bool all = Computes(node.device, node.dtype);
    for (int32_t x : node.operands) all &= Computes(node.device, graph_.nodes[x].dtype);
    return all;
  }

  // True if another group lies on a path from group `from` to group `to`: then they cannot be one.
  // Numbers of nodes tell nothing here: an early node's group may hold a late one as well.
  bool Returns(int from, int to) const {
    std::vector<int> todo;
    for (int g : OperandGroups(sets_[to])) {
      if (g != from && g != to) todo.push_back(g);
    }
    if (todo.empty()) return false;
    std::vector<bool> seen(sets_.size(), false);
    while (!todo.empty()) {
      const int g = todo.back();
      todo.pop_back();
      if (g == from) return true;
      if (seen[g] || sets_[g].empty()) continue;
      seen[g] = true;
      for (int x : OperandGroups(sets_[g])) todo.push_back(x);
    }
    return false;
  }

  std::vector<int32_t> Outputs(const std::vector<int32_t>& nodes) const {
    std::vector<int32_t> outputs;
    for (int32_t id : nodes) {
      const bool outside = std::any_of(users_[id].begin(), users_[id].end(), [&](int32_t u) {
        return !std::binary_search(nodes.begin(), nodes.end(), u);
      });
      // Of a loop's state some may not be needed after it.
      const bool unused = users_[id].empty() && graph_.nodes[id].role != Role::kLast;
      if (outside || returned_[id] || unused) outputs.push_back(id);
    }
    return outputs;
  }

  // Executable order: a group runs when those it reads from have run, otherwise as its first node
  // stands.
  Grouping Order() {
    std::vector<int> waits(sets_.size(), 0);
    std::vector<std::vector<int>> next(sets_.size());
    using Item = std::pair<int32_t, int>;
    std::priority_queue<Item, std::vector<Item>, std::greater<>> ready;
    for (int g = 0; g < int(sets_.size()); ++g) {
      if (sets_[g].empty()) continue;
      for (int x : OperandGroups(sets_[g])) {
        if (x == g) continue;
        ++waits[g];
        next[x].push_back(g);
      }
      if (waits[g] == 0) ready.push({sets_[g].front(), g});
    }
    Grouping result;
    size_t groups = 0;
    for (const auto& set : sets_) groups += !set.empty();
    while (!ready.empty()) {
      const int g = ready.top().second;
      ready.pop();
      result.groups.push_back(Make(sets_[g]));
      for (int x : next[g]) {
        if (--waits[x] == 0) ready.push({sets_[x].front(), x});
      }
    }
    FZ_CHECK(result.groups.size() == groups);  // no group waits for itself
    return result;
  }

  Group Make(const std::vector<int32_t>& nodes) const {
    Group group;
    group.nodes = nodes;
    group.outputs = Outputs(nodes);
    if (IsLibrary(graph_.nodes[nodes[0]].op)) group.kind = Group::Kind::kLibrary;
    if (nodes.size() < 2) return group;
    const std::optional<Space> space = Analyse(graph_, nodes, group.outputs);
    FZ_CHECK(space);
    group.nodes = space->nodes;  // with the views between them
    return group;
  }

  const Graph& graph_;
  const Copies& copies_;
  std::vector<int> group_of_;                // of a computing node
  std::vector<std::vector<int32_t>> sets_;   // ascending; empty once taken in
  std::vector<std::vector<int32_t>> users_;  // computing nodes that read a value, through views too
  std::vector<bool> returned_;
};

}  // namespace

bool Copies::MayJoin(const std::vector<int32_t>& a, const std::vector<int32_t>& b) const {
  if (behind.empty()) return true;
  const auto apart = [&](const std::vector<int32_t>& copies, const std::vector<int32_t>& others) {
    return std::any_of(copies.begin(), copies.end(),
                       [&](int32_t id) { return behind[id] > 0 && others[0] <= behind[id]; });
  };
  return !apart(a, b) && !apart(b, a);
}

Grouping Fuse(const Graph& graph, bool enabled, const Copies& copies) {
  return Fuser(graph, copies).Run(enabled);
}

}  // namespace frazil::jit
