#include "jit/graph/passes/loop_slices.h"

#include <map>
#include <set>
#include <utility>

#include "core/tuned.h"
#include "jit/graph/passes/must.h"

namespace frazil::jit {
namespace {

// The value of all iterations that a node is iteration `*t` of, dense and whole, or -1.
int32_t EveryOf(const Graph& graph, int32_t id, int64_t* t) {
  const Node& node = graph.nodes[id];
  const int32_t base = BaseOf(graph, id);
  const Node& every = graph.nodes[base];
  if (every.role != Role::kEvery || !node.layout->dense || every.dtype != node.dtype) return -1;
  const int64_t size = node.layout->size;
  if (size == 0 || every.layout->size != size * every.layout->extents[0]) return -1;
  const int64_t at = ElementsInBase(graph, id);
  if (at % size != 0) return -1;
  *t = at / size;
  return base;
}

// Iterations t, t + step, ... of `every`, each of shape `dims`, one behind the other along `axis`.
// A view, of a copy if they go backwards, or -1 where no strides describe it.
int32_t Range(int32_t every, int64_t t, int64_t step, int64_t count, absl::Span<const int64_t> dims,
              int64_t axis, int32_t origin, Graph* graph) {
  Attrs part = {t, step, count};
  const Layout* layout = graph->nodes[every].layout;
  for (int i = 1; i < layout->rank; ++i)
    part.insert(part.end(), {0, 1, static_cast<int64_t>(layout->extents[i])});
  const auto add = [&](OpId op, int32_t x, const Attrs& attrs) {
    return Must(graph->AddOp(op, {x}, attrs, origin));
  };
  const bool whole = t == 0 && step == 1 && count == layout->extents[0];
  const int32_t slices = whole ? every : add(OpId::k_slice, every, part);
  Attrs shape(dims.begin(), dims.end());
  int64_t before = 1;
  for (int64_t i = 0; i < axis; ++i) before *= dims[i];
  shape[axis] *= count;
  if (before == 1) return add(OpId::k_reshape, slices, shape);
  if (dims[axis] != 1 || dims.size() == kMaxRank) return -1;
  Attrs split = {count}, order, one(dims.begin(), dims.end());
  split.insert(split.end(), dims.begin(), dims.end());
  split.erase(split.begin() + 1 + axis);
  for (int64_t i = 0; i < static_cast<int64_t>(dims.size()); ++i)
    order.push_back(i < axis ? i + 1 : i == axis ? 0 : i);
  return add(OpId::k_permute_dims, add(OpId::k_reshape, slices, split), order);
}

}  // namespace

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
  std::vector<int32_t> now(count, -1), together;
  const auto add = [&](auto& self, int32_t id) -> void {
    Node node = graph.nodes[id];
    for (int32_t& x : node.operands) x = now[x];
    now[id] = static_cast<int32_t>(out.nodes.size());
    out.nodes.push_back(std::move(node));
    together.push_back(id);
    // Inputs, and a loop and its results, stand together.
    if (id + 1 < graph.num_inputs || (id + 1 < count && IsResult(graph.nodes[id + 1]))) return;
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

int32_t ConcatSlices(const Node& node, Graph* graph) {
  absl::InlinedVector<int32_t, 3> operands;
  for (size_t i = 0; i < node.operands.size();) {
    int64_t first = 0, t = 0;
    const int32_t every = EveryOf(*graph, node.operands[i], &first);
    const auto dims = graph->nodes[node.operands[i]].layout->dims();
    size_t end = i + 1;
    int64_t step = 1;
    for (; every >= 0 && end < node.operands.size(); ++end) {
      if (EveryOf(*graph, node.operands[end], &t) != every ||
          graph->nodes[node.operands[end]].layout->dims() != dims)
        break;
      if (end == i + 1 && t == first - 1) step = -1;
      if (t != first + step * static_cast<int64_t>(end - i)) break;
    }
    int32_t range = -1;
    if (end - i >= tuned::kMinConcatSlices) {
      range = Range(every, first, step, static_cast<int64_t>(end - i), dims, node.attrs[0],
                    node.origin, graph);
    }
    if (range >= 0) {
      operands.push_back(range);
    } else {
      operands.insert(operands.end(), node.operands.begin() + i, node.operands.begin() + end);
    }
    i = end;
  }
  if (operands.size() > 1 || node.operands.size() == 1)
    return Must(graph->AddOp(OpId::k_concat, operands, node.attrs, node.origin));
  if (graph->nodes[operands[0]].layout->dense) return operands[0];
  return Must(graph->AddOp(OpId::k_copy, operands, {}, node.origin));
}

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

}  // namespace frazil::jit
