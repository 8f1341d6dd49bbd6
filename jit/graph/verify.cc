#include <algorithm>
#include <cstdlib>

#include "core/collective.h"
#include "core/matrix_parts.h"
#include "core/str.h"
#include "jit/graph/each_channel.h"
#include "jit/graph/graph.h"
#include "jit/graph/scalar_loop.h"

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
    case OpClass::kComplex:
    case OpClass::kMatmul:
      return count(0);
    case OpClass::kCast:
      FZ_RETURN_IF_ERROR(count(1));
      return below(attrs[0], kNumRealDTypes, "dtype");
    case OpClass::kReduce:
      FZ_RETURN_IF_ERROR(count(2));
      return below(attrs[0], int64_t{1} << rank, "axis mask");
    case OpClass::kConcat:
    case OpClass::kTake:
      FZ_RETURN_IF_ERROR(count(1));
      return below(attrs[0], rank, "axis");
    case OpClass::kPut:
      FZ_RETURN_IF_ERROR(count(3));
      FZ_RETURN_IF_ERROR(below(attrs[0], rank, "axis"));
      return below(attrs[2] - 1, rank - attrs[0], "number of axes less one");
    case OpClass::kPositions:
      FZ_RETURN_IF_ERROR(count(2));
      FZ_RETURN_IF_ERROR(below(attrs[0], graph.nodes[node.operands[0]].layout->size + 1, "count"));
      return below(attrs[1], 2, "split");
    case OpClass::kSort:
      FZ_RETURN_IF_ERROR(count(1));
      return below(attrs[0],
                   2 + (rank ? graph.nodes[node.operands[0]].layout->extents[rank - 1] : 1),
                   "order");
    case OpClass::kScan:
      FZ_RETURN_IF_ERROR(count(1));
      return below(attrs[0], rank, "axis");
    case OpClass::kFourier:
      FZ_RETURN_IF_ERROR(count(kFourierAttrs));
      FZ_RETURN_IF_ERROR(below(attrs[kFourierAxes], int64_t{1} << rank, "axis mask"));
      FZ_RETURN_IF_ERROR(below(attrs[kFourierForward], 2, "forward"));
      return below(attrs[kFourierNorm], kFourierNorms, "norm");
    case OpClass::kSparse:
      FZ_RETURN_IF_ERROR(count(kSparseAttrs));
      FZ_RETURN_IF_ERROR(below(attrs[kSparsePairs], 2, "pairs"));
      return below(attrs[kSparseTransposed], node.op == OpId::k_sparse_sample ? 1 : 2,
                   "transposed");
    case OpClass::kCollective:
      FZ_RETURN_IF_ERROR(count(kCollectiveAttrs));
      FZ_RETURN_IF_ERROR(
          below(attrs[kCollectiveKind], static_cast<int64_t>(Collective::kCollectives), "kind"));
      FZ_RETURN_IF_ERROR(below(attrs[kCollectiveReduction],
                               static_cast<int64_t>(Reduction::kReductions), "reduction"));
      return below(attrs[kCollectivePeer], attrs[kCollectiveRanks], "peer");
    case OpClass::kCollectiveWait:
      return count(0);
    case OpClass::kAttention:
    case OpClass::kAttentionGrad:
      FZ_RETURN_IF_ERROR(count(1));
      return below(attrs[0], 2, "causal");
    case OpClass::kLapack:
      FZ_RETURN_IF_ERROR(count(1));
      return below(attrs[0], kMostLapackOption + 1, "option");
    case OpClass::kTransfer:
      FZ_RETURN_IF_ERROR(count(2));
      return below(attrs[0], 256, "device");
    case OpClass::kConv:
      if (IsEachChannel(node)) return below(attrs[kConvAttrs] - 1, 1, "kind");
      return count(kConvAttrs);
    case OpClass::kConvWeights:
      return count(kConvAttrs + 2);
    case OpClass::kPad:
      return count(2 * rank);
    case OpClass::kIota:
      FZ_RETURN_IF_ERROR(count(2));
      FZ_RETURN_IF_ERROR(below(attrs[0], kNumRealDTypes, "dtype"));
      return CheckDims(info.name, {&attrs[1], 1}, 8);
    case OpClass::kView:
      return node.op == OpId::k_slice ? count(3 * rank) : absl::OkStatus();
    case OpClass::kRandomBits:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

Status VerifyInput(int32_t id, const Node& node) {
  if (node.view || !node.operands.empty() || !node.attrs.empty() || node.role != Role::kOp)
    return Bad(id, "an input has neither operands nor attributes");
  if (node.layout == nullptr) return Bad(id, "an input has no layout");
  if (node.zero && !node.immediate) return Bad(id, "only a scalar is known to be zero");
  if (node.immediate && node.layout->rank != 0) {
    return Bad(id, "a scalar has rank 0, not shape ", ToString(node.layout->dims()));
  }
  return absl::OkStatus();
}

bool SameType(const Node& a, const Node& b) {
  return a.dtype == b.dtype && a.device == b.device && a.layout->dims() == b.layout->dims();
}

