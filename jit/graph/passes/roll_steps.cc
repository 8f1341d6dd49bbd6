#include "jit/graph/passes/roll_steps.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/check.h"
#include "core/tuned.h"
#include "jit/graph/passes/concat_slices.h"
#include "jit/graph/passes/must.h"
#include "jit/graph/passes/passes.h"
#include "jit/graph/passes/repeated_body.h"

namespace frazil::jit {
namespace {

using Kind = Loop::Source::Kind;

int64_t BytesOf(const Node& node) { return node.layout->size * SizeOf(node.dtype); }

// Which values of the loop are read elsewhere: of each place of the body the iterations, in order.
std::vector<std::vector<int32_t>> FindKept(const RepeatedBody& loop, const Graph& graph) {
  const Bodies& run = loop.run;
  std::vector<std::vector<int32_t>> kept(run.length);
  std::vector<bool> seen(run.nodes(), false);
  const auto keep = [&](auto& self, int32_t id) -> void {
    if (id < run.first || id >= run.end() || seen[id - run.first]) return;
    seen[id - run.first] = true;
    const Node& node = graph.nodes[id];
    if (node.view) return self(self, node.operands[0]);  // it is made again behind the loop
    kept[(id - run.first) % run.length].push_back((id - run.first) / run.length);
  };
  for (auto id = run.end(); id < static_cast<int32_t>(graph.nodes.size()); ++id) {
    for (const int32_t x : graph.nodes[id].operands) keep(keep, x);
  }
  for (const int32_t id : graph.outputs) keep(keep, id);
  for (std::vector<int32_t>& iterations : kept) std::sort(iterations.begin(), iterations.end());
  return kept;
}

class Roller {
 public:
  Roller(const RepeatedBody& loop, Graph* graph)
      : loop_(loop), run_(loop.run), graph_(*graph), kept_(FindKept(loop, *graph)) {}

  void Run() {
    old_ = std::move(graph_.nodes);
    graph_.nodes.assign(old_.begin(), old_.begin() + run_.first);
    number_ = static_cast<int32_t>(graph_.loops.size());
    AddBody();
    AddResults();
    now_.resize(old_.size() - run_.end());
    for (size_t id = run_.end(); id < old_.size(); ++id) now_[id - run_.end()] = AddLater(old_[id]);
    for (int32_t& x : graph_.outputs) x = Now(x);
  }

 private:
  const Node& At(int32_t t, int32_t place) const {
    return old_[run_.first + t * run_.length + place];
  }

  // --- the body

  void AddBody() {
    Graph body;
    std::map<int32_t, int32_t> same;  // value to input of the body
    std::map<std::vector<int32_t>, int32_t> each;
    absl::flat_hash_map<int32_t, int32_t> state;
    std::vector<int32_t> of_each;
    Loop loop{.times = run_.times};
    const auto add = [&](const Node& like, Loop::Source source, absl::Span<const int32_t> from) {
      source.operand = static_cast<int32_t>(operands_.size());
      operands_.insert(operands_.end(), from.begin(), from.end());
      loop.sources.push_back(source);
      return body.AddInput(like.dtype, like.device, like.layout, like.immediate);
    };
    for (const auto& sources : loop_.sources) {
      for (const BodySource& s : sources) {
        if (s.kind != BodySource::Kind::kSame || same.contains(s.id)) continue;
        same[s.id] = add(old_[s.id], {}, {s.id});
      }
    }
    for (const std::vector<int32_t>& list : loop_.each) {
      const auto [known, fresh] = each.try_emplace(list, body.num_inputs);
      of_each.push_back(known->second);
      if (!fresh) continue;
      Loop::Source source;
      const int32_t base = FindSlide(list, &source);
      if (base >= 0) {
        add(old_[list[0]], source, {base});
      } else {
        add(old_[list[0]], {.kind = Kind::kEach}, list);
      }
    }
    for (size_t i = 0; i < loop_.state.size(); ++i) {
      const Node& like = At(0, loop_.state[i]);
      const Loop::Source source{.kind = Kind::kState, .next = static_cast<int32_t>(i)};
      state[loop_.state[i]] = add(like, source, {DenseInit(loop_.inits[i], like)});
    }
    // Views of what the iteration before made are made again.
    const auto before = [&](auto& self, int32_t place) -> int32_t {
      if (const auto known = state.find(place); known != state.end()) return known->second;
      const Node& node = At(0, place);
      const int32_t of = self(self, loop_.sources[place][0].id);
      return state[place] = Must(body.AddOp(node.op, {of}, node.attrs));
    };
    std::vector<int32_t> made;
    for (int32_t place = 0; place < run_.length; ++place) {
      const Node& node = At(0, place);
      absl::InlinedVector<int32_t, 3> operands;
      for (const BodySource& s : loop_.sources[place]) {
        operands.push_back(s.kind == BodySource::Kind::kSame    ? same[s.id]
                           : s.kind == BodySource::Kind::kBody  ? made[s.id]
                           : s.kind == BodySource::Kind::kState ? before(before, s.id)
                                                                : of_each[s.id]);
      }
      int32_t origin = -1;
      if (node.origin >= 0) {
        const std::string& text = graph_.origins[node.origin];
        const auto known = std::find(body.origins.begin(), body.origins.end(), text);
        origin = static_cast<int32_t>(known - body.origins.begin());
        if (known == body.origins.end()) body.origins.push_back(text);
      }
      made.push_back(Must(body.AddOp(node.op, operands, node.attrs, origin)));
      FZ_CHECK(body.nodes.back().layout == node.layout);
    }
    output_.assign(run_.length, -1);
    for (const int32_t place : loop_.state) AddOutput(place, made, &body);
    for (int32_t place = 0; place < run_.length; ++place) {
      if (!kept_[place].empty()) AddOutput(place, made, &body);
    }
    Graph rolled = body;
    Roll(&rolled);
    if (HasOwnOutputs(rolled)) body = std::move(rolled);
    loop.body = std::make_shared<const Graph>(std::move(body));
    graph_.loops.push_back(std::move(loop));
  }

