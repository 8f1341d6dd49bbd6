// The assign pass: arrays that a program fills part by part (y[t] = ... in a loop). An assignment to
// a few of the elements is a `put` of a new value over the one before: a chain of them, of which
// no iteration is like the next, and which no loop could keep in registers.
//
// What lies where is known: the positions are slices of an iota. So a slice of such a value is a
// slice of the part that was assigned there (y[t - 1], the lags of a recurrence), or of what was
// before; and where nothing else reads the values between, the last of a chain is the
// concatenation of its parts, which the roll pass makes one array (loop_slices.h).
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "core/tuned.h"
#include "jit/graph/passes/must.h"
#include "jit/graph/passes/passes.h"

namespace frazil::jit {
namespace {

// How many assignments back the places of slices are looked for, over the number of nodes.
constexpr int64_t kMostBack = 64;

struct Part {  // positions [start, end) along an axis
  int64_t axis, start, end;
};

class Writer {
 public:
  explicit Writer(const Graph& graph)
      : old_(graph), work_(kMostBack * Count()), now_(graph.nodes.size(), -1) {}

  Graph Run() {
    FindReaders();
    graph_.num_inputs = old_.num_inputs;
    graph_.origins = old_.origins;
    for (int32_t id = 0; id < Count(); ++id) now_[id] = Add(id);
    for (const int32_t id : old_.outputs) graph_.outputs.push_back(now_[id]);
    for (size_t i = 0; i < old_.outputs.size(); ++i) {
      // A slice of another value may lie in memory in another way.
      if (graph_.nodes[graph_.outputs[i]].layout != At(old_.outputs[i]).layout) return old_;
    }
    return std::move(graph_);
  }

 private:
  int32_t Count() const { return static_cast<int32_t>(old_.nodes.size()); }
  const Node& At(int32_t id) const { return old_.nodes[id]; }

  // What an assignment assigns to, if that is known.
  std::optional<Part> PartOf(const Node& node) const {
    if (node.input || node.role != Role::kOp || node.op != OpId::k_put) return std::nullopt;
    if (node.attrs[1] != 0 || node.attrs[2] != 1) return std::nullopt;
    const Node& indices = At(node.operands[1]);
    const auto iota = [](const Node& n) { return !n.input && n.op == OpId::k_iota; };
    if (iota(indices)) return Part{node.attrs[0], 0, indices.layout->size};
    if (indices.input || indices.op != OpId::k_slice || !iota(At(indices.operands[0])) ||
        (indices.attrs[1] != 1 && indices.attrs[2] != 1))
      return std::nullopt;
    return Part{node.attrs[0], indices.attrs[0], indices.attrs[0] + indices.attrs[2]};
  }

  // A slice, of what was assigned to the place that it shows.
  struct Shown {
    int32_t of;
    Attrs attrs;
  };
  Shown Resolve(const Node& slice) {
    Shown shown{slice.operands[0], slice.attrs};
    for (; work_ > 0; --work_) {
      const std::optional<Part> part = PartOf(At(shown.of));
      if (!part) break;
      int64_t* along = &shown.attrs[static_cast<size_t>(3 * part->axis)];
      const int64_t last = along[0] + (along[2] - 1) * along[1];
      const auto [low, high] = std::minmax(along[0], last);
      if (low >= part->start && high < part->end) {
        shown.of = At(shown.of).operands[2];
        along[0] -= part->start;
      } else if (high < part->start || low >= part->end) {
        shown.of = At(shown.of).operands[0];
      } else {
        break;
      }
    }
    return shown;
  }

  // How many nodes read each, slices of assignments reading what they show.
  void FindReaders() {
    readers_.assign(old_.nodes.size(), 0);
    for (const Node& node : old_.nodes) {
      if (node.input) continue;
      if (IsSlice(node)) {
        const auto id = static_cast<int32_t>(&node - old_.nodes.data());
        ++readers_[shown_.emplace(id, Resolve(node)).first->second.of];
      } else {
        for (const int32_t x : node.operands) ++readers_[x];
      }
    }
    for (const int32_t id : old_.outputs) ++readers_[id];
    ends_.assign(old_.nodes.size(), false);
    for (int32_t id = 0; id < Count(); ++id) {
      if (!PartOf(At(id))) continue;
      ends_[id] = true;
      if (const int32_t before = At(id).operands[0]; readers_[before] == 1) ends_[before] = false;
    }
  }

