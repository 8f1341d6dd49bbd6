#include "jit/graph/scalar_loop.h"

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
  if (node.role != Role::kOp || !(node.device == Device())) return false;
  switch (Info(node.op).klass) {
    case OpClass::kElementwise:
    case OpClass::kCast:
    case OpClass::kReduce:
    case OpClass::kView:
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

  void Add(double elements, double slots, double each) {
    // What a vector shares one divider for takes a scalar a part of the time.
    time += cost::Points(elements, std::min(slots, each + tuned::kScalarDivision));
    instructions += elements * each;
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
      return work->Add(size * double(a->extents[a->rank - 1]), 1.5, 1);
    }
    case OpClass::kReduce:
      return work->Add(double(operand(0).layout->size), 1, Has(node.op, traits::kIndex) ? 4 : 1);
    case OpClass::kScan:
      return work->Add(size * 4, 1, 1);
    default:
      if (node.op == OpId::k_copy) return;
      return work->Add(size, slots, std::max(1, cost::Instructions(node.op, node.dtype)));
  }
}

bool IsSmall(const Node& node) {
  return node.layout->size > 0 && node.layout->size <= tuned::kMostScalars;
}

Work WorkOf(const Graph& body) {
  Work work;
  for (const Node& node : absl::MakeSpan(body.nodes).subspan(body.num_inputs))
    AddWork(node, [&](int k) -> const Node& { return body.nodes[node.operands[k]]; }, &work);
  return work;
}

// Of an iteration as steps.
double TimeOfSteps(const Graph& body) {
  double time = 0;
  for (const Group& group : Fuse(body).groups) {
    time += tuned::kLoopStep;
    const Node& first = body.nodes[group.nodes[0]];
    if (group.kind == Group::Kind::kLibrary) {
      time += tuned::kSmallCall;
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

}  // namespace

bool MayBeScalars(const Graph& graph, int32_t id) {
  const Node& node = graph.nodes[id];
  const Loop& loop = *node.loop;
  const Graph& body = loop.body;
  bool state = false;
  for (size_t i = 0; i < loop.sources.size(); ++i) {
    const Node& input = body.nodes[i];
    if (loop.sources[i].kind == Kind::kEach && !input.immediate) return false;
    if (loop.sources[i].kind != Kind::kState) continue;
    if (!IsSmall(input)) return false;
    state = true;
  }
  const auto computed = absl::MakeSpan(body.nodes).subspan(body.num_inputs);
  return state && absl::c_all_of(computed, [](const Node& n) { return IsKnown(n) && IsSmall(n); }) &&
         WorkOf(body).instructions <= tuned::kMostScalarCode;
}

double TimeOfScalars(const Graph& body) { return WorkOf(body).time; }

bool IsWorthScalars(const Graph& graph, int32_t id) {
  if (!MayBeScalars(graph, id)) return false;
  const Graph& body = graph.nodes[id].loop->body;
  return TimeOfScalars(body) <= TimeOfSteps(body);
}

bool MovesElements(absl::Span<const Node> body) {
  bool moves = false;
  for (const Node& node : body) {
    if (!IsKnown(node) || !IsSmall(node)) return false;
    moves |= !MayRepeatInKernel(node);
  }
  return moves;
}

}  // namespace frazil::jit
