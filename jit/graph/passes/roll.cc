// The roll pass: a body that the graph repeats becomes a loop (graph.h). Loops of traced Python
// arrive unrolled; as one node list they would be cut into many kernels that hand their state over
// in memory, as a loop they are one kernel that keeps it in registers. Bodies with products or
// reductions become loops of steps first (roll_steps.cc).
#include "absl/container/flat_hash_map.h"
#include "jit/graph/passes/passes.h"
#include "jit/graph/passes/repeated_body.h"
#include "jit/graph/passes/roll_steps.h"
#include "jit/graph/space.h"

namespace frazil::jit {
namespace {

// Returns where the nodes behind the loop begin.
int32_t Rewrite(const RepeatedBody& loop, Graph* graph) {
  const Bodies& run = loop.run;
  std::vector<Node> old = std::move(graph->nodes);
  std::vector<Node>& nodes = graph->nodes;
  nodes.assign(old.begin(), old.begin() + run.first);
  const auto number = static_cast<int32_t>(graph->loops.size());
  graph->loops.push_back({.times = run.times});
  const auto add = [&](Node node, Role role) {
    node.role = role;
    node.loop = number;
    nodes.push_back(std::move(node));
    return static_cast<int32_t>(nodes.size()) - 1;
  };
  const auto make = [&](const Node& like, absl::Span<const int32_t> operands, Role role) {
    Node node;
    node.op = OpId::k_copy;
    node.operands.assign(operands.begin(), operands.end());
    node.dtype = like.dtype;
    node.device = like.device;
    node.layout = Dense(like.layout->dims());
    node.origin = like.origin;
    return add(std::move(node), role);
  };
  std::vector<int32_t> each, body, lasts;
  absl::flat_hash_map<int32_t, int32_t> carry;  // place to node
  for (const std::vector<int32_t>& list : loop.each)
    each.push_back(make(old[list[0]], list, Role::kEach));
  for (size_t i = 0; i < loop.state.size(); ++i) {
    const int32_t place = loop.state[i];
    carry[place] = make(old[run.first + place], {loop.inits[i]}, Role::kCarry);
  }
  for (int32_t place = 0; place < run.length; ++place) {
    Node node = old[run.first + place];
    for (size_t k = 0; k < node.operands.size(); ++k) {
      const BodySource& s = loop.sources[place][k];
      node.operands[k] = s.kind == BodySource::Kind::kSame    ? s.id
                         : s.kind == BodySource::Kind::kBody  ? body[s.id]
                         : s.kind == BodySource::Kind::kState ? carry[s.id]
                                                              : each[s.id];
    }
    body.push_back(add(std::move(node), Role::kOp));
  }
  absl::flat_hash_map<int32_t, int32_t> moved;
  for (const int32_t place : loop.state) {
    moved[run.end() - run.length + place] =
        make(old[run.first + place], {carry[place], body[place]}, Role::kLast);
  }
  const auto end = static_cast<int32_t>(nodes.size());
  const auto now = [&](int32_t id) {
    return id < run.first ? id : id >= run.end() ? id - run.end() + end : moved.at(id);
  };
  for (auto it = old.begin() + run.end(); it != old.end(); ++it) {
    for (int32_t& x : it->operands) x = now(x);
    nodes.push_back(std::move(*it));
  }
  for (int32_t& x : graph->outputs) x = now(x);
  return end;
}

bool IsOneKernel(const RepeatedBody& loop, const Graph& graph) {
  Graph trial = graph;
  const int32_t end = Rewrite(loop, &trial);
  const auto number = static_cast<int32_t>(trial.loops.size()) - 1;
  std::vector<int32_t> nodes, outputs;
  for (int32_t id = 0; id < end; ++id) {
    const Node& n = trial.nodes[id];
    if (n.loop != number) continue;
    if (!n.view) nodes.push_back(id);
    if (n.role == Role::kLast) outputs.push_back(id);
  }
  return Analyse(trial, nodes, outputs).has_value();
}

}  // namespace

void Roll(Graph* graph) {
  RollSteps(graph);
  const auto good = [graph](const RepeatedBody& loop) { return IsOneKernel(loop, *graph); };
  BodyFinder finder(*graph, LoopOf::kKernel, good);
  int32_t at = graph->num_inputs;
  while (const std::optional<RepeatedBody> loop = finder.Find(at)) {
    at = Rewrite(*loop, graph);
    finder.Describe();
  }
}

}  // namespace frazil::jit