  static bool IsSlice(const Node& node) {
    return node.role == Role::kOp && !node.input && node.op == OpId::k_slice &&
           node.layout->size > 0;
  }

  int32_t Add(int32_t id) {
    Node node = At(id);
    if (IsSlice(node)) {
      const Shown& shown = shown_.at(id);
      return Must(graph_.AddOp(OpId::k_slice, {now_[shown.of]}, shown.attrs, node.origin));
    }
    if (ends_[id]) {
      if (const int32_t joined = Joined(id); joined >= 0) return joined;
    }
    for (int32_t& x : node.operands) x = now_[x];
    return AddAgain(std::move(node), &graph_);
  }

  // The concatenation of all parts of the chain that ends with `id`, or -1 where it is none: parts
  // that meet, too few, or too much of the array that is not assigned to.
  int32_t Joined(int32_t id) {
    const Node& end = At(id);
    const int64_t axis = end.attrs[0], extent = end.layout->extents[axis];
    std::vector<std::pair<Part, int32_t>> parts;
    int32_t base = id;
    for (;;) {
      const std::optional<Part> part = PartOf(At(base));
      if (!part || part->axis != axis || (base != id && readers_[base] != 1)) break;
      parts.emplace_back(*part, At(base).operands[2]);
      base = At(base).operands[0];
    }
    if (static_cast<int32_t>(parts.size()) < tuned::kMinRolledSteps) return -1;
    std::sort(parts.begin(), parts.end(),
              [](const auto& a, const auto& b) { return a.first.start < b.first.start; });
    absl::InlinedVector<int32_t, 3> operands;
    int64_t at = 0, assigned = 0;
    std::vector<Part> rest;
    for (const auto& [part, updates] : parts) {
      if (part.start < at) return -1;
      if (part.start > at) rest.push_back({axis, at, part.start});
      at = part.end;
      assigned += part.end - part.start;
    }
    if (at < extent) rest.push_back({axis, at, extent});
    if (assigned < extent / 2) return -1;
    const auto unchanged = [&](const Part& part) {
      Attrs attrs;
      for (int64_t a = 0; a < end.layout->rank; ++a) {
        const int64_t whole = end.layout->extents[a];
        attrs.insert(attrs.end(),
                     {a == axis ? part.start : 0, 1, a == axis ? part.end - part.start : whole});
      }
      operands.push_back(Must(graph_.AddOp(OpId::k_slice, {now_[base]}, attrs, end.origin)));
    };
    size_t next = 0;
    for (const auto& [part, updates] : parts) {
      if (next < rest.size() && rest[next].end == part.start) unchanged(rest[next++]);
      operands.push_back(now_[updates]);
    }
    if (next < rest.size()) unchanged(rest[next]);
    return Must(graph_.AddOp(OpId::k_concat, operands, {axis}, end.origin));
  }

  const Graph& old_;
  int64_t work_;  // that is left
  Graph graph_;
  absl::flat_hash_map<int32_t, Shown> shown_;  // of slices
  std::vector<int32_t> now_;                   // of old nodes
  std::vector<int32_t> readers_;               // of old nodes
  std::vector<bool> ends_;                     // assignments behind which no other stands alone
};

}  // namespace

void Assign(Graph* graph) {
  const auto assigns = [](const Node& n) { return !n.input && n.op == OpId::k_put; };
  const auto count = std::count_if(graph->nodes.begin(), graph->nodes.end(), assigns);
  if (count < tuned::kMinRolledSteps || HasLoops(*graph)) return;
  *graph = Writer(*graph).Run();
  Fold(graph);  // slices of parts that are all of them
}

}  // namespace frazil::jit
