#include "jit/graph/scalar_loop.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/algorithm/container.h"
#include "core/cost.h"
#include "core/tuned.h"
#include "jit/graph/space.h"

namespace frazil::jit {
namespace {

using Kind = Loop::Source::Kind;

bool IsWide(DType dtype) { return SizeOf(dtype) >= 4; }

// Whether elements of the result are made of elements of the operands by jit/lower/scalar_loop.cc.
bool IsKnown(const Node& node) {
  if (node.role != Role::kOp || !(node.device == Device()) || IsComplex(node.dtype)) return false;
  switch (Info(node.op).klass) {
    case OpClass::kView:
      return node.op == OpId::k_reshape || node.op == OpId::k_broadcast_to ||
             node.op == OpId::k_permute_dims || node.op == OpId::k_slice;
    case OpClass::kElementwise:
    case OpClass::kCast:
    case OpClass::kReduce:
    case OpClass::kConcat:
    case OpClass::kPad:
    case OpClass::kIota:
      return true;
    case OpClass::kScan:
    case OpClass::kMatmul:
      return IsWide(node.dtype);
    default:
      return false;
  }
}

// Nanoseconds, and instructions, of the elements that a node computes.
struct Work {
  double time = 0, instructions = 0;
  double vectors = 0;  // 0: one instance, else vectors of 64 bytes of 32-bit elements

