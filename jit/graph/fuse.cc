// The fuse pass. Nodes are visited in order; each starts a group of its own and then takes in the
// groups that make its operands, latest first: if the union is one kernel (Analyse), no path leaves
// the union and comes back, and one kernel takes less time than two (core/cost.h). Then groups that
// read the same data without waiting for each other are joined by the same rule. Groups only ever
// grow, so the result does not depend on anything but the graph.
#include <algorithm>
#include <queue>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "core/backend.h"
#include "core/check.h"
#include "core/cost.h"
#include "jit/graph/groups.h"
#include "jit/graph/recompute.h"
#include "jit/graph/space.h"

namespace frazil::jit {
namespace {

// Readers of the same data that wait for one another, after which no more are asked.
constexpr int kMostWaiting = 64;

// Time on one thread and on several, together.
double TimeOf(const KernelFacts& k, double footprint) {
  const double time = cost::Overlapped(k.compute, cost::Bytes(k.bytes, footprint));
  const double threads = time < cost::kWorthSharing ? 1 : std::clamp(k.shares, 1.0, tuned::kTeam);
  return time + time / threads + 2 * cost::kLaunch;
}

class Fuser {
 public:
  Fuser(const Graph& graph, const Copies& copies, KnownKernels* kernels)
      : graph_(graph),
        kernels_(*kernels),
        copies_(copies),
        base_(graph.nodes.size()),
        group_of_(graph.nodes.size(), -1),
        users_(graph.nodes.size()),
        alone_(graph.nodes.size(), false) {
    returned_.assign(graph.nodes.size(), false);
    for (int32_t id = 0; id < int32_t(graph.nodes.size()); ++id) {
      const Node& n = graph.nodes[id];
      base_[id] = n.view ? base_[n.operands[0]] : id;
    }
    for (int32_t id = 0; id < int32_t(graph.nodes.size()); ++id) {
      if (graph.nodes[id].input || graph.nodes[id].view) continue;
      for (int32_t x : graph.nodes[id].operands) users_[Base(x)].push_back(id);
    }
    for (int32_t id : graph.outputs) returned_[Base(id)] = true;
  }

  Grouping Run(bool enabled) {
    for (int32_t id = 0; id < int32_t(graph_.nodes.size()); ++id) {
      const Node& n = graph_.nodes[id];
      if (n.input || n.view || group_of_[id] >= 0) continue;
      const bool alone = n.loop && (n.loop->scalars || !IsOneKernel(graph_, id));
      std::vector<int32_t>& set = sets_.emplace_back();
      const int32_t end = n.loop ? EndOfLoop(graph_, id) : id + 1;  // with all its results
      for (int32_t i = id; i < end; ++i) {
        group_of_[i] = int(sets_.size()) - 1;
        alone_[i] = alone;
        set.push_back(i);
      }
      seen_.push_back(0);
      latest_.push_back(set.back());
      for (const int g : OperandGroups(set)) latest_.back() = std::max(latest_.back(), latest_[g]);
      if (enabled && Fusible(id)) TakeIn(set.back());
    }
    if (enabled) TakeNumbersIn();
    Grouping grouping = Order();
    if (const std::vector<std::vector<int>> readers = Readers(); enabled && !readers.empty()) {
      Fuser other = *this;
      if (other.JoinSiblings(readers)) {
        // Results are there earlier than they would be, which may not take much more memory.
        Grouping joined = other.Order();
        const int64_t peak = PeakBytes(graph_, grouping);
        if (PeakBytes(graph_, joined) <= peak + peak / 64 + tuned::kSmallPeakChange) {
          for (Group& group : joined.groups) other.AddViews(&group);
          return joined;
        }
      }
    }
    for (Group& group : grouping.groups) AddViews(&group);
    return grouping;
  }

 private:
  int32_t Base(int32_t id) const { return base_[id]; }
  bool Fusible(int32_t id) const {
    const Node& node = graph_.nodes[id];
    return !IsLibrary(node.op) && !StandsAlone(node) && !alone_[id] && !TurnsAround(graph_, node);
  }

