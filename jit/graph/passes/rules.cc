// Rules never look at immediates' values: those are arguments of the plan, not constants.
#include <array>

#include "core/check.h"
#include "jit/graph/passes/passes.h"

namespace frazil::jit {
namespace {

constexpr int32_t kNo = -1;

// Operand i of a node if that is made by `op`, else null.
const Node* Inner(const Graph& graph, const Node& node, OpId op, int i = 0) {
  const Node& inner = graph.nodes[node.operands[i]];
  return !inner.input && inner.op == op ? &inner : nullptr;
}

// Adds an op that inference is known to accept.
int32_t Add(Graph* graph, OpId op, absl::Span<const int32_t> operands, AttrSpan attrs = {}) {
  const auto id = graph->AddOp(op, operands, attrs);
  FZ_CHECK(id.ok());
  return *id;
}

int32_t DropCopy(Graph* graph, int32_t id) {
  const Node& node = graph->nodes[id];
  return node.op == OpId::k_copy ? node.operands[0] : kNo;
}

int32_t CastToSame(Graph* graph, int32_t id) {
  const Node& node = graph->nodes[id];
  return node.op == OpId::k_astype && graph->nodes[node.operands[0]].dtype == node.dtype
             ? node.operands[0]
             : kNo;
}

// Significant bits of integers and floats, sign included.
int Precision(DType t) {
  switch (t) {
    case DType::kF16:
      return 12;
    case DType::kBF16:
      return 9;
    case DType::kF32:
      return 25;
    case DType::kF64:
      return 54;
    case DType::kBool:
      return 1;
    default:
      return BitsOf(t) + (IsUnsigned(t) ? 1 : 0);
  }
}

// Every value of `narrow` is a value of `wide`.
bool Holds(DType wide, DType narrow) {
  if (IsFloat(narrow)) {
    return wide == narrow || wide == DType::kF64 || (wide == DType::kF32 && IsHalf(narrow));
  }
  if (IsBool(narrow)) return true;
  if (IsBool(wide) || IsHalf(wide)) return false;
  if (IsUnsigned(wide) && IsSigned(narrow)) return false;
  return Precision(wide) >= Precision(narrow) ||
         (IsUnsigned(wide) && BitsOf(wide) >= BitsOf(narrow));
}

int32_t CastThereAndBack(Graph* graph, int32_t id) {
  const Node& node = graph->nodes[id];
  if (node.op != OpId::k_astype) return kNo;
  const Node* wide = Inner(*graph, node, OpId::k_astype);
  if (!wide) return kNo;
  const int32_t x = wide->operands[0];
  return graph->nodes[x].dtype == node.dtype && Holds(wide->dtype, node.dtype) ? x : kNo;
}

bool IsInvolution(OpId op) { return op == OpId::k_negative || op == OpId::k_bitwise_invert; }

int32_t Twice(Graph* graph, int32_t id) {
  const Node& node = graph->nodes[id];
  if (!IsInvolution(node.op)) return kNo;
  const Node* inner = Inner(*graph, node, node.op);
  return inner ? inner->operands[0] : kNo;
}

constexpr OpId kIdempotent[] = {OpId::k_abs,  OpId::k_sign,  OpId::k_floor,
                                OpId::k_ceil, OpId::k_trunc, OpId::k_round};

int32_t Again(Graph* graph, int32_t id) {
  const Node& node = graph->nodes[id];
  for (const OpId op : kIdempotent) {
    if (node.op == op) return Inner(*graph, node, op) ? node.operands[0] : kNo;
  }
  return kNo;
}

int32_t AbsOfNegative(Graph* graph, int32_t id) {
  const Node& node = graph->nodes[id];
  if (node.op != OpId::k_abs || IsUnsigned(node.dtype)) return kNo;
  const Node* inner = Inner(*graph, node, OpId::k_negative);
  return inner ? Add(graph, OpId::k_abs, {inner->operands[0]}) : kNo;
}

constexpr OpId kSelecting[] = {OpId::k_maximum, OpId::k_minimum, OpId::k_bitwise_and,
                               OpId::k_bitwise_or};

int32_t SameOperands(Graph* graph, int32_t id) {
  const Node& node = graph->nodes[id];
  if (node.op == OpId::k_where)
    return node.operands[1] == node.operands[2] ? node.operands[1] : kNo;
  for (const OpId op : kSelecting) {
    if (node.op == op) return node.operands[0] == node.operands[1] ? node.operands[0] : kNo;
  }
  return kNo;
}

// x + -y and x - -y: IEEE defines subtraction as the addition of the negated operand; integers
// wrap.
int32_t AddNegative(Graph* graph, int32_t id) {
  const Node& node = graph->nodes[id];
  if (node.op != OpId::k_add && node.op != OpId::k_subtract) return kNo;
  const Node* inner = Inner(*graph, node, OpId::k_negative, 1);
  if (!inner) return kNo;
  return Add(graph, node.op == OpId::k_add ? OpId::k_subtract : OpId::k_add,
             {node.operands[0], inner->operands[0]});
}

// The signs of two factors cancel; wrapping integers form a ring, but their division is none.
int32_t NegativesCancel(Graph* graph, int32_t id) {
  const Node& node = graph->nodes[id];
  if (node.op != OpId::k_multiply && node.op != OpId::k_divide) return kNo;
  const Node* a = Inner(*graph, node, OpId::k_negative, 0);
  const Node* b = Inner(*graph, node, OpId::k_negative, 1);
  return a && b ? Add(graph, node.op, {a->operands[0], b->operands[0]}) : kNo;
}

// Only equality has a complement that NaN respects.
int32_t NotEqual(Graph* graph, int32_t id) {
  const Node& node = graph->nodes[id];
  if (node.op != OpId::k_bitwise_invert) return kNo;
  if (const Node* eq = Inner(*graph, node, OpId::k_equal))
    return Add(graph, OpId::k_not_equal, eq->operands);
  if (const Node* ne = Inner(*graph, node, OpId::k_not_equal))
    return Add(graph, OpId::k_equal, ne->operands);
  return kNo;
}

int32_t WhereNot(Graph* graph, int32_t id) {
  const Node& node = graph->nodes[id];
  if (node.op != OpId::k_where) return kNo;
  const Node* inner = Inner(*graph, node, OpId::k_bitwise_invert);
  if (!inner) return kNo;
  return Add(graph, OpId::k_where, {inner->operands[0], node.operands[2], node.operands[1]});
}

int32_t SameView(Graph* graph, int32_t id) {
  const Node& node = graph->nodes[id];
  return node.view && node.offset == 0 && node.layout == graph->nodes[node.operands[0]].layout
             ? node.operands[0]
             : kNo;
}

int32_t ReshapeTwice(Graph* graph, int32_t id) {
  const Node& node = graph->nodes[id];
  if (node.op != OpId::k_reshape) return kNo;
  const Node* inner = Inner(*graph, node, OpId::k_reshape);
  return inner ? Add(graph, OpId::k_reshape, {inner->operands[0]}, Attrs(node.attrs)) : kNo;
}

int32_t BroadcastTwice(Graph* graph, int32_t id) {
  const Node& node = graph->nodes[id];
  if (node.op != OpId::k_broadcast_to) return kNo;
  const Node* inner = Inner(*graph, node, OpId::k_broadcast_to);
  return inner ? Add(graph, OpId::k_broadcast_to, {inner->operands[0]}, Attrs(node.attrs)) : kNo;
}

int32_t PermuteTwice(Graph* graph, int32_t id) {
  const Node& node = graph->nodes[id];
  if (node.op != OpId::k_permute_dims) return kNo;
  const Node* inner = Inner(*graph, node, OpId::k_permute_dims);
  if (!inner) return kNo;
  Attrs axes;
  for (const int64_t axis : node.attrs) axes.push_back(inner->attrs[axis]);
  return Add(graph, OpId::k_permute_dims, {inner->operands[0]}, axes);
}

int32_t SliceTwice(Graph* graph, int32_t id) {
  const Node& node = graph->nodes[id];
  if (node.op != OpId::k_slice || node.layout->size == 0) return kNo;
  const Node* inner = Inner(*graph, node, OpId::k_slice);
  if (!inner) return kNo;
  Attrs both;  // start, step, size of each axis
  for (size_t i = 0; i < node.attrs.size(); i += 3) {
    both.push_back(inner->attrs[i] + node.attrs[i] * inner->attrs[i + 1]);
    both.push_back(node.attrs[i + 1] * inner->attrs[i + 1]);
    both.push_back(node.attrs[i + 2]);
  }
  return Add(graph, OpId::k_slice, {inner->operands[0]}, both);
}

// A reduction over axes of extent 1 meets one element and the identity, which changes no bit (a sum
// starts at -0).
int32_t ReduceOne(Graph* graph, int32_t id) {
  const Node& node = graph->nodes[id];
  const OpInfo& info = Info(node.op);
  const Node& x = graph->nodes[node.operands.empty() ? 0 : node.operands[0]];
  if (info.klass != OpClass::kReduce || info.result == ResultType::kI64 || !x.layout->dense)
    return kNo;
  if (x.layout->size != node.layout->size) return kNo;
  return Add(graph, OpId::k_reshape, {node.operands[0]}, node.layout->dims());
}

constexpr Rule kRules[] = {
    {"copy(t) = t, t a temporary", DropCopy, R"(graph (f32[3,5]) {
      %1 = exp %0 : f32[3,5]
      %2 = copy %1 : f32[3,5]
      return %2
    })"},
    {"astype(x, dtype of x) = x", CastToSame, R"(graph (f16[7]) {
      %1 = astype %0 {9} : f16[7]
      %2 = abs %1 : f16[7]
      return %2
    })"},
    {"astype(astype(x, wider), dtype of x) = x", CastThereAndBack,
     R"(graph (bf16[40], i16[40], bool[40], u32[40]) {
      %4 = astype %0 {11} : f32[40]
      %5 = astype %4 {10} : bf16[40]
      %6 = copy %5 : bf16[40]
      %7 = astype %1 {11} : f32[40]
      %8 = astype %7 {2} : i16[40]
      %9 = bitwise_invert %8 : i16[40]
      %10 = astype %2 {9} : f16[40]
      %11 = astype %10 {0} : bool[40]
      %12 = bitwise_invert %11 : bool[40]
      %13 = astype %3 {4} : i64[40]
      %14 = astype %13 {7} : u32[40]
      %15 = bitwise_invert %14 : u32[40]
      return %6, %9, %12, %15
    })"},
    {"-(-x) = x, ~(~x) = x", Twice, R"(graph (f32[40], i8[40], bool[40]) {
      %3 = negative %0 : f32[40]
      %4 = negative %3 : f32[40]
      %5 = abs %4 : f32[40]
      %6 = negative %1 : i8[40]
      %7 = negative %6 : i8[40]
      %8 = abs %7 : i8[40]
      %9 = bitwise_invert %2 : bool[40]
      %10 = bitwise_invert %9 : bool[40]
      %11 = equal %10, %2 : bool[40]
      return %5, %8, %11
    })"},
    {"f(f(x)) = f(x), f one of abs sign floor ceil trunc round", Again,
     R"(graph (f32[40], f16[40], i8[40]) {
      %3 = abs %0 : f32[40]
      %4 = abs %3 : f32[40]
      %5 = sign %0 : f32[40]
      %6 = sign %5 : f32[40]
      %7 = floor %0 : f32[40]
      %8 = floor %7 : f32[40]
      %9 = ceil %1 : f16[40]
      %10 = ceil %9 : f16[40]
      %11 = trunc %1 : f16[40]
      %12 = trunc %11 : f16[40]
      %13 = round %1 : f16[40]
      %14 = round %13 : f16[40]
      %15 = abs %2 : i8[40]
      %16 = abs %15 : i8[40]
      return %4, %6, %8, %10, %12, %14, %16
    })"},
    {"abs(-x) = abs(x), x not unsigned", AbsOfNegative, R"(graph (f32[40], i8[40]) {
      %2 = negative %0 : f32[40]
      %3 = abs %2 : f32[40]
      %4 = negative %1 : i8[40]
      %5 = abs %4 : i8[40]
      return %3, %5
    })"},
    {"f(x, x) = x, f one of maximum minimum bitwise_and bitwise_or where(c)", SameOperands,
     R"(graph (f32[40], i8[40], bool[40]) {
      %3 = sqrt %0 : f32[40]
      %4 = maximum %3, %3 : f32[40]
      %5 = minimum %3, %3 : f32[40]
      %6 = bitwise_invert %1 : i8[40]
      %7 = bitwise_and %6, %6 : i8[40]
      %8 = bitwise_or %6, %6 : i8[40]
      %9 = where %2, %3, %3 : f32[40]
      return %4, %5, %7, %8, %9
    })"},
    {"x + -y = x - y, x - -y = x + y", AddNegative,
     R"(graph (f32[40], f32[40], i8[40], scalar f32) {
      %4 = negative %1 : f32[40]
      %5 = add %0, %4 : f32[40]
      %6 = subtract %0, %4 : f32[40]
      %7 = negative %2 : i8[40]
      %8 = subtract %2, %7 : i8[40]
      %9 = negative %3 : f32[]
      %10 = add %0, %9 : f32[40]
      return %5, %6, %8, %10
    })"},
    {"-x * -y = x * y, -x / -y = x / y", NegativesCancel, R"(graph (f32[40], f32[40], i8[40]) {
      %3 = negative %0 : f32[40]
      %4 = negative %1 : f32[40]
      %5 = multiply %3, %4 : f32[40]
      %6 = divide %3, %4 : f32[40]
      %7 = negative %2 : i8[40]
      %8 = multiply %7, %7 : i8[40]
      return %5, %6, %8
    })"},
    {"not (x == y) is x != y and the reverse", NotEqual, R"(graph (f32[40], f32[40]) {
      %2 = equal %0, %1 : bool[40]
      %3 = bitwise_invert %2 : bool[40]
      %4 = not_equal %0, %0 : bool[40]
      %5 = bitwise_invert %4 : bool[40]
      return %3, %5
    })"},
    {"where(~c, x, y) = where(c, y, x)", WhereNot, R"(graph (bool[40], f32[40], f32[40]) {
      %3 = bitwise_invert %0 : bool[40]
      %4 = where %3, %1, %2 : f32[40]
      return %4
    })"},
    {"a view of the same elements is its operand", SameView, R"(graph (f32[3,5]) {
      %1 = reshape %0 {3, 5} : view f32[3,5] offset 0
      %2 = permute_dims %1 {0, 1} : view f32[3,5] offset 0
      %3 = slice %2 {0, 1, 3, 0, 1, 5} : view f32[3,5] offset 0
      %4 = broadcast_to %3 {3, 5} : view f32[3,5] offset 0
      %5 = exp %4 : f32[3,5]
      return %5
    })"},
    {"reshape(reshape(x)) = reshape(x)", ReshapeTwice, R"(graph (f32[3,4]) {
      %1 = reshape %0 {12} : view f32[12] offset 0
      %2 = reshape %1 {2, 6} : view f32[2,6] offset 0
      %3 = exp %2 : f32[2,6]
      return %3
    })"},
    {"broadcast_to(broadcast_to(x)) = broadcast_to(x)", BroadcastTwice, R"(graph (f32[3,1]) {
      %1 = broadcast_to %0 {3, 4} : view f32[3,4] strides [1, 0] offset 0
      %2 = broadcast_to %1 {2, 3, 4} : view f32[2,3,4] strides [0, 1, 0] offset 0
      %3 = copy %2 : f32[2,3,4]
      return %3
    })"},
    {"permute_dims(permute_dims(x)) = permute_dims(x)", PermuteTwice, R"(graph (f32[2,3,4]) {
      %1 = permute_dims %0 {1, 2, 0} : view f32[3,4,2] strides [4, 1, 12] offset 0
      %2 = permute_dims %1 {2, 1, 0} : view f32[2,4,3] strides [12, 1, 4] offset 0
      %3 = copy %2 : f32[2,4,3]
      return %3
    })"},
    {"slice(slice(x)) = slice(x)", SliceTwice, R"(graph (f32[10,7]) {
      %1 = slice %0 {1, 2, 4, 6, -1, 7} : view f32[4,7] strides [14, -1] offset 13
      %2 = slice %1 {3, -2, 2, 1, 3, 2} : view f32[2,2] strides [-28, -3] offset 41
      %3 = copy %2 : f32[2,2]
      return %3
    })"},
    {"a reduction over axes of extent 1 is a reshape", ReduceOne, R"(graph (f32[3,1,5], bool[4,1]) {
      %2 = sqrt %0 : f32[3,1,5]
      %3 = sum %2 {2, 0} : f32[3,5]
      %4 = prod %2 {2, 1} : f32[3,1,5]
      %5 = max %2 {2, 0} : f32[3,5]
      %6 = sum %2 {0, 0} : f32[3,1,5]
      %7 = bitwise_invert %1 : bool[4,1]
      %8 = any %7 {2, 0} : bool[4]
      return %3, %4, %5, %6, %8
    })"},
};

}  // namespace

absl::Span<const Rule> FoldRules() { return kRules; }

}  // namespace frazil::jit
