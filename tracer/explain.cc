#include "tracer/explain.h"

#include <algorithm>
#include <cstring>

#include "core/backend.h"
#include "core/functions/composites.h"

namespace frazil::tracer {
namespace {

std::string OriginOf(const Node& node) { return node.origin.empty() ? "C++" : node.origin; }

std::string NameOf(const Node& node) { return tracer::NameOf(node.composite, node.op); }

std::string Text(bool v) { return v ? "true" : "false"; }
std::string Text(Half v) { return absl::StrCat(ToFloat(v)); }
std::string Text(BFloat16 v) { return absl::StrCat(ToFloat(v)); }
template <typename T>
std::string Text(T v) {
  return absl::StrCat(+v);
}

std::string Element(DType dtype, const char* data) {
  switch (dtype) {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind) \
  case DType::E: {                                    \
    T v;                                              \
    std::memcpy(&v, data, sizeof v);                  \
    return Text(v);                                   \
  }
    default:  // immediates are real
      break;
#include "core/dtypes.def"
#undef FZ_DTYPE
  }
  return "";
}

std::string DescribeSlot(const Parameter& guard) {
  if (guard.immediate) return StrCat("number ", ShortName(guard.dtype));
  std::string s = StrCat(ShortName(guard.dtype), ToString(guard.layout->dims()));
  if (!guard.layout->dense) StrAppend(&s, " strides ", ToString(guard.layout->strides()));
  return s;
}

// Where a recorded operand comes from.
std::string DescribeReference(const Node& node, size_t i) {
  const int32_t ref = node.operands[i];
  for (const Node* n = &node; n->parent; n = n->parent) {
    if (ref >= 0 && ref >= n->first_result && n != &node)
      return StrCat("the result of '", NameOf(*n), "' (", OriginOf(*n), ")");
    if (ref < 0 && ~ref >= n->first_slot) {
      const bool fresh = n == &node && std::find(node.operands.begin(), node.operands.begin() + i,
                                                 ref) == node.operands.begin() + i;
      if (fresh) return "a tensor not used before";
      return StrCat("a tensor first used by '", NameOf(*n), "' (", OriginOf(*n), ")");
    }
  }
  return "another tensor";
}

// Where an operand of this call comes from. `at` is the call before it.
std::string DescribeOperand(const Node& at, const Departure& call, size_t i) {
  const Value* v = call.inputs[i]->value();
  const auto is = [v](const ValueRef& other) { return other.get() == v; };
  const auto result = std::find_if(call.values.begin(), call.values.end(), is);
  const auto slot = std::find_if(call.slots.begin(), call.slots.end(), is);
  for (const Node* n = &at; n->parent; n = n->parent) {
    if (result != call.values.end() && result - call.values.begin() >= n->first_result)
      return StrCat("the result of '", NameOf(*n), "' (", OriginOf(*n), ")");
    if (slot != call.slots.end() && slot - call.slots.begin() >= n->first_slot)
      return StrCat("a tensor first used by '", NameOf(*n), "' (", OriginOf(*n), ")");
  }
  for (size_t j = 0; j < i; ++j) {
    if (call.inputs[j]->value() == v) return StrCat("the tensor of operand ", j);
  }
  return "a tensor not used before";
}

// True if operand i is what the recorded call has there; a first-met one may be anything new.
bool SameSource(const Node& at, const Node& node, const Departure& call, size_t i) {
  const Value* v = call.inputs[i]->value();
  const int32_t ref = node.operands[i];
  if (ref >= 0) return call.values[ref].get() == v;
  const size_t slot = ~ref;
  if (slot < call.slots.size()) return call.slots[slot].get() == v;
  for (size_t j = 0; j < i; ++j) {
    if (node.operands[j] == ref) return call.inputs[j]->value() == v;
  }
  return v->ready();
}

Explanation Difference(const Node& at, const Node& node, const Departure& call) {
  std::vector<Field> fields = {{"op", NameOf(node)}, {"origin", OriginOf(node)}};
  const auto changed = [&](Cause cause, std::string before, std::string now) {
    fields.emplace_back("old", std::move(before));
    fields.emplace_back("new", std::move(now));
    return Explanation{cause, std::move(fields)};
  };
  if (node.operands.size() != call.inputs.size()) {
    return changed(Cause::kOperands, StrCat(node.operands.size()), StrCat(call.inputs.size()));
  }
  if (AttrSpan(node.attrs) != call.attrs)
    return changed(Cause::kAttributes, ToString(node.attrs), ToString(call.attrs));
  size_t fresh = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const int32_t ref = node.operands[i];
    const bool introduces =
        ref < 0 && ~ref == node.first_slot + static_cast<int>(fresh) && fresh < node.slots.size();
    fields.resize(2);
    fields.emplace_back("operand", StrCat(i));
    if (introduces) {
      const Parameter& guard = node.slots[fresh++];
      const Value& v = *call.inputs[i]->value();
      if (v.ready() && !guard.Admits(v)) {
        const Cause cause = guard.immediate != v.immediate           ? Cause::kNumber
                            : guard.dtype != v.dtype                 ? Cause::kDType
                            : guard.layout->shape != v.layout->shape ? Cause::kShape
                                                                     : Cause::kStrides;
        return changed(cause, DescribeSlot(guard), DescribeSlot(Parameter::Of(v)));
      }
    }
    if (!SameSource(at, node, call, i))
      return changed(Cause::kSource, DescribeReference(node, i), DescribeOperand(at, call, i));
  }
  return changed(Cause::kSource, "another", "this");
}

}  // namespace