  // Each output of a body is a value with memory of its own, not a part of what a loop within
  // keeps.
  static bool HasOwnOutputs(const Graph& body) {
    std::set<int32_t> own;
    for (const int32_t id : body.outputs) {
      if (body.nodes[id].view || body.nodes[id].input || !own.insert(id).second) return false;
    }
    return true;
  }

  void AddOutput(int32_t place, const std::vector<int32_t>& made, Graph* body) {
    if (output_[place] >= 0) return;
    output_[place] = static_cast<int32_t>(body->outputs.size());
    body->outputs.push_back(made[place]);
  }

  // Of views into one dense value at equal distances: that value; otherwise -1.
  int32_t FindSlide(const std::vector<int32_t>& list, Loop::Source* source) const {
    const int32_t base = BaseOf(graph_, list[0]);
    const Node& first = graph_.nodes[list[0]];
    if (!first.view || !graph_.nodes[base].layout->dense || graph_.nodes[base].immediate) return -1;
    const int64_t item = SizeOf(first.dtype);
    source->kind = Kind::kSlide;
    source->start = OffsetInBase(graph_, list[0]) / item;
    source->step = OffsetInBase(graph_, list[1]) / item - source->start;
    for (size_t t = 0; t < list.size(); ++t) {
      const int64_t at = source->start + static_cast<int64_t>(t) * source->step;
      if (BaseOf(graph_, list[t]) != base || OffsetInBase(graph_, list[t]) / item != at) return -1;
    }
    return base;
  }

  // The state before the first iteration, laid out as behind it.
  int32_t DenseInit(int32_t id, const Node& like) {
    if (graph_.nodes[id].layout == like.layout && !graph_.nodes[id].immediate) return id;
    const int32_t copy = Must(graph_.AddOp(OpId::k_copy, {id}, {}, graph_.nodes[id].origin));
    FZ_CHECK(graph_.nodes[copy].layout == like.layout);
    return copy;
  }

  // --- what is read of it

  void AddResults() {
    Node steps;
    steps.dtype = DType::kBool;
    steps.layout = Dense({0});
    steps.role = Role::kSteps;
    steps.loop = number_;
    steps.operands.assign(operands_.begin(), operands_.end());
    steps.origin = At(0, 0).origin;
    const auto first = static_cast<int32_t>(graph_.nodes.size());
    graph_.nodes.push_back(std::move(steps));
    result_.assign(run_.length, -1);
    for (int32_t place = 0; place < run_.length; ++place) {
      if (kept_[place].empty()) continue;
      const Node& like = At(0, place);
      Node node;
      node.role = kept_[place][0] == run_.times - 1 ? Role::kEnd : Role::kEvery;
      node.attrs = {output_[place]};
      node.operands = {first};
      node.dtype = like.dtype;
      node.origin = like.origin;
      node.loop = number_;
      Attrs dims(like.layout->dims().begin(), like.layout->dims().end());
      if (node.role == Role::kEvery) dims.insert(dims.begin(), run_.times);
      node.layout = Dense(dims);
      result_[place] = static_cast<int32_t>(graph_.nodes.size());
      graph_.nodes.push_back(std::move(node));
    }
  }

