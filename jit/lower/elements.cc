#include "jit/lower/elements.h"

#include <algorithm>
#include <iterator>

#include "jit/lower/forward.h"

namespace frazil::jit {
namespace {

using kir::V;

bool IsExact(OpId op, DType dtype) {
  return Has(op, traits::kExact | (IsFloat(dtype) ? traits::kExactFloats : traits::kPlain));
}

// Lane `lane` after the halving that adds lanes `half` apart.
V Tree(kir::ReduceKind kind, const std::vector<V>& values, int lanes, int lane, int half) {
  const int n = int(values.size());
  const auto combine = [&](V a, V b) {
    switch (kind) {
      case kir::ReduceKind::kSum:
        return a + b;
      case kir::ReduceKind::kProd:
        return a * b;
      case kir::ReduceKind::kMax:
        return kir::max(a, b);
      case kir::ReduceKind::kMin:
        return kir::min(a, b);
      case kir::ReduceKind::kAnd:
        return a & b;
      case kir::ReduceKind::kOr:
        break;
    }
    return a | b;
  };
  if (half == lanes) {
    V sum = values[lane];
    for (int j = lane + lanes; j < n; j += lanes) sum = combine(sum, values[j]);
    return sum;
  }
  const V low = Tree(kind, values, lanes, lane, 2 * half);
  return lane + half < n ? combine(low, Tree(kind, values, lanes, lane + half, 2 * half)) : low;
}

// The first element that no other beats; the first NaN beats all.
Pair FirstExtreme(OpId op, const std::vector<V>& values) {
  kir::Builder& b = *values[0].builder;
  V best = values[0], at = b.ConstBits(DType::kI32, 0);
  for (size_t j = 1; j < values.size(); ++j) {
    const V v = values[j];
    V better;
    if (IsFloat(v.type)) {  // not "no better", which is false for a NaN; nothing beats a NaN
      better = ~(op == OpId::k_argmax ? v <= best : v >= best) & (best == best);
    } else {
      better = op == OpId::k_argmax ? v > best : v < best;
    }
    at = select(better, b.ConstBits(DType::kI32, j), at);
    if (j + 1 < values.size()) best = select(better, v, best);
  }
  return {{}, b.Cast(DType::kI64, at)};
}

}  // namespace

DType ComputeType(DType dtype) {
  if (IsHalf(dtype)) return DType::kF32;
  if (IsBool(dtype) || SizeOf(dtype) >= 4) return dtype;
  return IsSigned(dtype) ? DType::kI32 : DType::kU32;
}

V Widen(V v) { return v.builder->Cast(ComputeType(v.type), v); }

Pair RoundTo(DType dtype, V v) {
  if (v.type == dtype) return {v, v};
  return {{}, v.builder->Cast(dtype, v)};
}

Pair Elementwise(const Node& node, absl::Span<V> operands) {
  V v[3];
  for (size_t k = 0; k < std::min(operands.size(), std::size(v)); ++k) {
    v[k] = operands[k];
    const bool logical = Info(node.op).types == TypeSet::kBits || Has(node.op, traits::kSelects);
    if (IsBool(v[k].type) && !logical) v[k] = v[k].builder->Cast(DType::kI32, v[k]);
  }
  const V result = Forward(node.op, v[0], v[1], v[2]);
  if (IsExact(node.op, node.dtype) && result.type == ComputeType(node.dtype)) return {result, {}};
  return RoundTo(node.dtype, result);
}

V Reducible(OpId op, V v) {
  const kir::ReduceKind kind = ReduceKindOf(op);
  const bool logical = kind == kir::ReduceKind::kAnd || kind == kir::ReduceKind::kOr;
  return IsBool(v.type) && !logical ? v.builder->Cast(DType::kI32, v) : v;
}

Pair Reduced(const Node& node, int rank, const std::vector<V>& values) {
  if (Has(node.op, traits::kIndex)) return FirstExtreme(node.op, values);
  const int lanes = rank > 0 && (node.attrs[0] >> (rank - 1) & 1) ? 64 : 8;
  return RoundTo(node.dtype, Tree(ReduceKindOf(node.op), values, lanes, 0, 1));
}

}  // namespace frazil::jit
