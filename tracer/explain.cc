#include "tracer/explain.h"

#include "core/functions/composites.h"

namespace frazil::tracer {
namespace {

Locator g_locator = nullptr;

std::string NameOf(bool composite, uint32_t op) {
  return std::string(composite ? Info(static_cast<CompositeId>(op)).name
                               : Info(static_cast<OpId>(op)).name);
}

std::string DescribeSlot(const SlotGuard& guard) {
  if (guard.immediate) return absl::StrCat("number ", std::string(ShortName(guard.dtype)));
  std::string s = absl::StrCat(std::string(ShortName(guard.dtype)), ToString(guard.layout->dims()));
  if (!guard.layout->dense) absl::StrAppend(&s, " strides ", ToString(guard.layout->strides()));
  return s;
}

// The first difference between a recorded call of the same op and this one.
std::string Difference(const Node& node, absl::Span<const Tensor* const> inputs, AttrSpan attrs) {
  if (AttrSpan(node.attrs) != attrs) {
    return absl::StrCat("attributes changed ", ToString(node.attrs), " -> ", ToString(attrs));
  }
  size_t fresh = 0;
  for (size_t i = 0; i < inputs.size() && i < node.operands.size(); ++i) {
    const int32_t ref = node.operands[i];
    const bool introduces =
        ref < 0 && ~ref == node.first_slot + static_cast<int>(fresh) && fresh < node.slots.size();
    if (!introduces) continue;
    const SlotGuard& guard = node.slots[fresh++];
    const Value& v = *inputs[i]->value();
    if (guard.Admits(v)) continue;
    const char* what = guard.dtype != v.dtype                   ? "dtype"
                       : guard.immediate != v.immediate         ? "kind"
                       : guard.layout->shape != v.layout->shape ? "shape"
                                                                : "layout";
    return absl::StrCat(what, " of operand ", i, " changed ", DescribeSlot(guard), " -> ",
                        DescribeSlot({v.dtype, v.device, v.immediate, v.layout}));
  }
  return "an operand comes from elsewhere than recorded";
}

}  // namespace

void SetLocator(Locator locator) { g_locator = locator; }

std::string Here() { return g_locator ? g_locator() : std::string(); }

std::string ExplainMismatch(const Node& at, bool composite, uint32_t op,
                            absl::Span<const Tensor* const> inputs, AttrSpan attrs) {
  const std::string name = NameOf(composite, op);
  const Node* other = at.predicted.load(std::memory_order_acquire);
  const std::string here = Here();
  if (!other) {
    const char* what = at.parent ? "' follows where the recording ended; recorded on."
                                 : "' begins the first recording.";
    return absl::StrCat(here, ": '", name, what);
  }
  for (const Node* c = at.children.load(std::memory_order_acquire); c; c = c->next) {
    if (c->composite == composite && c->op == op) {
      return absl::StrCat(here, ": '", name, "' (recorded at ", c->origin,
                          "): ", Difference(*c, inputs, attrs), "; recorded anew.");
    }
  }
  return absl::StrCat(here, ": '", name, "' instead of '", NameOf(other->composite, other->op),
                      "' (recorded at ", other->origin, "); recorded anew.");
}

std::string ExplainPlan(const Node& end, int kernels, int compiled) {
  return absl::StrCat(Here(), ": new plan for ", end.depth, " calls up to ", end.origin, ": ",
                      kernels, " kernels, ", compiled, " compiled.");
}

}  // namespace frazil::tracer