std::string Here() {
  const auto locate = GlobalRuntime().locate;
  return locate ? locate() : std::string();
}

std::string NameOf(bool composite, uint32_t op) {
  if (composite && op == kLoopRow) return "loop";
  return std::string(composite ? frazil::NameOf(static_cast<CompositeId>(op))
                               : Info(static_cast<OpId>(op)).name);
}

Explanation ExplainDeparture(const Node& at, const Departure& call) {
  const std::string name = NameOf(call.composite, call.op);
  const Node* likely = at.predicted.load(std::memory_order_acquire);
  const Node* first = at.children.load(std::memory_order_acquire);
  if (!first && at.lost.load(std::memory_order_relaxed)) {
    const char* limit = "segment_entries or segment_bytes";
    return {Cause::kForgotten, {{"op", name}, {"limit", limit}}};
  }
  if (!first) {
    if (!at.parent) return {Cause::kFirst, {{"op", name}}};
    return {Cause::kContinued, {{"op", name}, {"old", NameOf(at)}, {"origin", OriginOf(at)}}};
  }
  const auto same_op = [&](const Node& n) {
    return n.composite == call.composite && n.op == call.op;
  };
  if (likely && same_op(*likely)) return Difference(at, *likely, call);
  for (const Node* c = first; c; c = c->next.load(std::memory_order_acquire)) {
    if (same_op(*c)) return Difference(at, *c, call);
  }
  if (!likely) likely = first;
  return {Cause::kOp, {{"new", name}, {"old", NameOf(*likely)}, {"origin", OriginOf(*likely)}}};
}

Explanation ExplainSegment(Cause cause, const Node& end, std::vector<Field> more) {
  more.emplace_back("calls", StrCat(end.depth));
  more.emplace_back("origin", OriginOf(end));
  return {cause, std::move(more)};
}

std::vector<Field> PlanFields(const SegmentPlan& plan) {
  return {{"kernels", StrCat(plan.kernels())}, {"compiled", StrCat(plan.compiled())}};
}

std::string DescribeLive(absl::Span<const Node* const> path, const LiveMask& live) {
  constexpr int kMost = 8;
  std::string out;
  int count = 0;
  for (const Node* node : path) {
    for (size_t r = 0; r < node->results.size(); ++r) {
      const size_t i = node->first_result + r;
      if (!IsLive(live, i) || ++count > kMost) continue;
      StrAppend(&out, out.empty() ? "" : ", ", NameOf(*node), " (", OriginOf(*node), ")");
    }
  }
  if (count > kMost) StrAppend(&out, " and ", count - kMost, " more");
  return out;
}

std::string DescribeData(const Value& value) {
  std::string text = Describe(value);
  if (!value.ready()) return text;
  const auto host = OnHost(value);
  if (!host.ok()) return text;
  absl::StrAppend(&text, " [");
  const int64_t step = value.layout->rank > 0 ? value.layout->strides_[value.layout->rank - 1] : 0;
  const int64_t row = value.layout->rank > 0 ? value.layout->dim(-1) : 1;
  const int64_t shown = std::min<int64_t>({row, value.size(), 4});
  for (int64_t i = 0; i < shown; ++i) {
    if (i) absl::StrAppend(&text, ", ");
    absl::StrAppend(&text, Element(value.dtype, (*host)->data + i * step * SizeOf(value.dtype)));
  }
  return absl::StrCat(text, shown < value.size() ? ", ...]" : "]");
}

}  // namespace frazil::tracer
