// What stands around loops that are written out as scalars: the iterations that are not like those
// between, as the first and the last of a pass back, and what is made of the loops' results. Each
// op of a few elements would be a step, which takes longer to start than to run. As a loop of one
// iteration, written out as well, all of them are one kernel.
//
// Views of what is made elsewhere (the iterations that a loop kept) are made before it; views of
// its results that others read, again behind it.
#include <map>

#include "core/tuned.h"
#include "jit/graph/passes/must.h"
#include "jit/graph/passes/passes.h"
#include "jit/graph/scalar_loop.h"
#include "jit/graph/while_loop.h"

namespace frazil::jit {
namespace {

class Writer {
 public:
  explicit Writer(const Graph& graph) : old_(graph), now_(graph.nodes.size(), -1) {}

  Graph Run() {
    FindRuns();
    graph_.num_inputs = old_.num_inputs;
    graph_.origins = old_.origins;
    for (int32_t id = 0; id < Count(); ++id) {
      const bool inside = run_[id] >= 0 && runs_[run_[id]].size() >= kFewest;
      if (!inside) now_[id] = Add(id);
      if (inside && id == runs_[run_[id]].back()) AddRun(runs_[run_[id]]);
    }
    for (const int32_t id : old_.outputs) graph_.outputs.push_back(now_[id]);
    return std::move(graph_);
  }

 private:
  static constexpr size_t kFewest = tuned::kMinRepeatedNodes;

  int32_t Count() const { return static_cast<int32_t>(old_.nodes.size()); }
  const Node& At(int32_t id) const { return old_.nodes[id]; }
  bool IsIn(int32_t id, int32_t run) const { return run_[id] == run; }

  void FindRuns() {
    run_.assign(old_.nodes.size(), -1);
    read_.resize(old_.nodes.size());
    runs_.emplace_back();
    for (int32_t id = old_.num_inputs; id < Count(); ++id) {
      const Node& node = At(id);
      const auto run = static_cast<int32_t>(runs_.size()) - 1;
      if (node.view && !IsIn(node.operands[0], run)) continue;  // it comes before the run
      if (MayBeWrittenOut(node)) {
        run_[id] = run;
        runs_.back().push_back(id);
      } else if (!runs_.back().empty()) {
        runs_.emplace_back();
      }
    }
    // What is read elsewhere, and the views on the way to it.
    for (int32_t id = 0; id < Count(); ++id) {
      for (const int32_t x : At(id).operands) {
        if (run_[x] >= 0 && !IsIn(id, run_[x])) Want(x);
      }
    }
    for (const int32_t id : old_.outputs) {
      if (run_[id] >= 0) Want(id);
    }
  }

  void Want(int32_t id) {
    for (; !read_[id]; id = At(id).operands[0]) {
      read_[id] = true;
      if (!At(id).view) return;
    }
  }

  int32_t Add(int32_t id) {
    Node node = At(id);
    for (int32_t& x : node.operands) x = now_[x];
    return AddAgain(std::move(node), &graph_);
  }

  void AddRun(const std::vector<int32_t>& run) {
    Loop loop{.times = 1};
    loop.body.origins = old_.origins;
    std::map<int32_t, int32_t> inside;  // nodes of the body
    std::vector<int32_t> operands;
    for (const int32_t id : run) {
      for (const int32_t x : At(id).operands) {
        if (IsIn(x, run_[id]) || inside.contains(x)) continue;
        const Node& from = graph_.nodes[now_[x]];
        loop.sources.push_back({.operand = static_cast<int32_t>(operands.size())});
        operands.push_back(now_[x]);
        inside[x] = loop.body.AddInput(from.dtype, from.device, from.layout, from.immediate);
        loop.body.nodes.back().zero = from.zero;
      }
    }
    std::vector<int32_t> results;
    for (const int32_t id : run) {
      const Node& node = At(id);
      absl::InlinedVector<int32_t, 3> from;
      for (const int32_t x : node.operands) from.push_back(inside[x]);
      inside[id] = Must(loop.body.AddOp(node.op, from, node.attrs, node.origin));
      if (!read_[id] || node.view) continue;
      results.push_back(id);
      loop.body.outputs.push_back(inside[id]);
    }
    DropOrigins(&loop.body);
    loop.scalars = true;
    const size_t before = graph_.nodes.size();
    const std::vector<int32_t> ids =
        AddLoop(&graph_, std::move(loop), operands, [](int32_t) { return true; });
    if (!IsWorthScalars(graph_, static_cast<int32_t>(before))) {
      graph_.nodes.resize(before);
      for (const int32_t id : run) now_[id] = Add(id);
      return;
    }
    for (size_t i = 0; i < results.size(); ++i) now_[results[i]] = ids[i];
    for (const int32_t id : run) {
      if (read_[id] && At(id).view) now_[id] = Add(id);
    }
  }

  const Graph& old_;
  Graph graph_;
  std::vector<int32_t> now_;                // of old nodes
  std::vector<std::vector<int32_t>> runs_;  // of nodes that stand one behind the other
  std::vector<int32_t> run_;                // of each node, or -1
  std::vector<bool> read_;                  // elsewhere
};

}  // namespace

void WriteOutAround(Graph* graph) { *graph = Writer(*graph).Run(); }

}  // namespace frazil::jit
