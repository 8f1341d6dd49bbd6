#include "jit/graph/graph.h"

#include "absl/algorithm/container.h"
#include "core/check.h"

namespace frazil::jit {
namespace {

template <typename T>
void Put(std::string* key, T word) {
  key->append(reinterpret_cast<const char*>(&word), sizeof(word));
}

}  // namespace

int32_t Graph::AddInput(DType dtype, Device device, const Layout* layout, bool immediate) {
  FZ_CHECK(num_inputs == static_cast<int>(nodes.size()));
  Node& node = nodes.emplace_back();
  node.input = true;
  node.immediate = immediate;
  node.dtype = dtype;
  node.device = device;
  node.layout = layout;
  return num_inputs++;
}

StatusOr<int32_t> Graph::AddOp(OpId op, absl::Span<const int32_t> operands, AttrSpan attrs,
                               int32_t origin) {
  if (op == OpId::k_copy && IsComplex(nodes[operands[0]].dtype)) {
    const int32_t from = operands[0];
    FZ_ASSIGN_OR_RETURN(const int32_t re, AddOp(OpId::k_real, {from}, {}, origin));
    FZ_ASSIGN_OR_RETURN(const int32_t im, AddOp(OpId::k_imag, {from}, {}, origin));
    return AddOp(OpId::k_complex, {re, im}, {}, origin);
  }
  FZ_ASSIGN_OR_RETURN(const Inferred inferred, InferNode(*this, op, operands, attrs));
  if (op == OpId::k_reshape && !inferred.view) {
    // No strides describe the result: the elements are laid out densely first, then seen in the new
    // shape.
    FZ_ASSIGN_OR_RETURN(const int32_t dense, AddOp(OpId::k_copy, operands, {}, origin));
    return AddOp(op, {dense}, attrs, origin);
  }
  // The arguments may lie in a node of this graph, which moves when the list grows.
  const Attrs own_attrs(attrs.begin(), attrs.end());
  const absl::InlinedVector<int32_t, 3> own_operands(operands.begin(), operands.end());
  Node& node = nodes.emplace_back();
  node.op = op;
  node.attrs = own_attrs;
  node.operands = own_operands;
  node.dtype = inferred.dtype;
  node.device = inferred.device;
  node.layout = inferred.layout;
  node.offset = inferred.offset;
  node.view = inferred.view;
  node.origin = origin;
  return static_cast<int32_t>(nodes.size()) - 1;
}

StatusOr<Inferred> InferNode(const Graph& graph, OpId op, absl::Span<const int32_t> operands,
                             AttrSpan attrs) {
  absl::InlinedVector<Operand, 4> metadata;
  for (const int32_t id : operands) {
    const Node& node = graph.nodes[id];
    metadata.push_back({node.dtype, node.device, node.layout});
  }
  return Infer(op, metadata, attrs);
}

std::string_view NameOf(const Node& node) {
  constexpr std::string_view kRoles[] = {"", "loop", "end", "every"};
  return node.role == Role::kOp ? Info(node.op).name : kRoles[static_cast<int>(node.role)];
}

bool HasLoops(const Graph& graph) {
  return absl::c_any_of(graph.nodes, [](const Node& node) { return static_cast<bool>(node.loop); });
}

int32_t EndOfLoop(const Graph& graph, int32_t id) {
  const auto count = static_cast<int32_t>(graph.nodes.size());
  for (++id; id < count && IsResult(graph.nodes[id]);) ++id;
  return id;
}

int32_t BaseOf(const Graph& graph, int32_t id) {
  while (graph.nodes[id].view) id = graph.nodes[id].operands[0];
  return id;
}

int64_t OffsetInBase(const Graph& graph, int32_t id) {
  int64_t bytes = 0;
  for (; graph.nodes[id].view; id = graph.nodes[id].operands[0])
    bytes += graph.nodes[id].offset * SizeOf(graph.nodes[id].dtype);
  return bytes;
}

int64_t ElementsInBase(const Graph& graph, int32_t id) {
  return OffsetInBase(graph, id) / SizeOf(graph.nodes[id].dtype);
}

void DropOrigins(Graph* graph) {
  std::vector<int32_t> now(graph->origins.size(), -1);
  std::vector<std::string> kept;
  for (Node& node : graph->nodes) {
    if (node.origin < 0) continue;
    int32_t& to = now[node.origin];
    if (to < 0) {
      to = static_cast<int32_t>(kept.size());
      kept.push_back(std::move(graph->origins[node.origin]));
    }
    node.origin = to;
  }
  graph->origins = std::move(kept);
}

bool operator==(const LoopRef& a, const LoopRef& b) {
  if (!a || !b) return !a && !b;
  return a->times == b->times && a->scalars == b->scalars && a->condition == b->condition &&
         a->sources == b->sources && a->body.origins == b->body.origins &&
         ContentKey(a->body) == ContentKey(b->body);
}

std::string ContentKey(const Graph& graph) {
  std::string key;
  key.reserve(16 + graph.nodes.size() * 40);
  Put(&key, static_cast<uint32_t>(graph.nodes.size()));
  Put(&key, static_cast<uint32_t>(graph.num_inputs));
  for (const Node& node : graph.nodes) {
    Put(&key,
        static_cast<uint8_t>(node.input | node.immediate << 1 | node.view << 2 | node.zero << 3));
    Put(&key, static_cast<uint8_t>(node.op));
    Put(&key, static_cast<uint8_t>(node.dtype));
    Put(&key, node.device.word);
    Put(&key, node.layout->id);
    Put(&key, node.offset);
    Put(&key, static_cast<uint16_t>(node.attrs.size()));
    for (const int64_t attr : node.attrs) Put(&key, attr);
    Put(&key, static_cast<uint16_t>(node.operands.size()));
    for (const int32_t operand : node.operands) Put(&key, operand);
    Put(&key, node.role);
    if (!node.loop) continue;
    Put(&key, node.loop->times);
    Put(&key, node.loop->scalars);
    Put(&key, node.loop->condition);
    Put(&key, static_cast<uint32_t>(node.loop->sources.size()));
    for (const Loop::Source& s : node.loop->sources) {
      for (const int64_t word : {int64_t{static_cast<int>(s.kind)}, int64_t{s.operand}, s.start,
                                 s.step, int64_t{s.next}})
        Put(&key, word);
    }
    key += ContentKey(node.loop->body);
  }
  for (const int32_t output : graph.outputs) Put(&key, output);
  return key;
}

}  // namespace frazil::jit