  // Some come several times.
  template <typename Fn>
  void ForOperandGroups(const std::vector<int32_t>& nodes, Fn fn) const {
    for (int32_t id : nodes) {
      for (int32_t x : graph_.nodes[id].operands) {
        if (const int g = group_of_[Base(x)]; g >= 0) fn(g);
      }
    }
  }

  std::vector<int> OperandGroups(const std::vector<int32_t>& nodes) const {
    std::vector<int> groups;
    ForOperandGroups(nodes, [&](int g) { groups.push_back(g); });
    std::sort(groups.begin(), groups.end(), std::greater<>());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    return groups;
  }

  void TakeIn(int32_t id) {
    const int own = group_of_[id];
    // Rows are copied by a library, indices computed before; what reads the rows may yet take it
    // in.
    if (sets_[own].size() == 1 && TakesRows(graph_, graph_.nodes[id])) return;
    for (int g : OperandGroups(sets_[own])) {
      if (g != own && !sets_[g].empty() && MayTake(g, own)) Join(g, own);
    }
  }

  bool MayTake(int g, int own) {
    return Fusible(sets_[g][0]) && SameHome(sets_[g][0], sets_[own][0]) &&
           copies_.MayJoin(sets_[g], sets_[own]) && !Returns(g, own);
  }

  // Copies of a number, made for the views that show it, once all that reads one is one kernel.
  void TakeNumbersIn() {
    for (int g = 0; g < static_cast<int>(sets_.size()); ++g) {
      if (sets_[g].size() != 1 || returned_[sets_[g][0]]) continue;
      const int32_t id = sets_[g][0];
      const Node& copy = graph_.nodes[id];
      if (copy.op != OpId::k_copy || !graph_.nodes[copy.operands[0]].immediate) continue;
      const int own = users_[id].empty() ? g : group_of_[users_[id][0]];
      const bool one = std::all_of(users_[id].begin(), users_[id].end(),
                                   [&](int32_t user) { return group_of_[user] == own; });
      if (one && own != g && Fusible(sets_[own][0]) && MayTake(g, own)) Join(g, own);
    }
  }

  // Makes group g part of group `own` if that is one kernel and saves time.
  bool Join(int g, int own) {
    std::vector<int32_t> both;
    std::merge(sets_[g].begin(), sets_[g].end(), sets_[own].begin(), sets_[own].end(),
               std::back_inserter(both));
    const std::optional<KernelFacts> kernel = kernels_.Find(graph_, both, Outputs(both));
    if (!kernel || !Pays(*kernel, g, own)) return false;
    for (int32_t x : sets_[g]) group_of_[x] = own;
    sets_[g].clear();
    sets_[own] = std::move(both);
    latest_[own] = std::max(latest_[own], latest_[g]);
    TellReaders(own);
    known_.erase(g);
    known_[own] = *kernel;
    return true;
  }

  const KernelFacts& KernelOf(int g) {
    const auto [it, fresh] = known_.try_emplace(g);
    if (fresh) {
      const std::optional<KernelFacts> kernel = kernels_.Find(graph_, sets_[g], Outputs(sets_[g]));
      FZ_CHECK(kernel);
      it->second = *kernel;
    }
    return it->second;
  }

  // What is stored and loaded no longer, and one launch, against what is computed again and how
  // many threads can share it. Where nothing is computed again there is nothing to lose but
  // threads.
  bool Pays(const KernelFacts& both, int a, int b) {
    const double time = both.Time();
    if (time <= cost::kLaunch) return true;
    if (!both.repeats && (both.shares >= tuned::kTeam || time < cost::kWorthSharing)) return true;
    const KernelFacts first = KernelOf(a), second = KernelOf(b);
    const double footprint = std::max({both.bytes, first.bytes, second.bytes});
    return TimeOf(both, footprint) <= TimeOf(first, footprint) + TimeOf(second, footprint);
  }

