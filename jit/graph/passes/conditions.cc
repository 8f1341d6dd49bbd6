#include "jit/graph/passes/conditions.h"

namespace frazil::jit::conditions {
namespace {

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
  if (IsBool(wide) || (IsUnsigned(wide) && IsSigned(narrow))) return false;
  return Precision(wide) >= Precision(narrow) ||
         (IsUnsigned(wide) && BitsOf(wide) >= BitsOf(narrow));
}

bool Copy(const Attrs& from, Attrs* to) {
  *to = from;
  return true;
}

}  // namespace

bool Always(const Match&, Attrs*) { return true; }
bool AttrsOfFirst(const Match& match, Attrs* attrs) { return Copy(match.node(0).attrs, attrs); }
bool AttrsOfSecond(const Match& match, Attrs* attrs) { return Copy(match.node(1).attrs, attrs); }

bool SameDType(const Match& match, Attrs*) { return match.node(0).dtype == match.x().dtype; }

bool CastsCompose(const Match& match, Attrs* attrs) {
  const DType from = match.x().dtype, middle = match.node(1).dtype, to = match.node(0).dtype;
  *attrs = match.node(0).attrs;
  // Integers wrap, and what the second cast keeps the first has not lost.
  if (IsInt(from) && IsInt(middle) && IsInt(to) && BitsOf(to) <= BitsOf(middle)) return true;
  if (!Holds(middle, from)) return false;
  // A float saturates where the integer itself wraps.
  return !(IsInt(from) && IsFloat(middle) && IsInt(to)) || Holds(to, from);
}

bool CastsBack(const Match& match, Attrs* attrs) {
  return SameDType(match, attrs) && CastsCompose(match, attrs);
}

bool MiddleRounds(const Match& match, Attrs* attrs) {
  return IsFloat(match.node(1).dtype) && IsFloat(match.node(0).dtype) &&
         !CastsCompose(match, attrs);
}

bool CastsKeepOrder(const Match& match, Attrs*) {
  const Node& y = match.graph->nodes[match.captures[1]];
  return match.x().dtype == y.dtype && Holds(match.node(1).dtype, y.dtype);
}

// A sum starts at -0 and a product at 1, so one element comes out as it is.
bool ReducesNothing(const Match& match, Attrs* attrs) {
  const Layout* layout = match.node(0).layout.get();
  attrs->assign(layout->dims().begin(), layout->dims().end());
  return match.x().layout->dense && match.x().layout->size == layout->size;
}

// Attributes of a reduction: a bit for each axis, and whether it keeps them with extent 1.
bool JoinAxes(const Match& match, Attrs* attrs) {
  const int64_t outer = match.node(0).attrs[0], inner = match.node(1).attrs[0];
  const bool outer_keeps = match.node(0).attrs[1], inner_keeps = match.node(1).attrs[1];
  if (inner_keeps) {
    *attrs = {outer | inner, outer_keeps};
    return outer_keeps || (inner & ~outer) == 0;
  }
  int64_t both = inner;
  for (int axis = 0, left = 0; axis < match.x().layout->rank; ++axis) {
    if (!(inner >> axis & 1)) both |= (outer >> left++ & 1) << axis;
  }
  *attrs = {both, 0};
  return !outer_keeps;
}

bool PermutedAxes(const Match& match, Attrs* attrs) {
  const Attrs& order = match.node(1).attrs;
  const int64_t reduced = match.node(0).attrs[0];
  int64_t axes = 0, last = -1;
  for (size_t i = 0; i < order.size(); ++i) {
    if (reduced >> i & 1) {
      axes |= int64_t{1} << order[i];
    } else if (order[i] < last) {
      return false;
    } else {
      last = order[i];
    }
  }
  *attrs = {axes, 0};
  return match.node(0).attrs[1] == 0;
}

bool SameElements(const Match& match, Attrs*) {
  const Node& view = match.node(0);
  return view.view && view.offset == 0 && view.layout == match.x().layout;
}

bool ComposePermutations(const Match& match, Attrs* attrs) {
  for (const int64_t axis : match.node(0).attrs) attrs->push_back(match.node(1).attrs[axis]);
  return true;
}

// Attributes of a slice: start, step and size of each axis.
bool ComposeSlices(const Match& match, Attrs* attrs) {
  const Attrs &outer = match.node(0).attrs, &inner = match.node(1).attrs;
  for (size_t i = 0; i < outer.size(); i += 3) {
    attrs->push_back(inner[i] + outer[i] * inner[i + 1]);
    attrs->push_back(outer[i + 1] * inner[i + 1]);
    attrs->push_back(outer[i + 2]);
  }
  return match.node(0).layout->size != 0;
}

bool InOrderAgain(const Match& match, Attrs* attrs) {
  const Node &root = match.node(0), &middle = match.node(1);
  const Layout* layout = root.layout.get();
  attrs->assign(layout->dims().begin(), layout->dims().end());
  return root.view && middle.view && root.offset + middle.offset == 0 && layout->dense &&
         match.x().layout->dense && match.x().layout->size == layout->size && layout->size != 0;
}

}  // namespace frazil::jit::conditions
