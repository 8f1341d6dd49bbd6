#include "jit/graph/duplicate.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/algorithm/container.h"
#include "core/check.h"
#include "core/cost.h"
#include "jit/graph/recompute.h"
#include "jit/graph/space.h"

namespace frazil::jit {
namespace {

using Ids = std::set<int32_t>;

bool MayCopy(const Node& node) {
  if (node.input || node.view || node.role != Role::kOp) return false;
  if (!(node.device == Device())) return false;
  return IsPointwise(node.op) || node.op == OpId::k_iota;
}

// Groups in which a node may be in several: at home, and as a copy elsewhere.
class Duplicator {
 public:
  Duplicator(const Graph& graph, const Grouping& grouping, KnownKernels* known)
      : graph_(graph),
        known_(*known),
        home_(graph.nodes.size(), -1),
        users_(graph.nodes.size()),
        copied_in_(graph.nodes.size()) {
    for (const Group& group : grouping.groups) {
      const int g = int(sets_.size());
      sets_.emplace_back();
      kinds_.push_back(group.kind);
      kernel_.push_back(group.kind == Group::Kind::kKernel &&
                        !StandsAlone(graph.nodes[group.nodes[0]]) &&
                        !TurnsAround(graph, graph.nodes[group.nodes[0]]));
      for (const int32_t id : group.nodes) {
        if (graph.nodes[id].view) continue;
        sets_[g].insert(id);
        home_[id] = g;
      }
    }
    for (int32_t id = 0; id < int32_t(graph.nodes.size()); ++id) {
      if (home_[id] < 0) continue;
      for (const int32_t x : graph.nodes[id].operands) users_[BaseOf(graph, x)].push_back(id);
    }
    returned_.assign(graph.nodes.size(), false);
    for (const int32_t id : graph.outputs) returned_[BaseOf(graph, id)] = true;
  }

  bool Run() {
    bool any = false;
    for (int g = 0; g < int(sets_.size()); ++g) {
      if (!kernel_[g]) continue;
      for (const int32_t id : std::vector<int32_t>(sets_[g].begin(), sets_[g].end())) {
        if (home_[id] == g && sets_[g].contains(id) && MayCopy(graph_.nodes[id]))
          any |= TryCopying(g, id);
      }
    }
    return any;
  }

  // Nothing if what changed around a group left it none that is one kernel.
  std::optional<Duplicated> Result();

 private:
  // Groups apart from its home that load a node.
  std::vector<int> ReadersOf(int32_t id) const {
    std::vector<int> readers;
    const auto add = [&](int g, int32_t user) {
      if (g != home_[id] && sets_[g].contains(user) && !sets_[g].contains(id)) readers.push_back(g);
    };
    for (const int32_t user : users_[id]) {
      add(home_[user], user);
      for (const int g : copied_in_[user]) add(g, user);
    }
    absl::c_sort(readers);
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    return readers;
  }

  std::vector<int32_t> OutputsOf(int g, const Ids& nodes) const {
    std::vector<int32_t> outputs;
    for (const int32_t id : nodes) {
      if (home_[id] != g) continue;
      if (returned_[id] || users_[id].empty() || !ReadersOf(id).empty()) outputs.push_back(id);
    }
    return outputs;
  }

  // What the readers of `id` would compute: it and what it is made of, up to values in memory.
  Ids CopiedFor(int32_t id) const {
    Ids copied;
    std::vector<int32_t> todo = {id};
    while (!todo.empty()) {
      const int32_t x = todo.back();
      todo.pop_back();
      if (!copied.insert(x).second) continue;
      for (const int32_t operand : graph_.nodes[x].operands) {
        const int32_t base = BaseOf(graph_, operand);
        if (graph_.nodes[base].input || !sets_[home_[id]].contains(base)) continue;
        // What is a copy here may lie nowhere in memory.
        const bool copy = home_[base] != home_[id];
        const bool stored = returned_[base] || !ReadersOf(base).empty();
        if (copy || (!stored && MayCopy(graph_.nodes[base]))) todo.push_back(base);
      }
    }
    return copied;
  }

