#include "jit/graph/recompute.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "jit/graph/space.h"

namespace frazil::jit {
namespace {

constexpr int64_t kEndless = std::numeric_limits<int64_t>::max() / 4;

bool Computes(const Node& node) { return !node.input && !node.view; }

// Elementwise work on the CPU that can be part of any kernel.
bool IsCheap(const Node& node) {
  return Computes(node) && node.role == Role::kOp && node.device == Device() &&
         IsPointwise(node.op);
}

// A flow network; Dinic's algorithm.
class Network {
 public:
  explicit Network(int vertices) : first_(vertices, -1) {}

  void AddEdge(int from, int to, int64_t capacity) {
    edges_.push_back({to, first_[from], capacity});
    first_[from] = static_cast<int>(edges_.size()) - 1;
    edges_.push_back({from, first_[to], 0});
    first_[to] = static_cast<int>(edges_.size()) - 1;
  }

  void Saturate(int source, int sink) {
    while (FindLevels(source, sink)) {
      next_ = first_;
      while (Push(source, sink, kEndless) > 0) {
      }
    }
  }

  // Vertices from which the sink can still be reached: the smallest far side of a minimum cut.
  std::vector<bool> FarSide(int sink) const {
    std::vector<bool> far(first_.size(), false);
    std::vector<int> todo = {sink};
    far[sink] = true;
    while (!todo.empty()) {
      const int v = todo.back();
      todo.pop_back();
      for (int e = first_[v]; e >= 0; e = edges_[e].next) {
        const int from = edges_[e].to;
        if (far[from] || edges_[e ^ 1].left <= 0) continue;
        far[from] = true;
        todo.push_back(from);
      }
    }
    return far;
  }

 private:
  struct Edge {
    int to, next;
    int64_t left;
  };

  bool FindLevels(int source, int sink) {
    level_.assign(first_.size(), -1);
    level_[source] = 0;
    std::vector<int> todo = {source};
    for (size_t i = 0; i < todo.size(); ++i) {
      for (int e = first_[todo[i]]; e >= 0; e = edges_[e].next) {
        if (edges_[e].left <= 0 || level_[edges_[e].to] >= 0) continue;
        level_[edges_[e].to] = level_[todo[i]] + 1;
        todo.push_back(edges_[e].to);
      }
    }
    return level_[sink] >= 0;
  }

  int64_t Push(int v, int sink, int64_t most) {
    if (v == sink) return most;
    for (int& e = next_[v]; e >= 0; e = edges_[e].next) {
      if (edges_[e].left <= 0 || level_[edges_[e].to] != level_[v] + 1) continue;
      const int64_t pushed = Push(edges_[e].to, sink, std::min(most, edges_[e].left));
      if (pushed == 0) continue;
      edges_[e].left -= pushed;
      edges_[e ^ 1].left += pushed;
      return pushed;
    }
    return 0;
  }

  std::vector<Edge> edges_;
  std::vector<int> first_, next_, level_;
};

class Recomputer {
 public:
  Recomputer(const Graph& graph, const Grouping& grouping)
      : graph_(graph), count_(static_cast<int32_t>(graph.nodes.size())) {
    stored_.assign(count_, false);
    returned_.assign(count_, false);
    last_.assign(count_, -1);
    for (const Group& group : grouping.groups) {
      for (const int32_t id : group.outputs) stored_[id] = true;
    }
    for (const int32_t id : graph.outputs) returned_[BaseOf(graph, id)] = true;
    for (int32_t id = 0; id < count_; ++id) {
      if (!Computes(graph.nodes[id])) continue;
      for (const int32_t x : graph.nodes[id].operands) last_[BaseOf(graph, x)] = id;
    }
  }

  // The node behind which the most bytes wait for readers, next to a library call: no kernel spans
  // that place. -1 if it is less than `worth`.
  int32_t FindTurn(int64_t worth) const {
    std::vector<int64_t> change(count_ + 1, 0);
    for (int32_t id = 0; id < count_; ++id) {
      if (!Computes(graph_.nodes[id]) || !stored_[id]) continue;
      change[id] += BytesOf(graph_.nodes[id]);
      change[returned_[id] ? count_ : std::max(last_[id], id)] -= BytesOf(graph_.nodes[id]);
    }
    int32_t turn = -1, next = -1;  // next: that computes, behind id
    std::vector<int32_t> after(count_, -1);
    for (int32_t id = count_; id-- > 0;) {
      after[id] = next;
      if (Computes(graph_.nodes[id])) next = id;
    }
    int64_t live = 0, most = worth;
    for (int32_t id = 0; id < count_; ++id) {
      live += change[id];
      if (live <= most || after[id] < 0) continue;
      if (!IsLibrary(graph_.nodes[after[id]].op) &&
          !(Computes(graph_.nodes[id]) && IsLibrary(graph_.nodes[id].op)))
        continue;
      turn = id;
      most = live;
    }
    return turn;
  }

