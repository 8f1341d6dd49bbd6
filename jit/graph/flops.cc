#include "jit/graph/flops.h"

#include <algorithm>
#include <cmath>

namespace frazil::jit {
namespace {

double Size(const Node& node) { return double(node.layout->size); }

double LastOf(const Node& node) {
  return node.layout->rank > 0 ? double(std::max<int64_t>(1, node.layout->dim(-1))) : 1;
}

// A transform of n complex numbers is counted as 5 n log2 n, of real ones as half of that.
double Fourier(const Node& from, const Node& to) {
  const double size = std::max(Size(from), Size(to));
  const double points = std::max({LastOf(from), LastOf(to), 2.0});
  return (IsComplex(from.dtype) && IsComplex(to.dtype) ? 5 : 2.5) * size * std::log2(points);
}

}  // namespace

double FlopsOf(const Graph& graph, int32_t id) {
  const Node& node = graph.nodes[id];
  if (node.input || node.view || node.role != Role::kOp || node.operands.empty()) return 0;
  const auto operand = [&](size_t i) -> const Node& { return graph.nodes[node.operands[i]]; };
  const Node& first = operand(0);
  if (!IsInexact(node.dtype) && !IsInexact(first.dtype)) return 0;
  switch (Info(node.op).klass) {
    case OpClass::kElementwise:
      return node.op == OpId::k_copy ? 0 : Size(node);
    case OpClass::kReduce:
      return Size(first);
    case OpClass::kScan:
      return Size(node);
    case OpClass::kMatmul:
      return 2 * Size(node) * LastOf(first);
    case OpClass::kConv:
      return 2 * Size(node) * Size(operand(1)) / LastOf(operand(1));
    case OpClass::kConvWeights:
      return 2 * Size(operand(1)) * Size(node) / LastOf(node);
    case OpClass::kAttention:
      return 2 * Size(first) / LastOf(first) * double(operand(1).layout->dim(-2)) *
             (LastOf(first) + LastOf(operand(2))) / (node.attrs[0] ? 2 : 1);
    case OpClass::kAttentionGrad:
      return 2 * Size(first) / LastOf(first) * double(operand(1).layout->dim(-2)) *
             (3 * LastOf(first) + 2 * LastOf(operand(2))) / (node.attrs[0] ? 2 : 1);
    case OpClass::kFourier:
      return Fourier(first, node);
    case OpClass::kSparse:
      return 2 * Size(first) * (operand(2).layout->rank > 1 ? LastOf(operand(2)) : 1);
    default:
      return 0;
  }
}

}  // namespace frazil::jit