  int32_t AddLater(Node node) {
    for (int32_t& x : node.operands) x = Now(x);
    if (node.op == OpId::k_concat) return ConcatSlices(node, &graph_);
    if (node.view) return Must(graph_.AddOp(node.op, node.operands, node.attrs, node.origin));
    graph_.nodes.push_back(std::move(node));
    return static_cast<int32_t>(graph_.nodes.size()) - 1;
  }

  // Where an old node's value is now.
  int32_t Now(int32_t id) {
    if (id < run_.first) return id;
    if (id >= run_.end()) return now_[id - run_.end()];
    if (const auto it = moved_.find(id); it != moved_.end()) return it->second;
    const Node& node = old_[id];
    const int32_t t = (id - run_.first) / run_.length, place = (id - run_.first) % run_.length;
    int32_t made;
    if (node.view) {
      made = Must(graph_.AddOp(node.op, {Now(node.operands[0])}, node.attrs, node.origin));
    } else if (const int32_t all = result_[place]; graph_.nodes[all].role == Role::kEnd) {
      made = all;
    } else {
      Attrs part = {t, 1, 1};
      for (const int64_t extent : node.layout->dims()) part.insert(part.end(), {0, 1, extent});
      const Attrs dims(node.layout->dims().begin(), node.layout->dims().end());
      const int32_t slice = Must(graph_.AddOp(OpId::k_slice, {all}, part, node.origin));
      made = Must(graph_.AddOp(OpId::k_reshape, {slice}, dims, node.origin));
    }
    moved_[id] = made;
    return made;
  }