  // Which nodes up to `turn` are computed again for those behind it.
  std::vector<bool> Choose(int32_t turn) const {
    const int source = 2 * (turn + 1), sink = source + 1;
    Network network(sink + 1);
    std::vector<bool> seen(turn + 1, false);
    std::vector<int32_t> todo;
    const auto need = [&](int32_t x) {
      if (graph_.nodes[x].input || seen[x]) return;
      seen[x] = true;
      todo.push_back(x);
    };
    std::vector<bool> wanted(turn + 1, false);
    for (int32_t id = turn + 1; id < count_; ++id) {
      if (!Computes(graph_.nodes[id])) continue;
      for (const int32_t x : graph_.nodes[id].operands) {
        const int32_t base = BaseOf(graph_, x);
        if (base > turn || graph_.nodes[base].input || wanted[base]) continue;
        wanted[base] = true;
        network.AddEdge(2 * base + 1, sink, kEndless);
        need(base);
      }
    }
    while (!todo.empty()) {
      const int32_t id = todo.back();
      todo.pop_back();
      const Node& node = graph_.nodes[id];
      network.AddEdge(2 * id, 2 * id + 1, returned_[id] ? 0 : BytesOf(node));
      if (!IsCheap(node)) {
        network.AddEdge(source, 2 * id, kEndless);
        continue;
      }
      for (const int32_t x : node.operands) {
        const int32_t base = BaseOf(graph_, x);
        if (graph_.nodes[base].input) continue;
        network.AddEdge(2 * base + 1, 2 * id, kEndless);
        need(base);
      }
    }
    network.Saturate(source, sink);
    const std::vector<bool> far = network.FarSide(sink);
    std::vector<bool> again(turn + 1, false);
    for (int32_t id = 0; id <= turn; ++id) again[id] = seen[id] && far[2 * id];
    return again;
  }

  // The graph with copies of `again`, each before its first reader behind the turn.
  Graph WithCopies(int32_t turn, const std::vector<bool>& again, Copies* copies) const {
    Graph out;
    out.num_inputs = graph_.num_inputs;
    out.origins = graph_.origins;
    std::vector<int32_t> now(count_), copy(turn + 1, -1);
    std::vector<int32_t> behind;
    const auto add = [&](Node node, int32_t mark) {
      out.nodes.push_back(std::move(node));
      behind.push_back(mark);
      return static_cast<int32_t>(out.nodes.size()) - 1;
    };
    for (int32_t id = 0; id <= turn; ++id) now[id] = add(graph_.nodes[id], 0);
    const auto late = [&](auto& self, int32_t id) -> int32_t {
      if (id > turn || graph_.nodes[id].input || !again[BaseOf(graph_, id)]) return now[id];
      if (copy[id] >= 0) return copy[id];
      Node node = graph_.nodes[id];
      for (int32_t& x : node.operands) x = self(self, x);
      return copy[id] = add(std::move(node), turn);
    };
    for (int32_t id = turn + 1; id < count_; ++id) {
      Node node = graph_.nodes[id];
      for (int32_t& x : node.operands) x = late(late, x);
      now[id] = add(std::move(node), 0);
    }
    for (const int32_t id : graph_.outputs) out.outputs.push_back(now[id]);
    copies->behind = std::move(behind);
    return out;
  }

 private:
  const Graph& graph_;
  int32_t count_;
  std::vector<bool> stored_, returned_;
  std::vector<int32_t> last_;  // that reads it, through views too
};

// Takes out what no output needs.
void Compact(Graph* graph, Copies* copies) {
  const auto count = static_cast<int32_t>(graph->nodes.size());
  std::vector<bool> used(count, false);
  for (const int32_t id : graph->outputs) used[id] = true;
  for (int32_t id = count; id-- > 0;) {
    if (!used[id]) continue;
    for (const int32_t x : graph->nodes[id].operands) used[x] = true;
  }
  std::vector<int32_t> now(count, -1);
  int32_t kept = 0;
  for (int32_t id = 0; id < count; ++id) {
    now[id] = kept;  // of a node that goes: where the next one stands
    if (!used[id] && !graph->nodes[id].input) continue;
    for (int32_t& x : graph->nodes[id].operands) x = now[x];
    if (kept != id) graph->nodes[kept] = std::move(graph->nodes[id]);
    const int32_t behind = copies->behind[id];
    copies->behind[kept++] = behind ? now[behind] - !used[behind] : 0;
  }
  graph->nodes.resize(kept);
  copies->behind.resize(kept);
  for (int32_t& id : graph->outputs) id = now[id];
}

}  // namespace

std::optional<Graph> Recompute(const Graph& graph, const Grouping& grouping, int64_t worth,
                               Copies* copies) {
  const Recomputer recomputer(graph, grouping);
  const int32_t turn = recomputer.FindTurn(worth);
  if (turn <= 0) return std::nullopt;
  const std::vector<bool> again = recomputer.Choose(turn);
  if (std::find(again.begin(), again.end(), true) == again.end()) return std::nullopt;
  Graph out = recomputer.WithCopies(turn, again, copies);
  Compact(&out, copies);
  return out;
}

int64_t PeakBytes(const Graph& graph, const Grouping& grouping) {
  const size_t count = grouping.groups.size();
  std::vector<int64_t> last(graph.nodes.size(), -1), change(count + 1, 0);
  for (size_t g = 0; g < count; ++g) {
    for (const int32_t id : grouping.groups[g].nodes) {
      if (!Computes(graph.nodes[id])) continue;
      for (const int32_t x : graph.nodes[id].operands) last[BaseOf(graph, x)] = int64_t(g);
    }
  }
  for (const int32_t id : graph.outputs) last[BaseOf(graph, id)] = int64_t(count) - 1;
  for (size_t g = 0; g < count; ++g) {
    for (const int32_t id : grouping.groups[g].outputs) {
      const int64_t bytes = BytesOf(graph.nodes[id]);
      change[g] += bytes;
      change[std::max<size_t>(g, last[id] < 0 ? 0 : size_t(last[id])) + 1] -= bytes;
    }
  }
  int64_t live = 0, most = 0;
  for (const int64_t c : change) most = std::max(most, live += c);
  return most;
}

}  // namespace frazil::jit
