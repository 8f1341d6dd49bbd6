// The roll pass: a body that the graph repeats becomes a loop (graph.h). Loops of traced Python
// arrive unrolled; as one node list they would be cut into many kernels that hand their state over
// in memory, or into as many steps as there are iterations.
//
// Bodies with products or reductions are looked for first: they become loops of steps. The plan
// runs the body's steps as often as there are iterations (jit/run/loop_step.h). The body is
// grouped, lowered and planned like any graph, once. To the plan around it the loop is one step,
// the body's arena one block; Ctrl-C is looked at between the body's steps. What is elementwise
// throughout, and left, becomes a loop in a kernel (jit/graph/loop_kernel.h), but for one over small
// arrays that slides through others, as a pass back does: that is written out as scalars.
//
// What stays unrolled: a loop of few iterations that would keep much: there computing again what is
// cheap saves more. One whose arrays would hold more than twice what is read of them. Elementwise
// bodies from whose middle values are kept, unless values of most iterations are, they run 32 times
// or more and their state stays in the cache. All that is not on the CPU: kernels and plans of
// other devices have no loops.
//
// Three passes before it take what is common out of the iterations: join makes products of
// successive rows with one matrix (the inputs of a recurrent network) one product, split computes
// what is read in slices alone (its gates) slice by slice, so that each is part of the kernel that
// reads it, and lay_out copies a matrix that the steps read across (h @ w.T) once.
#include <algorithm>
#include <set>

#include "absl/algorithm/container.h"
#include "core/tuned.h"
#include "jit/graph/loop_kernel.h"
#include "jit/graph/passes/loop_slices.h"
#include "jit/graph/passes/passes.h"
#include "jit/graph/passes/repeated_body.h"
#include "jit/graph/scalar_loop.h"

