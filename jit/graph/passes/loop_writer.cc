// A body that a graph repeats, written as a loop (graph.h): each iteration computes what the nodes
// that it stands for did, by the same ops.
//
// What moves: what stays the same is one operand, x[t] slides through its array, values that were
// inputs one by one are a list, the state is handed on. Views of the state, as a stencil reads, may
// come from the iteration before: they are made again.
//
// What is kept: what is read of every iteration (hidden states that are stacked, what a backward
// pass needs) lies in one array, whose slices are what the rest of the graph reads. A stack of all
// of them is that array.
#include <algorithm>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "core/check.h"
#include "jit/graph/passes/loop_slices.h"
#include "jit/graph/passes/must.h"
#include "jit/graph/passes/repeated_body.h"

namespace frazil::jit {
namespace {

using Kind = Loop::Source::Kind;

class Writer {
 public:
  Writer(const RepeatedBody& loop, Graph* graph)
      : loop_(loop), run_(loop.run), graph_(*graph), kept_(FindKept(loop, *graph)) {}

  int32_t Run() {
    old_ = std::move(graph_.nodes);
    graph_.nodes.assign(old_.begin(), old_.begin() + run_.first);
    AddLoop();
    AddResults();
    now_.resize(old_.size() - run_.end());
    for (size_t id = run_.end(); id < old_.size(); ++id) now_[id - run_.end()] = AddLater(old_[id]);
    for (int32_t& x : graph_.outputs) x = Now(x);
    return loop_node_;
  }

 private:
  const Node& At(int32_t t, int32_t place) const {
    return old_[run_.first + t * run_.length + place];
  }

  // --- the body

  void AddLoop() {
    std::map<int32_t, int32_t> same;  // value to input of the body
    std::map<std::vector<int32_t>, int32_t> each;
    absl::flat_hash_map<int32_t, int32_t> state;
    Loop loop{.times = run_.times};
    Graph& body = loop.body;
    const auto add = [&](const Node& like, Loop::Source source, absl::Span<const int32_t> from) {
      source.operand = static_cast<int32_t>(operands_.size());
      operands_.insert(operands_.end(), from.begin(), from.end());
      loop.sources.push_back(source);
      const int32_t id = body.AddInput(like.dtype, like.device, like.layout, like.immediate);
      body.nodes.back().zero = like.zero && source.kind == Kind::kSame;
      return id;
    };
    for (const auto& sources : loop_.sources) {
      for (const BodySource& s : sources) {
        if (s.kind != BodySource::Kind::kSame || same.contains(s.id)) continue;
        same[s.id] = add(old_[s.id], {}, {s.id});
      }
    }
    for (const std::vector<int32_t>& list : loop_.each) {
      if (each.contains(list)) continue;
      const std::optional<Slide> slide = Slide::Of(graph_, list[0], list[1]);
      if (slide && slide->HasAll(graph_, list)) {
        const Loop::Source moves{.kind = Kind::kSlide, .start = slide->start, .step = slide->step};
        each[list] = add(old_[list[0]], moves, {slide->base});
      } else {
        each[list] = add(old_[list[0]], {.kind = Kind::kEach}, list);
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
                                                                : each[loop_.each[s.id]]);
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
    outputs_ = loop_.state;
    for (int32_t place = 0; place < run_.length; ++place) {
      const auto known = std::find(outputs_.begin(), outputs_.end(), place);
      if (!kept_[place].empty() && known == outputs_.end()) outputs_.push_back(place);
    }
    for (const int32_t place : outputs_) body.outputs.push_back(made[place]);
    Node node;
    node.dtype = DType::kBool;
    node.layout = Dense({0});
    node.role = Role::kLoop;
    node.loop = LoopRef(new Loop(std::move(loop)));
    node.operands.assign(operands_.begin(), operands_.end());
    node.origin = At(0, 0).origin;
    loop_node_ = static_cast<int32_t>(graph_.nodes.size());
    graph_.nodes.push_back(std::move(node));
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
    result_.assign(run_.length, -1);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const int32_t place = outputs_[i];
      if (kept_[place].empty()) continue;
      const Node& like = At(0, place);
      Node node;
      node.role = kept_[place][0] == run_.times - 1 ? Role::kEnd : Role::kEvery;
      node.attrs = {static_cast<int64_t>(i)};
      node.operands = {loop_node_};
      node.dtype = like.dtype;
      node.origin = like.origin;
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
    return AddAgain(std::move(node), &graph_);
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
  int32_t loop_node_ = -1;
  std::vector<int32_t> operands_;  // of the loop
  std::vector<int32_t> outputs_;   // of the body: places
  std::vector<int32_t> result_;    // of each place: node, or -1
  std::vector<int32_t> now_;       // of nodes behind the loop
  absl::flat_hash_map<int32_t, int32_t> moved_;
};

}  // namespace

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

int32_t WriteLoop(const RepeatedBody& body, Graph* graph) { return Writer(body, graph).Run(); }

}  // namespace frazil::jit