// What iterations take from an operand lies in its memory.
bool Slides(const Loop& loop, const Loop::Source& source, const Node& operand, const Node& input) {
  if (input.layout->size == 0) return true;
  int64_t first = source.start, last = source.start, way;
  if (__builtin_mul_overflow(loop.times - 1, source.step, &way) || first < 0 ||
      first >= operand.layout->size || std::abs(way) >= operand.layout->size)
    return false;
  (way < 0 ? first : last) += way;
  const Reach reach = ReachOf(*input.layout);
  first += reach.low;
  last += reach.high - 1;
  return operand.layout->dense && operand.dtype == input.dtype && operand.device == input.device &&
         first >= 0 && last < operand.layout->size;
}

Status VerifySource(const Graph& graph, int32_t id, int32_t number) {
  const Node& node = graph.nodes[id];
  const Loop& loop = *node.loop;
  const Loop::Source& source = loop.sources[number];
  const Node& input = loop.body.nodes[number];
  const auto operand = [&](int64_t i) -> const Node& {
    return graph.nodes[node.operands[source.operand + i]];
  };
  using Kind = Loop::Source::Kind;
  if (source.kind == Kind::kSlide) {
    if (input.immediate || !Slides(loop, source, operand(0), input))
      return Bad(id, "the window for input ", number, " leaves its operand");
    return absl::OkStatus();
  }
  for (int64_t i = 0; i < (source.kind == Kind::kEach ? loop.times : 1); ++i) {
    const Node& from = operand(i);
    if (from.layout != input.layout || from.dtype != input.dtype ||
        !(from.device == input.device) || from.immediate != input.immediate)
      return Bad(id, "input ", number, " of the body is of another type than its operand");
  }
  if (source.kind != Kind::kState) return absl::OkStatus();
  const std::vector<int32_t>& outputs = loop.body.outputs;
  if (source.next < 0 || source.next >= static_cast<int32_t>(outputs.size()))
    return Bad(id, "state ", number, " becomes none of ", outputs.size(), " outputs");
  if (!SameType(loop.body.nodes[outputs[source.next]], input) || !input.layout->dense ||
      input.immediate)
    return Bad(id, "state ", number, " and what it becomes are dense values of one type");
  return absl::OkStatus();
}

Status VerifyResult(const Graph& graph, int32_t id) {
  const Node& node = graph.nodes[id];
  if (node.operands.size() != 1 || !graph.nodes[node.operands[0]].loop ||
      EndOfLoop(graph, node.operands[0]) <= id)
    return Bad(id, NameOf(node), " stands behind the loop that it is a result of");
  const Loop& loop = *graph.nodes[node.operands[0]].loop;
  const Graph& body = loop.body;
  if (node.attrs.size() != 1 || node.attrs[0] < 0 ||
      node.attrs[0] >= static_cast<int64_t>(body.outputs.size()))
    return Bad(id, NameOf(node), " is one of ", body.outputs.size(), " outputs");
  for (int32_t other = node.operands[0] + 1; other < id; ++other) {
    if (graph.nodes[other].attrs == node.attrs)
      return Bad(id, "output ", node.attrs[0], " is a result already, %", other);
  }
  const Node& output = body.nodes[body.outputs[node.attrs[0]]];
  Attrs dims(output.layout->dims().begin(), output.layout->dims().end());
  if (node.role == Role::kEvery) dims.insert(dims.begin(), loop.times);
  if (node.dtype != output.dtype || !(node.device == output.device) || node.view ||
      node.layout != Dense(dims))
    return Bad(id, NameOf(node), " is of another type than the body's output");
  return absl::OkStatus();
}

Status VerifyCondition(const Graph& graph, int32_t id) {
  const Loop& loop = *graph.nodes[id].loop;
  const std::vector<int32_t>& outputs = loop.body.outputs;
  if (loop.condition >= static_cast<int32_t>(outputs.size()))
    return Bad(id, "the condition is none of ", outputs.size(), " outputs");
  const Node& condition = loop.body.nodes[outputs[loop.condition]];
  if (!IsBool(condition.dtype) || condition.layout->size != 1)
    return Bad(id, "the condition is no single bool");
  for (const Loop::Source& s : loop.sources) {
    if (s.kind == Loop::Source::Kind::kEach || s.kind == Loop::Source::Kind::kSlide)
      return Bad(id, "a source moves with the iterations, whose number is not known");
  }
  for (int32_t r = id + 1; r < EndOfLoop(graph, id); ++r) {
    if (graph.nodes[r].role != Role::kEnd)
      return Bad(id, "a result is one of every iteration, whose number is not known");
  }
  return absl::OkStatus();
}