  // --- siblings

  // Elements of the largest value that a group touches.
  int64_t Largest(const std::vector<int32_t>& nodes) const {
    int64_t largest = 0;
    for (int32_t id : nodes) {
      largest = std::max(largest, graph_.nodes[id].layout->size);
      for (int32_t x : graph_.nodes[id].operands)
        largest = std::max(largest, graph_.nodes[x].layout->size);
    }
    return largest;
  }

  // The groups that read each value that is as large as all they touch, ascending.
  std::vector<std::vector<int>> Readers() const {
    std::vector<std::vector<int>> readers(graph_.nodes.size());
    for (int g = 0; g < int(sets_.size()); ++g) {
      if (sets_[g].empty() || !Fusible(sets_[g][0])) continue;
      const int64_t largest = Largest(sets_[g]);
      if (largest <= 1) continue;
      for (int32_t id : sets_[g]) {
        for (int32_t x : graph_.nodes[id].operands) {
          if (graph_.nodes[x].layout->size != largest || group_of_[Base(x)] == g) continue;
          if (readers[x].empty() || readers[x].back() != g) readers[x].push_back(g);
        }
      }
    }
    std::erase_if(readers, [](const auto& groups) { return groups.size() < 2; });
    return readers;
  }

  bool JoinSiblings(const std::vector<std::vector<int>>& readers) {
    bool joined = false;
    std::vector<int> in_vain(sets_.size(), 0);
    for (const std::vector<int>& groups : readers) {
      for (size_t i = 0; i < groups.size(); ++i) {
        // Of a long chain of readers each waits for all before it.
        int waiting = 0;
        for (size_t j = i + 1; j < groups.size() && waiting < kMostWaiting; ++j) {
          const int a = groups[i], b = groups[j];
          if (sets_[a].empty() || sets_[b].empty()) continue;
          if (in_vain[a] >= tuned::kMostSiblings || in_vain[b] >= tuned::kMostSiblings) continue;
          if (!SameHome(sets_[a][0], sets_[b][0]) || !copies_.MayJoin(sets_[a], sets_[b])) continue;
          if (Reaches(a, b) || Reaches(b, a)) {
            ++waiting;
            continue;
          }
          if (Join(b, a)) {
            joined = true;
          } else {
            ++in_vain[a];
            ++in_vain[b];
          }
        }
      }
    }
    return joined;
  }

  // Whether group `to` waits for group `from`.
  bool Reaches(int from, int to) { return Waits({to}, from); }

  // Whether a group of `todo` waits for group `from`. What waits for it does so for its last node,
  // too, which tells most of the others; of those left the earliest are nearest to it.
  bool Waits(absl::Span<const int> todo, int from) {
    const int32_t last = sets_[from].back();
    ++visit_;
    std::vector<std::pair<int32_t, int>> heap;
    const auto add = [&](int g) {
      if (latest_[g] < last || std::exchange(seen_[g], visit_) == visit_) return;
      heap.emplace_back(-latest_[g], g);
      absl::c_push_heap(heap);
    };
    for (const int g : todo) add(g);
    bool found = false;
    while (!found && !heap.empty()) {
      absl::c_pop_heap(heap);
      const int g = heap.back().second;
      heap.pop_back();
      ForOperandGroups(sets_[g], [&](int x) {
        found |= x == from;
        add(x);
      });
    }
    return found;
  }

  // Groups that wait for group g wait for all that it waits for.
  void TellReaders(int g) {
    std::vector<int> todo = {g};
    while (!todo.empty()) {
      const int from = todo.back();
      todo.pop_back();
      for (const int32_t id : sets_[from]) {
        for (const int32_t user : users_[id]) {
          const int reader = group_of_[user];
          if (reader < 0 || latest_[reader] >= latest_[g]) continue;
          latest_[reader] = latest_[g];
          todo.push_back(reader);
        }
      }
    }
  }

