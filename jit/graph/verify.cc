#include "core/str.h"
#include "jit/graph/graph.h"

namespace frazil::jit {
namespace {

template <typename... Args>
Status Bad(int32_t id, const Args&... args) {
  return ValueError("[graph] node %", id, ": ", args..., ".");
}

// Inference takes attributes as its callers build them; what comes from a file is checked here
// first.
Status VerifyAttrs(const Graph& graph, int32_t id, const OpInfo& info) {
  const Node& node = graph.nodes[id];
  const Attrs& attrs = node.attrs;
  const int rank = node.operands.empty() ? 0 : graph.nodes[node.operands[0]].layout->rank;
  const auto count = [&](size_t want) {
    if (attrs.size() == want) return absl::OkStatus();
    return Bad(id, info.name, " has ", want, " attributes, not ", attrs.size());
  };
  const auto below = [&](int64_t value, int64_t limit, std::string_view what) {
    if (value >= 0 && value < limit) return absl::OkStatus();
    return Bad(id, what, " ", value, " is not in [0, ", limit, ")");
  };
  switch (info.klass) {
    case OpClass::kElementwise:
    case OpClass::kMatmul:
      return count(0);
    case OpClass::kCast:
      FZ_RETURN_IF_ERROR(count(1));
      return below(attrs[0], kNumDTypes, "dtype");
    case OpClass::kReduce:
      FZ_RETURN_IF_ERROR(count(2));
      return below(attrs[0], int64_t{1} << rank, "axis mask");
    case OpClass::kConcat:
    case OpClass::kTake:
      FZ_RETURN_IF_ERROR(count(1));
      return below(attrs[0], rank, "axis");
    case OpClass::kPut:
      FZ_RETURN_IF_ERROR(count(2));
      return below(attrs[0], rank, "axis");
    case OpClass::kTransfer:
      FZ_RETURN_IF_ERROR(count(2));
      return below(attrs[0], 256, "device");
    case OpClass::kPad:
      return count(2 * rank);
    case OpClass::kIota:
      FZ_RETURN_IF_ERROR(count(2));
      FZ_RETURN_IF_ERROR(below(attrs[0], kNumDTypes, "dtype"));
      return CheckDims(info.name, {&attrs[1], 1}, 8);
    case OpClass::kView:
      return node.op == OpId::k_slice ? count(3 * rank) : absl::OkStatus();
    case OpClass::kRandomBits:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

Status VerifyInput(int32_t id, const Node& node) {
  if (node.view || !node.operands.empty() || !node.attrs.empty())
    return Bad(id, "an input has neither operands nor attributes");
  if (node.layout == nullptr) return Bad(id, "an input has no layout");
  if (node.immediate && node.layout->rank != 0) {
    return Bad(id, "a scalar has rank 0, not shape ", ToString(node.layout->dims()));
  }
  return absl::OkStatus();
}

Status VerifyOp(const Graph& graph, int32_t id) {
  const Node& node = graph.nodes[id];
  const OpInfo& info = Info(node.op);
  if (node.immediate) return Bad(id, info.name, " is an op and cannot be a scalar input");
  if (info.arity >= 0 && node.operands.size() != static_cast<size_t>(info.arity)) {
    return Bad(id, info.name, " takes ", info.arity, " operands, it has ", node.operands.size());
  }
  for (const int32_t operand : node.operands) {
    if (operand < 0 || operand >= id)
      return Bad(id, "operand %", operand, " is not an earlier node");
  }
  FZ_RETURN_IF_ERROR(VerifyAttrs(graph, id, info));
  const auto want = InferNode(graph, node.op, node.operands, node.attrs);
  if (!want.ok()) return Bad(id, "inference refuses it: ", want.status().message());
  if (node.op == OpId::k_reshape && !want->view)
    return Bad(id, "this reshape must copy, which is a node of its own");
  if (node.dtype != want->dtype) {
    return Bad(id, "dtype is ", ShortName(node.dtype), ", inference says ", ShortName(want->dtype));
  }
  if (!(node.device == want->device)) {
    return Bad(id, "device is ", Name(node.device), ", inference says ", Name(want->device));
  }
  if (node.layout != want->layout) {
    return Bad(id, "layout is ", ToString(node.layout->dims()), " strides ",
               ToString(node.layout->strides()), ", inference says ",
               ToString(want->layout->dims()), " strides ", ToString(want->layout->strides()));
  }
  if (node.view != want->view || node.offset != want->offset) {
    return Bad(id, node.view ? "view" : "no view", " at offset ", node.offset, ", inference says ",
               want->view ? "view" : "no view", " at offset ", want->offset);
  }
  return absl::OkStatus();
}

}  // namespace

Status Verify(const Graph& graph) {
  const int32_t count = static_cast<int32_t>(graph.nodes.size());
  if (graph.num_inputs < 0 || graph.num_inputs > count) {
    return ValueError("[graph] ", graph.num_inputs, " inputs among ", count, " nodes.");
  }
  for (int32_t id = 0; id < count; ++id) {
    const Node& node = graph.nodes[id];
    if (node.input != (id < graph.num_inputs)) {
      return Bad(id, "inputs are the first nodes: there are ", graph.num_inputs);
    }
    FZ_RETURN_IF_ERROR(node.input ? VerifyInput(id, node) : VerifyOp(graph, id));
    if (node.origin < -1 || node.origin >= static_cast<int32_t>(graph.origins.size())) {
      return Bad(id, "origin ", node.origin, " is not one of ", graph.origins.size());
    }
  }
  for (const int32_t output : graph.outputs) {
    if (output < 0 || output >= count)
      return ValueError("[graph] output %", output, " is none of ", count, " nodes.");
  }
  return absl::OkStatus();
}

}  // namespace frazil::jit