  void Add(double elements, DType dtype, double slots, double each) {
    instructions += elements * each;
    if (vectors > 0) {
      const double wide = SizeOf(dtype) == 8 ? 2 : 1;
      time += cost::Points(elements * vectors * wide, slots);
    } else {
      // What a vector shares one divider for takes a scalar a part of the time.
      time += cost::Points(elements, std::min(slots, each + tuned::kScalarDivision));
    }
  }
};

// Of a node; `operand` tells what operand k is.
template <typename Fn>
void AddWork(const Node& node, Fn operand, Work* work) {
  const auto size = double(node.layout->size);
  const double slots = cost::Slots(node.op, node.dtype);
  switch (Info(node.op).klass) {
    case OpClass::kView:
    case OpClass::kConcat:
    case OpClass::kPad:
    case OpClass::kIota:
      return;
    case OpClass::kMatmul: {
      const Layout* a = operand(0).layout;
      return work->Add(size * double(a->extents[a->rank - 1]), node.dtype, 1.5, 1);
    }
    case OpClass::kReduce:
      return work->Add(double(operand(0).layout->size), node.dtype, 1,
                       Has(node.op, traits::kIndex) ? 4 : 1);
    case OpClass::kScan:
      return work->Add(size * 4, node.dtype, 1, 1);
    default:
      if (node.op == OpId::k_copy) return;
      return work->Add(size, node.dtype, slots,
                       std::max(1, cost::Instructions(node.op, node.dtype)));
  }
}

bool IsSmall(const Node& node) {
  return node.layout->size > 0 && node.layout->size <= tuned::kMostScalars;
}

Work WorkOf(const Graph& body, int64_t instances) {
  constexpr double kLanes = 16;
  Work work;
  if (instances > 1) work.vectors = std::ceil(double(instances) / kLanes);
  for (const Node& node : absl::MakeSpan(body.nodes).subspan(body.num_inputs))
    AddWork(
        node, [&](int k) -> const Node& { return body.nodes[node.operands[k]]; }, &work);
  return work;
}

// Of an iteration as steps.
double TimeOfSteps(const Graph& body) {
  double time = 0;
  for (const Group& group : Fuse(body).groups) {
    time += tuned::kLoopStep;
    const Node& first = body.nodes[group.nodes[0]];
    if (group.kind == Group::Kind::kLibrary) {
      const Layout* a = body.nodes[first.operands[0]].layout;
      const double depth = first.op == OpId::k_matmul ? double(a->extents[a->rank - 1]) : 1;
      const double products = double(first.layout->size) * depth;
      time += tuned::kSmallCall + cost::Products(products, first.dtype) - double(cost::kCall);
    } else if (group.kind != Group::Kind::kKernel) {
      time += double(cost::kCall);  // a loop within
    } else if (const auto space = Analyse(body, group.nodes, group.outputs)) {
      time += space->compute;
    } else {
      time += tuned::kLoopStep * double(first.operands.size());  // a copy for each part
    }
  }
  return time;
}

// Whether an op keeps instances apart, given its operands.
bool KeepsApart(const Graph& body, const Node& node, int64_t instances) {
  const auto axis = [&](const Layout& layout) { return InstanceAxis(layout, instances); };
  const int own = axis(*node.layout);
  const auto unlike = [&](int32_t x) {  // not along the same axis
    const int other = axis(*body.nodes[x].layout);
    return other >= 0 && other + node.layout->rank - body.nodes[x].layout->rank != own;
  };
  const auto product = [](const Layout& layout, int axes) {
    int64_t n = 1;
    for (int i = 0; i < axes; ++i) n *= layout.extents[i];
    return n;
  };
  const Layout* from = node.operands.empty() ? nullptr : body.nodes[node.operands[0]].layout;
  const int before = from ? axis(*from) : -1;
  switch (Info(node.op).klass) {
    case OpClass::kElementwise:
    case OpClass::kCast:
      return absl::c_none_of(node.operands, unlike);
    case OpClass::kReduce:
      return before < 0 || !(node.attrs[0] >> before & 1);
    case OpClass::kConcat:
    case OpClass::kScan:
      return own != node.attrs[0] && absl::c_none_of(node.operands, [&](int32_t x) {
               return axis(*body.nodes[x].layout) != own;
             });
    case OpClass::kPad:
      return own == before && axis(*body.nodes[node.operands[1]].layout) < 0 &&
             (own < 0 || (node.attrs[2 * own] == 0 && node.attrs[2 * own + 1] == 0));
    case OpClass::kMatmul: {
      const Layout* to = body.nodes[node.operands[1]].layout;
      return before != from->rank - 1 && axis(*to) != to->rank - 2;
    }
    case OpClass::kIota:
      return own < 0;
    default:
      break;
  }
  switch (node.op) {
    case OpId::k_permute_dims:
      return true;
    case OpId::k_broadcast_to:
      return !unlike(node.operands[0]);
    case OpId::k_reshape:
      return (own < 0) == (before < 0) &&
             (own < 0 || product(*node.layout, own) == product(*from, before));
    default:
      return own == before && (own < 0 || node.attrs[3 * own + 1] == 1);
  }
}

Attrs WithOne(absl::Span<const int64_t> dims, int64_t instances) {
  Attrs one(dims.begin(), dims.end());
  std::replace(one.begin(), one.end(), instances, int64_t{1});
  return one;
}

// The body of one instance, if all are independent.
std::optional<Graph> OneOf(const Graph& body, int64_t instances) {
  Graph one;
  std::vector<int32_t> now;
  for (const Node& node : body.nodes) {
    if (absl::c_count(node.layout->dims(), instances) > 1) return std::nullopt;
    if (node.input) {
      const Layout* layout =
          node.immediate ? Scalar0d() : Dense(WithOne(node.layout->dims(), instances));
      now.push_back(one.AddInput(node.dtype, node.device, layout, node.immediate));
      one.nodes.back().zero = node.zero;
      continue;
    }
    if (!IsKnown(node) || !KeepsApart(body, node, instances)) return std::nullopt;
    Attrs attrs = node.attrs;
    const bool shape = node.op == OpId::k_reshape || node.op == OpId::k_broadcast_to;
    if (shape) attrs = WithOne(node.layout->dims(), instances);
    if (const int own = InstanceAxis(*node.layout, instances); node.op == OpId::k_slice && own >= 0)
      attrs[3 * own + 2] = 1;
    absl::InlinedVector<int32_t, 3> operands;
    for (const int32_t x : node.operands) operands.push_back(now[x]);
    const auto id = one.AddOp(node.op, operands, attrs);
    if (!id.ok()) return std::nullopt;
    now.push_back(*id);
  }
  for (const int32_t id : body.outputs) {
    if (InstanceAxis(*body.nodes[id].layout, instances) < 0) return std::nullopt;
    one.outputs.push_back(now[id]);
  }
  return one;
}

bool IsSmallBody(const Graph& body, const Loop& loop) {
  for (size_t i = 0; i < loop.sources.size(); ++i) {
    if (loop.sources[i].kind == Kind::kState && !IsSmall(body.nodes[i])) return false;
  }
  return absl::c_all_of(absl::MakeSpan(body.nodes).subspan(body.num_inputs), MayBeWrittenOut);
}

// The faster of all ways.
std::optional<ScalarBody> Find(const Loop& loop) {
  const Graph& body = loop.body;
  const Layout* largest = nullptr;
  for (size_t i = 0; i < loop.sources.size(); ++i) {
    const Node& input = body.nodes[i];
    if (loop.sources[i].kind == Kind::kEach && !input.immediate) return std::nullopt;
    if (loop.sources[i].kind != Kind::kState) continue;
    if (!largest || input.layout->size > largest->size) largest = input.layout;
  }
  if (!largest && loop.times > 1) return std::nullopt;
  std::optional<ScalarBody> best;
  const auto consider = [&](const Graph& one, int64_t instances) {
    if (!IsSmallBody(one, loop)) return;
    const Work work = WorkOf(one, instances);
    if (work.instructions > tuned::kMostScalarCode || (best && best->time <= work.time)) return;
    best = ScalarBody{one, instances, work.time};
  };
  consider(body, 1);
  if (loop.condition >= 0 || !largest) return best;  // instances end together
  for (const int64_t instances :
       std::set<int64_t>(largest->dims().begin(), largest->dims().end())) {
    if (instances < 2) continue;
    if (const std::optional<Graph> one = OneOf(body, instances)) consider(*one, instances);
  }
  return best;
}

}  // namespace

int InstanceAxis(const Layout& layout, int64_t instances) {
  if (instances < 2) return -1;
  const auto dims = layout.dims();
  const auto at = std::find(dims.begin(), dims.end(), instances);
  return at == dims.end() ? -1 : int(at - dims.begin());
}

bool MayBeScalars(const Graph& graph, int32_t id) {
  return Find(*graph.nodes[id].loop).has_value();
}

ScalarBody ScalarBodyOf(const Graph& graph, int32_t id) { return *Find(*graph.nodes[id].loop); }

bool IsWorthScalars(const Graph& graph, int32_t id) {
  const Loop& loop = *graph.nodes[id].loop;
  const std::optional<ScalarBody> body = Find(loop);
  return body && body->time <= TimeOfSteps(loop.body);
}

bool MayBeWrittenOut(const Node& node) { return IsKnown(node) && IsSmall(node); }

bool MovesElements(absl::Span<const Node> body) {
  return absl::c_all_of(body, IsKnown) &&
         !absl::c_all_of(body, [](const Node& node) { return MayRepeatInKernel(node); });
}

}  // namespace frazil::jit