  // On one device, which can compute both or neither: a kernel that the device lacks one op for
  // runs elsewhere as a whole.
  bool SameHome(int32_t a, int32_t b) const {
    return graph_.nodes[a].device == graph_.nodes[b].device && IsComputed(a) == IsComputed(b);
  }

  bool IsComputed(int32_t id) const {
    const Node& node = graph_.nodes[id];
    bool all = BackendOf(node.device).Computes(node.dtype);
    for (int32_t x : node.operands) all &= BackendOf(node.device).Computes(graph_.nodes[x].dtype);
    return all;
  }

  // True if another group lies on a path from group `from` to group `to`: then they cannot be one.
  // Numbers of nodes tell nothing here: an early node's group may hold a late one as well.
  bool Returns(int from, int to) {
    std::vector<int> todo;
    for (int g : OperandGroups(sets_[to])) {
      if (g != from && g != to) todo.push_back(g);
    }
    return Waits(todo, from);
  }

  std::vector<int32_t> Outputs(const std::vector<int32_t>& nodes) const {
    std::vector<int32_t> outputs;
    for (int32_t id : nodes) {
      const bool outside = std::any_of(users_[id].begin(), users_[id].end(), [&](int32_t u) {
        return !std::binary_search(nodes.begin(), nodes.end(), u);
      });
      if (outside || returned_[id] || users_[id].empty()) outputs.push_back(id);
    }
    return outputs;
  }

  // Executable order: a group runs when those it reads from have run, otherwise as its first node
  // stands. What reads no memory comes first: it would stand between a product and its reader.
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
      if (waits[g] == 0) ready.push({ReadsNothing(sets_[g]) ? -1 : sets_[g].front(), g});
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

  bool ReadsNothing(const std::vector<int32_t>& nodes) const {
    return std::all_of(nodes.begin(), nodes.end(), [&](int32_t id) {
      const auto& operands = graph_.nodes[id].operands;
      return std::all_of(operands.begin(), operands.end(), [&](int32_t x) {
        return graph_.nodes[x].immediate || std::binary_search(nodes.begin(), nodes.end(), x);
      });
    });
  }

  Group Make(const std::vector<int32_t>& nodes) const {
    Group group;
    group.nodes = nodes;
    group.outputs = Outputs(nodes);
    if (IsLibrary(graph_.nodes[nodes[0]].op)) group.kind = Group::Kind::kLibrary;
    if (alone_[nodes[0]]) {
      const bool scalars = graph_.nodes[nodes[0]].loop->scalars;
      group.kind = scalars ? Group::Kind::kScalars : Group::Kind::kSteps;
    }
    return group;
  }

  // The views between members.
  void AddViews(Group* group) {
    if (group->kind != Group::Kind::kKernel || group->nodes.size() == 1) return;
    const KernelFacts& kernel = KernelOf(group_of_[group->nodes[0]]);
    if (!kernel.has_loop) group->nodes = WithViews(graph_, group->nodes);
  }

  const Graph& graph_;
  KnownKernels& kernels_;
  const Copies& copies_;
  std::vector<int32_t> base_;                // of a view: what it shows
  std::vector<int> group_of_;                // of a computing node
  std::vector<std::vector<int32_t>> sets_;   // ascending; empty once taken in
  std::vector<std::vector<int32_t>> users_;  // computing nodes that read a value, through views too
  std::vector<bool> returned_;
  // Of a group, the last node among its own and those of all groups that it waits for.
  std::vector<int32_t> latest_;
  std::vector<int> seen_;  // of a group: the last visit that came to it
  int visit_ = 0;
  std::vector<bool> alone_;  // loops that are no part of a kernel, and their results
  absl::flat_hash_map<int, KernelFacts> known_;  // of groups that are kernels
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

Grouping Fuse(const Graph& graph, bool enabled, const Copies& copies, KnownKernels* known) {
  KnownKernels own;
  return Fuser(graph, copies, known ? known : &own).Run(enabled);
}

}  // namespace frazil::jit