  Ids LoadedBy(const Ids& nodes) const {
    Ids loaded;
    for (const int32_t id : nodes) {
      for (const int32_t x : graph_.nodes[id].operands) {
        const int32_t base = BaseOf(graph_, x);
        if (!nodes.contains(base) && !graph_.nodes[base].immediate) loaded.insert(base);
      }
    }
    return loaded;
  }

  double Bytes(int32_t id) const {
    return double(graph_.nodes[id].layout->size) * SizeOf(graph_.nodes[id].dtype);
  }

  // Whether readers would load fewer bytes than are stored and loaded now.
  bool LooksGood(int32_t id, const Ids& copied, const std::vector<int>& readers) const {
    double more = 0, less = Bytes(id) * double(readers.size() + 1);
    const Ids sources = LoadedBy(copied);
    for (const int g : readers) {
      const Ids known = LoadedBy(sets_[g]);
      for (const int32_t x : sources) more += known.contains(x) ? 0 : Bytes(x);
    }
    return more < less;
  }

  bool TryCopying(int g, int32_t id) {
    if (returned_[id]) return false;
    const std::vector<int> readers = ReadersOf(id);
    if (readers.empty() || readers.size() > tuned::kMostReaders) return false;
    for (const int r : readers) {
      if (!kernel_[r] || !(graph_.nodes[*sets_[r].begin()].device == Device())) return false;
    }
    const Ids copied = CopiedFor(id);
    if (copied.size() > tuned::kMostCopied || !LooksGood(id, copied, readers)) return false;

    std::vector<int> touched = readers;
    touched.push_back(g);
    std::vector<Ids> before;
    for (const int t : touched) before.push_back(sets_[t]);
    const std::optional<std::vector<Moves>> then = MovesOf(touched);
    for (const int r : readers) {
      sets_[r].insert(copied.begin(), copied.end());
      for (const int32_t x : copied) copied_in_[x].push_back(r);
    }
    DropUnused(g);
    const std::optional<std::vector<Moves>> now = MovesOf(touched);
    if (then && now && Saves(*then, *now)) return true;
    for (size_t i = 0; i < touched.size(); ++i) sets_[touched[i]] = std::move(before[i]);
    for (const int32_t x : copied) copied_in_[x].resize(copied_in_[x].size() - readers.size());
    return false;
  }

  // What kernels compute and move; nothing if one of the groups is none.
  using Moves = KernelFacts;
  std::optional<std::vector<Moves>> MovesOf(const std::vector<int>& groups) {
    std::vector<Moves> moves;
    for (const int g : groups) {
      if (sets_[g].empty()) continue;
      const std::vector<int32_t> nodes(sets_[g].begin(), sets_[g].end());
      const std::optional<KernelFacts> kernel = known_.Find(graph_, nodes, OutputsOf(g, sets_[g]));
      if (!kernel) return std::nullopt;
      moves.push_back(*kernel);
    }
    return moves;
  }

  static bool Saves(const std::vector<Moves>& then, const std::vector<Moves>& now) {
    double footprint = 0;
    for (const Moves& m : then) footprint = std::max(footprint, m.bytes);
    for (const Moves& m : now) footprint = std::max(footprint, m.bytes);
    const auto sum = [&](const std::vector<Moves>& kernels) {
      double time = 0;
      for (const Moves& m : kernels) {
        time +=
            cost::Overlapped(m.compute, cost::Bytes(m.bytes, footprint)) + double(cost::kLaunch);
      }
      return time;
    };
    return sum(now) < (1 - tuned::kDuplicateGain) * sum(then);
  }

