// The pads pass: gradients of slices. That of each slice is padded with zeros to the whole array
// and added to those before it: a loop over the rows of an array would add as many arrays as it has
// rows. Where the slices do not meet, the sum is their concatenation, which the roll pass makes one
// array (loop_slices.h).
//
// Each element has had zeros added to it, and -0 + 0 is 0: a zero is added at the end. The zero is
// one that is known to be (graph.h): other numbers that arrays are padded with stay.
#include <algorithm>

#include "core/tuned.h"
#include "jit/graph/passes/must.h"
#include "jit/graph/passes/passes.h"

namespace frazil::jit {
namespace {

struct Part {  // positions [start, end) along an axis
  int64_t start, end;
  int32_t of;
};

class Writer {
 public:
  explicit Writer(const Graph& graph) : old_(graph) {}

  Graph Run() {
    readers_.assign(old_.nodes.size(), 0);
    sums_.assign(old_.nodes.size(), false);  // that only the next sum of a chain reads
    for (const Node& node : old_.nodes) {
      for (const int32_t x : node.operands) ++readers_[x];
    }
    for (const int32_t id : old_.outputs) ++readers_[id];
    for (int32_t id = 0; id < Count(); ++id) {
      const int32_t before = IsSum(id) ? At(id).operands[0] : -1;
      if (before >= 0 && IsSum(before) && readers_[before] == 1 && AxisOf(before) == AxisOf(id))
        sums_[before] = true;
    }
    graph_.num_inputs = old_.num_inputs;
    graph_.origins = old_.origins;
    now_.resize(old_.nodes.size());
    for (int32_t id = 0; id < Count(); ++id) now_[id] = Add(id);
    for (const int32_t id : old_.outputs) graph_.outputs.push_back(now_[id]);
    return std::move(graph_);
  }

 private:
  int32_t Count() const { return static_cast<int32_t>(old_.nodes.size()); }
  const Node& At(int32_t id) const { return old_.nodes[id]; }

  // The axis along which something is padded with zeros for one reader, or -1.
  int PaddedAxis(int32_t id) const {
    const Node& node = At(id);
    if (node.input || node.role != Role::kOp || node.op != OpId::k_pad || readers_[id] != 1 ||
        !(node.device == Device()) || !At(node.operands[1]).zero)
      return -1;
    int axis = -1;
    for (int a = 0; a < node.layout->rank; ++a) {
      if (node.attrs[2 * a] == 0 && node.attrs[2 * a + 1] == 0) continue;
      if (axis >= 0) return -1;
      axis = a;
    }
    return axis;
  }

  // Of a sum of something and what is padded.
  bool IsSum(int32_t id) const {
    const Node& node = At(id);
    return !node.input && node.role == Role::kOp && node.op == OpId::k_add &&
           node.operands[0] != node.operands[1] &&
           At(node.operands[0]).layout->dims() == node.layout->dims() && AxisOf(id) >= 0;
  }
  int AxisOf(int32_t sum) const { return PaddedAxis(At(sum).operands[1]); }

  Part PartOf(int32_t pad) const {
    const Node& node = At(pad);
    const int axis = PaddedAxis(pad);
    const int64_t start = node.attrs[2 * axis], extent = node.layout->extents[axis];
    return {start, extent - node.attrs[2 * axis + 1], node.operands[0]};
  }

  int32_t Add(int32_t id) {
    if (!sums_[id] && IsSum(id)) {
      if (const int32_t joined = Joined(id); joined >= 0) return joined;
    }
    Node node = At(id);
    for (int32_t& x : node.operands) x = now_[x];
    return AddAgain(std::move(node), &graph_);
  }

  // What is padded in the sums that end with `id`, which begins at `start`; returns what else they
  // begin with, or -1. A part that is such a sum itself, for one reader, is taken apart: slices of
  // slices.
  int32_t CollectParts(int32_t id, int axis, int64_t start, std::vector<Part>* parts) const {
    const auto add = [&](int32_t pad) {
      Part part = PartOf(pad);
      part.start += start, part.end += start;
      if (readers_[part.of] == 1 && IsSum(part.of) && AxisOf(part.of) == axis) {
        std::vector<Part> inner;
        if (CollectParts(part.of, axis, part.start, &inner) < 0) {
          parts->insert(parts->end(), inner.begin(), inner.end());
          return;
        }
      }
      parts->push_back(part);
    };
    int32_t base = id;
    do {
      add(At(base).operands[1]);
      base = At(base).operands[0];
    } while (sums_[base]);
    if (PaddedAxis(base) != axis) return base;
    add(base);
    return -1;
  }

  // The sums that end with `id`, put together; -1: parts that meet, or too few.
  int32_t Joined(int32_t id) {
    const Node& end = At(id);
    const int axis = AxisOf(id);
    std::vector<Part> parts;
    const int32_t base = CollectParts(id, axis, 0, &parts);
    const int32_t zero = At(end.operands[1]).operands[1];
    if (parts.size() < size_t{tuned::kMinRolledSteps}) return -1;
    std::sort(parts.begin(), parts.end(),
              [](const Part& a, const Part& b) { return a.start < b.start; });
    Attrs dims(end.layout->dims().begin(), end.layout->dims().end());
    absl::InlinedVector<int32_t, 3> operands;
    const int64_t extent = dims[static_cast<size_t>(axis)];
    int64_t at = 0, filled = 0;
    const auto fill = [&](int64_t to) {
      dims[static_cast<size_t>(axis)] = to - at;
      if (to > at)
        operands.push_back(
            Must(graph_.AddOp(OpId::k_broadcast_to, {now_[zero]}, dims, end.origin)));
    };
    for (const Part& part : parts) {
      if (part.start < at) return -1;
      filled += part.end - part.start;
      at = part.end;
    }
    if (filled < extent / 2) return -1;
    at = 0;
    for (const Part& part : parts) {
      fill(part.start);
      operands.push_back(now_[part.of]);
      at = part.end;
    }
    fill(extent);
    const auto sum = [&](int32_t a, int32_t b) {
      return Must(graph_.AddOp(OpId::k_add, {a, b}, {}, end.origin));
    };
    const int32_t all = Must(graph_.AddOp(OpId::k_concat, operands, {axis}, end.origin));
    return sum(base < 0 ? all : sum(now_[base], all), now_[zero]);
  }

  const Graph& old_;
  Graph graph_;
  std::vector<int32_t> now_;      // of old nodes
  std::vector<int32_t> readers_;  // how many
  std::vector<bool> sums_;
};

}  // namespace

void Pads(Graph* graph) {
  const auto pads = [](const Node& n) { return !n.input && n.op == OpId::k_pad; };
  const auto count = std::count_if(graph->nodes.begin(), graph->nodes.end(), pads);
  if (count < tuned::kMinRolledSteps || HasLoops(*graph)) return;
  *graph = Writer(*graph).Run();
  Dce(graph);  // the pads
}

}  // namespace frazil::jit