  const RepeatedBody& loop_;
  const Bodies& run_;
  Graph& graph_;
  const std::vector<std::vector<int32_t>> kept_;
  std::vector<Node> old_;
  int32_t number_ = -1;
  std::vector<int32_t> operands_;  // of the steps
  std::vector<int32_t> output_;    // of each place: number among the body's outputs, or -1
  std::vector<int32_t> result_;    // of each place: node, or -1
  std::vector<int32_t> now_;       // of nodes behind the loop
  absl::flat_hash_map<int32_t, int32_t> moved_;
};

// What one kernel does is another loop's.
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
bool IsRecurrence(const RepeatedBody& loop, const Graph& graph) {
  const Bodies& run = loop.run;
  int64_t bytes = 0;
  for (const int32_t place : loop.state) bytes += BytesOf(graph.nodes[run.first + place]);
  if (run.times < tuned::kManyRolledSteps || bytes > tuned::kCachedState || !DependsOnItself(loop))
    return false;
  const auto kept = FindKept(loop, graph);
  return std::any_of(kept.begin(), kept.end(), [&](const std::vector<int32_t>& iterations) {
    return static_cast<int32_t>(iterations.size()) >= run.times / 2;
  });
}

bool IsWorthSteps(const RepeatedBody& loop, const Graph& graph) {
  const Bodies& run = loop.run;
  if (run.times < tuned::kMinRolledSteps) return false;
  bool heavy = false;
  for (int32_t place = 0; place < run.length; ++place)
    heavy |= IsHeavy(graph.nodes[run.first + place]);
  if (!heavy && !IsRecurrence(loop, graph)) return false;
  // What is kept of any iteration but the last is an array of all, of one axis more.
  int64_t wanted = 0, made = 0;
  const auto kept = FindKept(loop, graph);
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

// Slices that differ from iteration to iteration, as of an input by time, go before the bodies that
// read them: they come behind what they are slices of, and so do views of them that several nodes
// read, in other iterations perhaps (x[t] and x[t + 1]).
Graph WithSlicesFirst(const Graph& graph) {
  const auto count = static_cast<int32_t>(graph.nodes.size());
  std::vector<std::vector<int32_t>> slices(count), views(count);
  std::vector<int32_t> readers(count, 0);
  for (const Node& node : graph.nodes) {
    for (const int32_t x : node.operands) ++readers[x];
  }
  for (int32_t id = 0; id < count; ++id) {
    const Node& node = graph.nodes[id];
    if (node.input || !node.view) continue;
    if (node.op == OpId::k_slice) {
      slices[node.operands[0]].push_back(id);
    } else if (readers[id] > 1) {
      views[node.operands[0]].push_back(id);
    }
  }
  Graph out;
  out.num_inputs = graph.num_inputs;
  out.origins = graph.origins;
  out.loops = graph.loops;
  std::vector<int32_t> now(count, -1), together;
  const auto add = [&](auto& self, int32_t id) -> void {
    Node node = graph.nodes[id];
    for (int32_t& x : node.operands) x = now[x];
    now[id] = static_cast<int32_t>(out.nodes.size());
    out.nodes.push_back(std::move(node));
    together.push_back(id);
    // Inputs, and the nodes of a loop, stand together.
    if (id + 1 < graph.num_inputs) return;
    const int32_t loop = graph.nodes[id].loop;
    if (loop >= 0 && id + 1 < count && graph.nodes[id + 1].loop == loop) return;
    for (const int32_t base : std::exchange(together, {})) {
      if (slices[base].size() >= tuned::kMinRolledSlices) {
        for (const int32_t slice : slices[base]) self(self, slice);
      }
      const Node& node = graph.nodes[base];
      const bool moved = !node.input && node.view && node.op == OpId::k_slice &&
                         slices[node.operands[0]].size() >= tuned::kMinRolledSlices;
      if (!moved) continue;
      for (const int32_t view : views[base]) self(self, view);
    }
  };
  for (int32_t id = 0; id < count; ++id) {
    if (now[id] < 0) add(add, id);
  }
  for (const int32_t id : graph.outputs) out.outputs.push_back(now[id]);
  return out;
}

// A few iterations that are results would keep the array of all: they are copied out of it, unless
// a copy would lie in memory in another way.
void CopyFewResults(Graph* graph) {
  std::map<int32_t, std::set<int32_t>> results;  // of each array
  for (const int32_t id : graph->outputs) {
    const int32_t base = BaseOf(*graph, id);
    if (graph->nodes[base].role == Role::kEvery) results[base].insert(id);
  }
  std::map<int32_t, int32_t> copies;
  for (const auto& [base, ids] : results) {
    int64_t bytes = 0;
    for (const int32_t id : ids) bytes += BytesOf(graph->nodes[id]);
    const int64_t all = BytesOf(graph->nodes[base]);
    if (all < tuned::kKeptWhole || bytes > all / tuned::kFewResults) continue;
    std::map<int32_t, int32_t> own;
    for (const int32_t id : ids) {
      const int32_t copy = Must(graph->AddOp(OpId::k_copy, {id}, {}, graph->nodes[id].origin));
      if (graph->nodes[copy].layout == graph->nodes[id].layout) own[id] = copy;
    }
    if (own.size() == ids.size()) copies.merge(own);
  }
  for (int32_t& id : graph->outputs) {
    if (const auto it = copies.find(id); it != copies.end()) id = it->second;
  }
}

}  // namespace

void RollSteps(Graph* graph) {
  const auto apart = [](const Node& node) { return !(node.device == Device()) || node.loop >= 0; };
  if (std::any_of(graph->nodes.begin(), graph->nodes.end(), apart)) return;
  Graph rolled = WithSlicesFirst(*graph);
  const auto good = [&](const RepeatedBody& loop) { return IsWorthSteps(loop, rolled); };
  BodyFinder finder(rolled, LoopOf::kSteps, good);
  int32_t at = rolled.num_inputs;
  while (const std::optional<RepeatedBody> loop = finder.Find(at)) {
    Roller(*loop, &rolled).Run();
    rolled = WithSlicesFirst(rolled);
    const auto latest = static_cast<int32_t>(rolled.loops.size()) - 1;
    const auto last = std::find_if(rolled.nodes.rbegin(), rolled.nodes.rend(),
                                   [&](const Node& node) { return node.loop == latest; });
    at = static_cast<int32_t>(rolled.nodes.rend() - last);
    finder.Describe();
  }
  if (rolled.loops.empty()) return;
  CopyFewResults(&rolled);
  *graph = std::move(rolled);
  Dce(graph);  // slices that nothing reads any more
}

}  // namespace frazil::jit