  // Takes out of group g what nobody needs there.
  void DropUnused(int g) {
    for (auto it = sets_[g].rbegin(); it != sets_[g].rend();) {
      const int32_t id = *it;
      const bool needed = home_[id] == g && (returned_[id] || !ReadersOf(id).empty());
      const bool used = absl::c_any_of(users_[id], [&](int32_t u) { return sets_[g].contains(u); });
      if (needed || used) {
        ++it;
      } else {
        it = std::make_reverse_iterator(sets_[g].erase(std::next(it).base()));
      }
    }
  }

  const Graph& graph_;
  KnownKernels& known_;
  std::vector<Ids> sets_;
  std::vector<Group::Kind> kinds_;
  std::vector<bool> kernel_;
  std::vector<int> home_;                    // of a computing node
  std::vector<std::vector<int32_t>> users_;  // computing nodes that read it, through views too
  std::vector<std::vector<int>> copied_in_;  // groups that may have a copy
  std::vector<bool> returned_;
};

// Each node once at home, if it is still there, and once for each group that has a copy.
std::optional<Duplicated> Duplicator::Result() {
  Duplicated result;
  Graph& out = result.graph;
  out.num_inputs = graph_.num_inputs;
  out.origins = graph_.origins;
  std::vector<int32_t> at_home(graph_.nodes.size(), -1);
  std::map<std::pair<int, int32_t>, int32_t> copies;  // group, node
  std::vector<std::vector<int32_t>> copied_in(graph_.nodes.size());
  for (int g = 0; g < int(sets_.size()); ++g) {
    for (const int32_t id : sets_[g]) {
      if (home_[id] != g) copied_in[id].push_back(g);
    }
  }
  const auto instance = [&](int g, int32_t id) {
    const auto it = copies.find({g, id});
    return it != copies.end() ? it->second : at_home[id];
  };
  const auto add = [&](int32_t id, int g) {
    Node node = graph_.nodes[id];
    for (int32_t& x : node.operands) x = instance(g, x);
    out.nodes.push_back(std::move(node));
    return int32_t(out.nodes.size()) - 1;
  };
  for (int32_t id = 0; id < int32_t(graph_.nodes.size()); ++id) {
    const int32_t base = BaseOf(graph_, id);
    const bool lives = graph_.nodes[base].input || sets_[home_[base]].contains(base);
    if (lives) at_home[id] = add(id, graph_.nodes[base].input ? -1 : home_[base]);
    for (const int g : copied_in[base]) {
      const int32_t copy = add(id, g);
      copies[{g, id}] = copy;
    }
  }
  for (const int32_t id : graph_.outputs) out.outputs.push_back(at_home[id]);
  for (int g = 0; g < int(sets_.size()); ++g) {
    if (sets_[g].empty()) continue;
    Group group;
    for (const int32_t id : sets_[g]) group.nodes.push_back(instance(g, id));
    for (const int32_t id : OutputsOf(g, sets_[g])) group.outputs.push_back(at_home[id]);
    absl::c_sort(group.nodes);
    absl::c_sort(group.outputs);
    group.kind = kinds_[g];
    if (kernel_[g]) {
      const std::optional<KernelFacts> kernel = known_.Find(out, group.nodes, group.outputs);
      if (!kernel) return std::nullopt;
      if (!kernel->has_loop) group.nodes = WithViews(out, group.nodes);
    }
    result.grouping.groups.push_back(std::move(group));
  }
  return result;
}

}  // namespace

std::optional<Duplicated> Duplicate(const Graph& graph, const Grouping& grouping,
                                    KnownKernels* known) {
  if (grouping.groups.size() < 2) return std::nullopt;
  KnownKernels own;
  Duplicator duplicator(graph, grouping, known ? known : &own);
  if (!duplicator.Run()) return std::nullopt;
  std::optional<Duplicated> result = duplicator.Result();
  if (!result || PeakBytes(result->graph, result->grouping) > PeakBytes(graph, grouping))
    return std::nullopt;
  return result;
}

}  // namespace frazil::jit
