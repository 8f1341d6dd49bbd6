#include "tracer/tape_record.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace frazil::tracer {

bool CollectTape(absl::Span<const GradNode* const> roots,
                 const absl::flat_hash_map<const GradNode*, Link>& known,
                 std::vector<const autograd::TapeNode*>* out) {
  absl::flat_hash_set<const GradNode*> seen;
  std::vector<const GradNode*> stack(roots.begin(), roots.end());
  while (!stack.empty()) {
    const GradNode* node = stack.back();
    stack.pop_back();
    if (!node || known.contains(node) || !seen.insert(node).second) continue;
    if (node->kind != GradNode::Kind::kOp) return false;
    const auto* op = static_cast<const autograd::TapeNode*>(node);
    out->push_back(op);
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
