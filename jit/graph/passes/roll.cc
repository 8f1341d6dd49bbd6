// The roll pass: a body that the graph repeats becomes a loop (graph.h). Loops of traced Python
// arrive unrolled; as one node list they would be cut into many kernels that hand their state over
// in memory, as a loop they are one kernel that keeps it in registers.
//
// Nodes are compared by what they are, then by where their operands come from: an operand of
// iteration t is a value of the same iteration, the state (a value of iteration t - 1), a number of
// its own, or the same value in every iteration.
#include <algorithm>
#include <limits>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "jit/graph/passes/passes.h"
#include "jit/graph/space.h"

namespace frazil::jit {
namespace {

constexpr int32_t kMinTimes = 4;
constexpr int32_t kMinNodes = 65;       // fewer are one kernel as they stand
constexpr int32_t kMaxBody = 300;       // nodes of one iteration
constexpr int kMaxTried = 6;            // lengths of a body that are looked at from one node
constexpr int64_t kWorkPerNode = 2000;  // comparisons, then the rest stays as it is
constexpr int32_t kReturned = std::numeric_limits<int32_t>::max();

// [first, first + length * times) repeats a body of `length` nodes.
struct Bodies {
  int32_t first, length, times;

  int32_t nodes() const { return length * times; }
  int32_t end() const { return first + nodes(); }
};

struct Source {
  enum class Kind : uint8_t { kSame, kBody, kState, kEach } kind;
  int32_t id;  // kSame: the value; kBody, kState: place in the body; kEach: number among them
};

struct Loop {
  Bodies run;
  std::vector<absl::InlinedVector<Source, 3>> sources;  // of each node of the body
  std::vector<int32_t> state;                           // places in the body
  std::vector<int32_t> inits;                           // as state: values before the loop
  std::vector<std::vector<int32_t>> each;               // the number in each iteration
  std::vector<DType> types;                             // of each number
};

class Roller {
 public:
  explicit Roller(Graph* graph) : graph_(*graph) {}

  void Run() {
    Describe();
    work_ = kWorkPerNode * Count();
    for (int32_t at = graph_.num_inputs; at < Count() && work_ > 0;) {
      int32_t tried = 1;  // nodes from `at` on where no loop begins
      const std::optional<Loop> loop = FindAt(at, &tried);
      if (loop) {
        at = Rewrite(*loop);
        Describe();
      } else {
        at += tried;
      }
    }
  }

 private:
  int32_t Count() const { return static_cast<int32_t>(graph_.nodes.size()); }

  static bool MayRepeat(const Node& node) {
    if (node.loop >= 0 || !(node.device == Device())) return false;
    switch (Info(node.op).klass) {
      case OpClass::kElementwise:
      case OpClass::kCast:
        return true;
      case OpClass::kView:
        return node.op == OpId::k_broadcast_to || node.op == OpId::k_reshape;
      default:
        return false;
    }
  }

  void Describe() {
    const int32_t count = Count();
    what_.assign(count, 0);
    last_use_.assign(count, -1);
    next_alike_.assign(count, -1);
    absl::flat_hash_map<uint64_t, int32_t> later;
    for (int32_t id = 0; id < count; ++id) {
      for (const int32_t x : graph_.nodes[id].operands) last_use_[x] = id;
    }
    for (const int32_t id : graph_.outputs) last_use_[id] = kReturned;
    for (int32_t id = count - 1; id >= graph_.num_inputs; --id) {
      const Node& n = graph_.nodes[id];
      if (!MayRepeat(n)) continue;
      what_[id] = absl::HashOf(n.op, n.attrs, n.dtype, n.layout->id, n.view, n.operands.size()) | 1;
      const auto [it, fresh] = later.try_emplace(what_[id], id);
      if (!fresh) next_alike_[id] = std::exchange(it->second, id);
    }
  }

