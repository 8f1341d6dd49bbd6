// Tangents of ops, from the columns of the op table: no op has a rule of its own for them.
#include <utility>

#include "autograd/forward.h"
#include "autograd/grad.h"
#include "autograd/walk.h"
#include "core/check.h"
#include "core/functions/ops.h"

namespace frazil::autograd {
namespace {

Tensor Zeros(const Tensor& like) {
  return ops::full(like.dims(), Scalar::Float(0), like.dtype(), like.device());
}

Tensor Sum(const Tensor& sum, const Tensor& t) { return sum.defined() ? ops::add(sum, t) : t; }

// The op with some operands replaced; indices among the others have been checked.
Tensor Again(const TapeNode& node, absl::Span<const Tensor> operands) {
  absl::InlinedVector<const Tensor*, 4> inputs;
  for (const Tensor& t : operands) inputs.push_back(&t);
  return Apply({node.op, inputs, node.attrs, /*indices_checked=*/true});
}

Tensor Linear(const TapeNode& node, absl::Span<const Tensor> operands,
              absl::Span<const Tensor> tangents) {
  std::vector<Tensor> moved;
  for (size_t i = 0; i < operands.size(); ++i) {
    moved.push_back(tangents[i].defined()            ? tangents[i]
                    : IsInexact(operands[i].dtype()) ? Zeros(operands[i])
                                                     : operands[i]);
  }
  return Again(node, moved);
}

Tensor LinearInEach(const TapeNode& node, absl::Span<const Tensor> operands,
                    absl::Span<const Tensor> tangents) {
  Tensor sum;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!tangents[i].defined()) continue;
    std::vector<Tensor> moved(operands.begin(), operands.end());
    moved[i] = tangents[i];
    sum = Sum(sum, Again(node, moved));
  }
  return sum;
}

// A change of an element changes one element of the result: the matrix of derivatives is diagonal,
// and so its own transpose.
Tensor Pointwise(const TapeNode& node, const Tensor& output, absl::Span<const Tensor> tangents) {
  Tensor sum, shared;
  for (size_t i = 0; i < tangents.size(); ++i) {
    if (!tangents[i].defined()) continue;
    const Tensor part = ApplyRule(node, static_cast<int>(i), tangents[i], output, &shared);
    if (part.defined()) sum = Sum(sum, part);
  }
  return sum;
}

// The rule takes u to J^T u. It is linear, so its own gradient, of t, is J t: wherever u is.
Tensor Twice(const TapeNode& node, absl::Span<const Tensor> operands, const Tensor& output,
             absl::Span<const Tensor> tangents) {
  const Ref<TapeNode> seen = Record(node.op, {}, node.attrs);
  seen->inputs = node.inputs;
  for (size_t i = 0; i < node.saved.size(); ++i) seen->saved[i] = Visible(node.saved[i]);
  std::vector<Tensor> arriving;
  for (const Tensor& t : tangents) arriving.push_back(Visible(t));
  const Tensor y = Visible(output);
  const int limit = std::exchange(State().grad_limit, kNobodys);
  Tensor sum, shared;
  {
    GradScope scope;
    const Tensor u = scope.Variable(Zeros(y));
    for (size_t i = 0; i < tangents.size(); ++i) {
      if (!tangents[i].defined()) continue;
      const Tensor raw = ApplyRule(*seen, static_cast<int>(i), u, y, &shared);
      if (!raw.defined()) continue;
      Tensor back = SumTo(raw, operands[i].shape());
      const auto forth = scope.Gradients(&back, &arriving[i]);
      sum = forth.ok() ? Sum(sum, (*forth)[0]) : Tensor(forth.status());
      if (!sum.ok()) break;
    }
  }
  State().grad_limit = limit;
  return sum;
}

}  // namespace

Tensor TangentOf(const TapeNode& node, absl::Span<const Tensor> operands, const Tensor& output,
                 absl::Span<const Tensor> tangents) {
  const OpInfo& info = Info(node.op);
  Tensor tangent;
  switch (Info(info.klass).tangent) {
    case TangentBy::kPointwise:
      tangent = Pointwise(node, output, tangents);
      break;
    case TangentBy::kLinear:
      tangent = info.saves.find('a') == info.saves.npos && info.saves.find('y') == info.saves.npos
                    ? Linear(node, operands, tangents)
                    : Twice(node, operands, output, tangents);
      break;
    case TangentBy::kEach:
      tangent = LinearInEach(node, operands, tangents);
      break;
    case TangentBy::kTwice:
      tangent = Twice(node, operands, output, tangents);
      break;
  }
  if (!tangent.defined() || !tangent.ok() || tangent.shape() == output.shape()) return tangent;
  return ops::broadcast_to(tangent, output.dims());
}

}  // namespace frazil::autograd
