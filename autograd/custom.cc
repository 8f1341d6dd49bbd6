#include "autograd/custom.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "autograd/forward.h"
#include "core/check.h"
#include "core/functions/ops.h"

namespace frazil::autograd {
namespace {

std::vector<Tensor> VisibleOnes(absl::Span<const Tensor> tensors) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(Visible(t));
  return out;
}

Tensor WithoutElements(GradNodeRef node, DType dtype, Dims dims) {
  const Tensor zero = ops::full(dims, Scalar::Int(0), dtype, Device());
  return zero.ok() ? Tensor(zero.value_ref(), std::move(node)) : zero;
}

GradNodeRef PartOf(const Ref<CustomNode>& whole, size_t index, const GradNodeRef& forward) {
  if (whole->level == kNobodys) return forward;
  return GradNodeRef::Adopt(new PartNode(whole, index, forward));
}

Ref<CustomNode> NewNode(const Ref<CustomRule>& rule, absl::Span<const Tensor> operands,
                        size_t results) {
  return Ref<CustomNode>::Adopt(new CustomNode(rule, operands, results));
}

Status CheckLike(const char* what, size_t i, const Tensor& got, DType dtype, const Layout* shape) {
  FZ_RETURN_IF_ERROR(got.status());
  if (got.dtype() == dtype && got.shape() == shape) return absl::OkStatus();
  return ValueError("[custom] ", what, " ", i, " must be ", Name(dtype), " of shape ",
                    ToString(shape->dims()), ", got ", Describe(got), ".");
}

}  // namespace

CustomNode::CustomNode(Ref<CustomRule> rule, absl::Span<const Tensor> operands, size_t results)
    : GradNode(Kind::kCustom),
      rule(std::move(rule)),
      results(results),
      operands(operands.begin(), operands.end()) {
  level = kNobodys;
  for (const Tensor& t : operands) {
    GradNodeRef edge;
    if (NeedsGrad(State(), t) && IsInexact(t.dtype())) edge = ReverseOf(t.node_ref());
    if (edge) level = std::min(level, edge->level);
    inputs.push_back({std::move(edge), t.dtype(), t.shape()});
  }
  sequence = NextSequence();
}

PartNode::PartNode(Ref<CustomNode> whole, size_t index, GradNodeRef forward)
    : GradNode(Kind::kPart), whole(std::move(whole)), index(index), forward(std::move(forward)) {
  level = this->whole->level;
  if (this->forward) level = std::min(level, this->forward->level);
  sequence = NextSequence();
}

std::vector<Tensor> MadeOf(absl::Span<const Tensor> results, uint64_t since) {
  std::vector<Tensor> found;
  absl::flat_hash_set<const GradNode*> seen;
  std::vector<GradNodeRef> stack;
  const auto meet = [&](const GradNodeRef& edge, DType dtype, Dims dims) {
    GradNodeRef node = ReverseOf(edge);
    if (!node || !seen.insert(node.get()).second) return;
    if (node->sequence > since) {
      stack.push_back(std::move(node));
    } else {
      found.push_back(WithoutElements(std::move(node), dtype, dims));
    }
  };
  const auto meet_inputs = [&](const auto& inputs) {
    for (const TapeNode::Input& in : inputs) meet(in.edge, in.dtype, in.shape->dims());
  };
  for (const Tensor& t : results)
    if (NeedsGrad(State(), t)) meet(t.node_ref(), t.dtype(), t.dims());
  while (!stack.empty()) {
    const GradNodeRef node = std::move(stack.back());
    stack.pop_back();
    switch (node->kind) {
      case GradNode::Kind::kOp:
        meet_inputs(static_cast<const TapeNode&>(*node).inputs);
        break;
      case GradNode::Kind::kVariable:
        meet_inputs(absl::MakeConstSpan(&static_cast<const VariableNode&>(*node).outer, 1));
        break;
      case GradNode::Kind::kPart:
        meet_inputs(static_cast<const PartNode&>(*node).whole->inputs);
        break;
      case GradNode::Kind::kCustom:
      case GradNode::Kind::kDual:  // not what ReverseOf gives
      case GradNode::Kind::kLeaf:  // made inside: nobody's
        break;
    }
  }
  return found;
}

Status AttachCustom(const Ref<CustomRule>& rule, absl::Span<const Tensor> operands,
                    absl::Span<Tensor> results) {
  std::vector<GradNodeRef> forward(results.size());
  FZ_RETURN_IF_ERROR(ForEachForward(
      operands,
      [&](uint64_t scope, int level, absl::Span<const Tensor> seen,
          absl::Span<const Tensor> tangents) -> Status {
        const Ref<CustomNode> lower = NewNode(rule, seen, results.size());
        const std::vector<Tensor> at = VisibleOnes(seen), moved = VisibleOnes(tangents);
        StatusOr<std::vector<Tensor>> made = rule->Tangents(at, moved);
        FZ_RETURN_IF_ERROR(made.status());
        FZ_CHECK(made->size() == results.size());
        for (size_t i = 0; i < results.size(); ++i) {
          const Tensor& tangent = (*made)[i];
          if (!tangent.defined()) continue;
          FZ_RETURN_IF_ERROR(
              CheckLike("tangent", i, tangent, results[i].dtype(), results[i].shape()));
          forward[i] =
              GradNodeRef::Adopt(new DualNode(scope, level, tangent, PartOf(lower, i, forward[i])));
        }
        return absl::OkStatus();
      }));
  const Ref<CustomNode> node = NewNode(rule, operands, results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (IsInexact(results[i].dtype())) results[i].SetNode(PartOf(node, i, forward[i]));
  }
  return absl::OkStatus();
}

StatusOr<std::vector<Tensor>> CustomGradients(const CustomNode& node,
                                              absl::Span<const Tensor> gradients) {
  const std::vector<Tensor> at = VisibleOnes(node.operands), arriving = VisibleOnes(gradients);
  auto made = node.rule->Gradients(at, arriving);
  FZ_RETURN_IF_ERROR(made.status());
  FZ_CHECK(made->size() == node.inputs.size());
  for (size_t i = 0; i < made->size(); ++i) {
    if (!(*made)[i].defined()) continue;
    FZ_RETURN_IF_ERROR(
        CheckLike("gradient", i, (*made)[i], node.inputs[i].dtype, node.inputs[i].shape.get()));
  }
  return made;
}

}  // namespace frazil::autograd