// The shape of a loop: graph.h.
Status VerifyLoop(const Graph& graph, int32_t id) {
  const Node& node = graph.nodes[id];
  const Loop& loop = *node.loop;
  const Graph& body = loop.body;
  if (loop.times < 1) return Bad(id, "a loop of ", loop.times, " iterations");
  if (node.view || node.layout != Dense({0})) return Bad(id, "a loop has no value, but results");
  if (static_cast<int>(loop.sources.size()) != body.num_inputs)
    return Bad(id, loop.sources.size(), " sources for ", body.num_inputs, " inputs");
  FZ_RETURN_IF_ERROR(Verify(body));
  int64_t operands = 0;
  for (const Loop::Source& s : loop.sources) {
    if (s.operand != operands) return Bad(id, "the operands are not in the order of the sources");
    operands += s.kind == Loop::Source::Kind::kEach ? loop.times : 1;
    if (operands > static_cast<int64_t>(node.operands.size())) break;
  }
  if (operands != static_cast<int64_t>(node.operands.size()))
    return Bad(id, "the body takes ", operands, " operands, there are ", node.operands.size());
  for (int32_t i = 0; i < body.num_inputs; ++i) FZ_RETURN_IF_ERROR(VerifySource(graph, id, i));
  for (const int32_t output : body.outputs) {
    if (body.nodes[output].input || body.nodes[output].view ||
        std::count(body.outputs.begin(), body.outputs.end(), output) > 1)
      return Bad(id, "output %", output, " of the body is no value of its own");
  }
  if (loop.condition >= 0) FZ_RETURN_IF_ERROR(VerifyCondition(graph, id));
  if (loop.scalars && !MayBeScalars(graph, id))
    return Bad(id, "the loop cannot be written out as scalars");
  return absl::OkStatus();
}

// What inference says. The right factor of a product of float32 may be stored in 16 bits (pass
// "halves").
// What a convolution of one channel says, with as many outputs as there are channels.
StatusOr<Inferred> InferEachChannel(const Node& node, absl::InlinedVector<Operand, 4> operands) {
  const Layout *image = operands[0].layout, *kernel = operands[1].layout;
  const bool fits = image->rank == 4 && kernel->rank == 4 && kernel->extents[2] == 1 &&
                    kernel->extents[3] == image->extents[3] && IsFloat(node.dtype) &&
                    !IsHalf(node.dtype) && node.device == Device();
  const bool fills =
      operands.size() < 3 || (operands[2].layout->rank == 0 && operands[2].dtype == node.dtype);
  if (!fits || !fills) return ValueError("no convolution of each channel by itself.");
  operands.resize(2);
  operands[0].layout = Dense({image->extents[0], image->extents[1], image->extents[2], 1});
  return Infer(node.op, operands, AttrSpan(node.attrs).first(kConvAttrs));
}

StatusOr<Inferred> InferWritten(const Graph& graph, const Node& node) {
  absl::InlinedVector<Operand, 4> operands;
  for (const int32_t x : node.operands) {
    const Node& of = graph.nodes[x];
    operands.push_back({of.dtype, of.device, of.layout});
  }
  if (node.op == OpId::k_matmul && node.dtype == DType::kF32 && node.device == Device() &&
      operands.size() == 2 && operands[0].dtype == DType::kF32 &&
      (operands[1].dtype == DType::kF16 || operands[1].dtype == DType::kBF16))
    operands[1].dtype = DType::kF32;
  if (IsEachChannel(node)) return InferEachChannel(node, std::move(operands));
  return Infer(node.op, operands, node.attrs);
}

Status VerifyOp(const Graph& graph, int32_t id) {
  const Node& node = graph.nodes[id];
  const OpInfo& info = Info(node.op);
  if (node.immediate) return Bad(id, info.name, " is an op and cannot be a scalar input");
  for (const int32_t operand : node.operands) {
    if (operand < 0 || operand >= id)
      return Bad(id, "operand %", operand, " is not an earlier node");
    if (graph.nodes[operand].loop && !IsResult(node))
      return Bad(id, "operand %", operand, " is a loop, which only its results read");
  }
  if (static_cast<bool>(node.loop) != (node.role == Role::kLoop))
    return Bad(id, NameOf(node), node.loop ? " has" : " needs", " a body");
  if (node.role != Role::kOp)
    return node.role == Role::kLoop ? VerifyLoop(graph, id) : VerifyResult(graph, id);
  const bool filled = IsEachChannel(node) && node.operands.size() == 3;
  if (info.arity >= 0 && node.operands.size() != static_cast<size_t>(info.arity) && !filled) {
    return Bad(id, info.name, " takes ", info.arity, " operands, it has ", node.operands.size());
  }
  FZ_RETURN_IF_ERROR(VerifyAttrs(graph, id, info));
  const auto want = InferWritten(graph, node);
  if (!want.ok()) return Bad(id, "inference refuses it: ", want.status().message());
  if (node.op == OpId::k_reshape && !want->view)
    return Bad(id, "this reshape must copy, which is a node of its own");
  // Sums of int8 may be of 32 bits (pass "wide").
  const bool sums = node.op == OpId::k_matmul || node.op == OpId::k_conv2d;
  const bool wide =
      sums && want->dtype == DType::kI8 && node.dtype == DType::kI32 && node.device == Device();
  if (node.dtype != want->dtype && !wide) {
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
    if (graph.nodes[output].role == Role::kLoop)
      return ValueError("[graph] output %", output, " is a loop, which has results of its own.");
  }
  return absl::OkStatus();
}

}  // namespace frazil::jit