  // The loop beginning near `at` that covers most.
  std::optional<Loop> FindAt(int32_t at, int32_t* tried) {
    std::optional<Loop> best;
    int lengths = 0;
    if (what_[at] == 0) return best;
    for (int32_t alike = next_alike_[at]; alike >= 0; alike = next_alike_[alike]) {
      const int32_t length = alike - at;
      if (length > kMaxBody || lengths == kMaxTried) break;
      if (!LooksRepeated(at, length)) continue;
      // Two iterations of a loop that was found are no other body.
      if (best && length % best->run.length == 0 && at + kMinTimes * length <= best->run.end())
        continue;
      ++lengths;
      if (lengths == 1) *tried = length;
      std::optional<Loop> loop = Rotate(at, length);
      if (loop && (!best || loop->run.nodes() > best->run.nodes())) best = std::move(loop);
    }
    return best;
  }

  bool LooksRepeated(int32_t at, int32_t length) const {
    const int32_t end = at + kMinTimes * length;
    if (end > Count()) return false;
    for (int32_t id = at + length; id < end; ++id) {
      if (what_[id] == 0 || what_[id] != what_[id - length]) return false;
    }
    return true;
  }

  // Of the places in the body where an iteration may begin, the one with the smallest state.
  std::optional<Loop> Rotate(int32_t at, int32_t length) {
    std::optional<Loop> best;
    for (int32_t first = at; first < at + length && work_ > 0; ++first) {
      std::optional<Loop> loop = Compare(first, length);
      // The first iteration may read other things.
      if (!loop) loop = Compare(first + length, length);
      if (loop && (!best || loop->state.size() < best->state.size())) best = std::move(loop);
    }
    if (best && !IsOneKernel(*best)) return std::nullopt;
    return best;
  }

  // As many iterations from `first` on as are a loop, if any.
  std::optional<Loop> Compare(int32_t first, int32_t length) {
    if (!LooksRepeated(first, length)) return std::nullopt;
    Loop loop{.run = {first, length, 0},
              .sources = {},
              .state = {},
              .inits = {},
              .each = {},
              .types = {}};
    for (int32_t place = 0; place < length; ++place) {
      auto& sources = loop.sources.emplace_back();
      for (const int32_t second : graph_.nodes[first + length + place].operands) {
        const int k = static_cast<int>(sources.size());
        const std::optional<Source> source = FindSource(place, k, second, &loop);
        if (!source) return std::nullopt;
        sources.push_back(*source);
      }
    }
    if (loop.state.empty()) return std::nullopt;
    std::vector<bool> is_state(length, false);
    for (const int32_t place : loop.state) is_state[place] = true;
    CountTimes(&loop, is_state);
    if (!StaysInside(loop, is_state)) --loop.run.times;
    const bool good = loop.run.times >= kMinTimes && loop.run.nodes() >= kMinNodes;
    if (!good || !StaysInside(loop, is_state)) return std::nullopt;
    for (std::vector<int32_t>& list : loop.each) list.resize(loop.run.times);
    return loop;
  }

  // Iterations up to one that reads other things, or from which more is used later.
  void CountTimes(Loop* loop, const std::vector<bool>& is_state) {
    const Bodies& run = loop->run;
    for (int32_t& t = loop->run.times; run.end() + run.length <= Count(); ++t) {
      const int32_t begin = run.end(), after = begin + 2 * run.length;
      work_ -= run.length;
      bool last = false;
      for (int32_t place = 0; place < run.length; ++place) {
        const int32_t id = begin + place;
        if (what_[id] == 0 || what_[id] != what_[run.first + place]) return;
        for (size_t k = 0; k < loop->sources[place].size(); ++k) {
          if (!Fits(*loop, loop->sources[place][k], graph_.nodes[id].operands[k], t)) return;
        }
        if (last_use_[id] < after) continue;
        if (!is_state[place]) return;
        last = true;
      }
      for (int32_t place = 0; place < run.length; ++place) {
        for (size_t k = 0; k < loop->sources[place].size(); ++k) {
          const Source& s = loop->sources[place][k];
          if (s.kind == Source::Kind::kEach)
            loop->each[s.id].push_back(graph_.nodes[begin + place].operands[k]);
        }
      }
      if (last) {
        ++t;
        return;
      }
    }
  }