namespace frazil::jit {
namespace {

// What a kernel with a loop cannot have in it.
bool IsHeavy(const Node& node) {
  return !IsPointwise(node.op) && Info(node.op).klass != OpClass::kView;
}

// Whether what an iteration hands over depends on what the one before did, and so on. Independent
// bodies, as of an optimizer over many tensors, hand something over where an iteration is taken to
// begin in their middle.
bool DependsOnItself(const RepeatedBody& loop) {
  std::vector<bool> hands(loop.run.length, false), needs(loop.run.length);
  for (const int32_t place : loop.state) hands[place] = true;
  const auto is_state = hands;
  const auto base = [&](int32_t place) {  // of a view of the state
    while (!is_state[place]) place = loop.sources[place][0].id;
    return place;
  };
  for (bool fewer = true; fewer;) {
    fewer = false;
    for (int32_t place = 0; place < loop.run.length; ++place) {
      const auto& from = loop.sources[place];
      needs[place] = std::any_of(from.begin(), from.end(), [&](const BodySource& s) {
        return (s.kind == BodySource::Kind::kBody && needs[s.id]) ||
               (s.kind == BodySource::Kind::kState && hands[base(s.id)]);
      });
    }
    for (const int32_t place : loop.state) {
      fewer |= hands[place] && !needs[place];
      hands[place] = hands[place] && needs[place];
    }
  }
  return std::find(hands.begin(), hands.end(), true) != hands.end();
}

// A body of elementwise ops of which values of all iterations are kept. It is no loop of one
// kernel, and written out as many kernels as there are iterations. The state, which is loaded again
// in each, must be in the cache.
bool IsRecurrence(const RepeatedBody& loop, const std::vector<std::vector<int32_t>>& kept,
                  const Graph& graph) {
  const Bodies& run = loop.run;
  int64_t bytes = 0;
  for (const int32_t place : loop.state) bytes += BytesOf(graph.nodes[run.first + place]);
  if (run.times < tuned::kManyRolledSteps || bytes > tuned::kCachedState || !DependsOnItself(loop))
    return false;
  return std::any_of(kept.begin(), kept.end(), [&](const std::vector<int32_t>& iterations) {
    return static_cast<int32_t>(iterations.size()) >= run.times / 2;
  });
}

// A body of elementwise ops on slices: of its state, or of arrays, which move with the iterations as
// in a backward pass.
bool IsWorthScalars(const RepeatedBody& loop, Graph graph) {
  const auto body = absl::MakeSpan(graph.nodes).subspan(loop.run.first, loop.run.length);
  const bool takes_arrays =
      absl::c_any_of(loop.like, [&](int32_t id) { return !graph.nodes[id].immediate; });
  if (!(takes_arrays || MovesElements(body)) || !DependsOnItself(loop)) return false;
  const int32_t id = WriteLoop(loop, &graph);
  return IsWorthScalars(graph, id);
}

bool IsWorthSteps(const RepeatedBody& loop, const Graph& graph) {
  const Bodies& run = loop.run;
  if (run.times < tuned::kMinRolledSteps) return false;
  const auto body = absl::MakeSpan(graph.nodes).subspan(run.first, run.length);
  const bool heavy = std::any_of(body.begin(), body.end(), IsHeavy);
  const auto kept = FindKept(loop, graph);
  if (!heavy && !IsRecurrence(loop, kept, graph) && !IsWorthScalars(loop, graph)) return false;
  // What is kept of any iteration but the last is an array of all, of one axis more.
  int64_t wanted = 0, made = 0;
  for (int32_t place = 0; place < run.length; ++place) {
    if (kept[place].empty()) continue;
    const Node& node = graph.nodes[run.first + place];
    const bool last = kept[place][0] == run.times - 1;
    if (!last && node.layout->rank == kMaxRank) return false;
    wanted += BytesOf(node) * static_cast<int64_t>(kept[place].size());
    made += BytesOf(node) * (last ? 1 : run.times);
  }
  return made < tuned::kKeptByFew || (run.times >= tuned::kManyRolledSteps && made <= 2 * wanted);
}

// Loops in the body of a loop. Each output of a body is a value with memory of its own, not a part
// of what a loop within keeps.
void RollWithin(LoopRef* loop) {
  Graph body = (*loop)->body;
  Roll(&body);
  std::set<int32_t> own;
  for (const int32_t id : body.outputs) {
    if (body.nodes[id].view || body.nodes[id].input || !own.insert(id).second) return;
  }
  *loop = LoopRef(new Loop{(*loop)->times, (*loop)->sources, std::move(body)});
}

bool IsWorthAKernel(const RepeatedBody& body, Graph graph) {
  const int32_t loop = WriteLoop(body, &graph);
  return IsOneKernel(graph, loop);
}

void RollAll(LoopOf what, Graph* graph) {
  const bool steps = what == LoopOf::kSteps;
  const auto good = [&](const RepeatedBody& body) {
    return steps ? IsWorthSteps(body, *graph) : IsWorthAKernel(body, *graph);
  };
  BodyFinder finder(*graph, what, good);
  int32_t at = graph->num_inputs;
  while (const std::optional<RepeatedBody> body = finder.Find(at)) {
    at = WriteLoop(*body, graph);
    if (steps) {
      if (!IsWorthScalars(*graph, at)) RollWithin(&graph->nodes[at].loop);
      *graph = WithSlicesFirst(*graph);
    }
    finder.Describe();
  }
}

}  // namespace

void Roll(Graph* graph) {
  const auto apart = [](const Node& node) { return !(node.device == Device()) || node.loop; };
  if (std::none_of(graph->nodes.begin(), graph->nodes.end(), apart)) {
    Graph rolled = WithSlicesFirst(*graph);
    RollAll(LoopOf::kSteps, &rolled);
    if (HasLoops(rolled)) {
      CopyFewResults(&rolled);
      Dce(&rolled);  // slices that nothing reads any more
      *graph = std::move(rolled);
    }
  }
  RollAll(LoopOf::kKernel, graph);
}

}  // namespace frazil::jit
