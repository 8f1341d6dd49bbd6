#include "tracer/tape_record.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "autograd/forward.h"

namespace frazil::tracer {

bool CollectTape(absl::Span<const GradNode* const> roots,
                 const absl::flat_hash_map<const GradNode*, Link>& known, uint64_t since,
                 std::vector<const GradNode*>* out) {
  absl::flat_hash_set<const GradNode*> seen;
  std::vector<const GradNode*> stack(roots.begin(), roots.end());
  while (!stack.empty()) {
    const GradNode* node = stack.back();
    stack.pop_back();
    if (!node || known.contains(node) || !seen.insert(node).second) continue;
    if (node->leaf() || node->kind == GradNode::Kind::kPart || autograd::ForwardOf(node))
      return false;
    out->push_back(node);
    if (node->kind == GradNode::Kind::kVariable) {
      if (node->sequence < since) return false;
      stack.push_back(static_cast<const autograd::VariableNode*>(node)->outer.edge.get());
      continue;
    }
    const auto* op = static_cast<const autograd::TapeNode*>(node);
    for (const auto& in : op->inputs) stack.push_back(in.edge.get());
    for (const Tensor& t : op->saved) {
      if (t.defined()) stack.push_back(t.node());
    }
  }
  std::sort(out->begin(), out->end(),
            [](const auto* a, const auto* b) { return a->sequence < b->sequence; });
  return true;
}

}  // namespace frazil::tracer