  bool Fits(const Loop& loop, const Source& s, int32_t operand, int32_t t) const {
    const Bodies& run = loop.run;
    switch (s.kind) {
      case Source::Kind::kSame:
        return operand == s.id;
      case Source::Kind::kBody:
        return operand == run.first + t * run.length + s.id;
      case Source::Kind::kState:
        return t == 0 || operand == run.first + (t - 1) * run.length + s.id;
      case Source::Kind::kEach:
        break;
    }
    return IsNumber(operand, loop.types[s.id]);
  }

  bool IsNumber(int32_t id, DType dtype) const {
    const Node& n = graph_.nodes[id];
    return n.input && n.immediate && n.dtype == dtype;
  }

  // Where the second iteration has operand `second` from; the first and third tell numbers of
  // their own from one that stays.
  std::optional<Source> FindSource(int32_t place, int k, int32_t second, Loop* loop) const {
    const Bodies& run = loop->run;
    const auto operand = [&](int32_t t) {
      return graph_.nodes[run.first + t * run.length + place].operands[k];
    };
    const int32_t begin = run.first + run.length;
    if (second >= begin) return Source{Source::Kind::kBody, second - begin};
    if (second >= run.first) {
      const int32_t from = second - run.first;
      return AddState(from, operand(0), loop) ? std::optional(Source{Source::Kind::kState, from})
                                              : std::nullopt;
    }
    if (operand(0) == second && operand(2) == second) return Source{Source::Kind::kSame, second};
    const DType dtype = graph_.nodes[second].dtype;
    if (!IsNumber(second, dtype)) return std::nullopt;
    loop->each.emplace_back();
    loop->types.push_back(dtype);
    return Source{Source::Kind::kEach, static_cast<int32_t>(loop->each.size()) - 1};
  }

  bool AddState(int32_t place, int32_t init, Loop* loop) const {
    for (size_t i = 0; i < loop->state.size(); ++i) {
      if (loop->state[i] == place) return loop->inits[i] == init;
    }
    const Node &a = graph_.nodes[init], &b = graph_.nodes[loop->run.first + place];
    if (init >= loop->run.first || a.dtype != b.dtype || a.layout->dims() != b.layout->dims() ||
        b.view || !b.layout->dense) {
      return false;
    }
    loop->state.push_back(place);
    loop->inits.push_back(init);
    return true;
  }

  // Outside nothing but the state behind the last iteration is read.
  bool StaysInside(const Loop& loop, const std::vector<bool>& is_state) const {
    const Bodies& run = loop.run;
    for (int32_t place = 0; place < run.length && run.times > 0; ++place) {
      if (!is_state[place] && last_use_[run.end() - run.length + place] >= run.end()) return false;
    }
    return true;
  }

  bool IsOneKernel(const Loop& loop) const {
    Graph trial = graph_;
    Roller roller(&trial);
    const int32_t end = roller.Rewrite(loop);
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

  // Returns where the nodes behind the loop begin.
  int32_t Rewrite(const Loop& loop) {
    const Bodies& run = loop.run;
    std::vector<Node> old = std::move(graph_.nodes);
    std::vector<Node>& nodes = graph_.nodes;
    nodes.assign(old.begin(), old.begin() + run.first);
    const auto number = static_cast<int32_t>(graph_.loops.size());
    graph_.loops.push_back(run.times);
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
        const Source& s = loop.sources[place][k];
        node.operands[k] = s.kind == Source::Kind::kSame    ? s.id
                           : s.kind == Source::Kind::kBody  ? body[s.id]
                           : s.kind == Source::Kind::kState ? carry[s.id]
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
    for (int32_t& x : graph_.outputs) x = now(x);
    return end;
  }

  Graph& graph_;
  std::vector<uint64_t> what_;       // a node and its type; 0: never part of a loop
  std::vector<int32_t> last_use_;    // the last node that reads it
  std::vector<int32_t> next_alike_;  // the next node of the same `what_`
  int64_t work_ = 0;                 // that is left
};

}  // namespace

void Roll(Graph* graph) { Roller(graph).Run(); }

}  // namespace frazil::jit
