// Composites whose nodes keep nothing but their operands. The gradient is a composite itself:
// its body makes the function's values again, with a tape of its own, and walks back over them. As
// one call it is a plan of few kernels, in which what is made again need not be stored; the graph
// of a traced step has those values once.
#include "core/functions/composite.h"

#include <bit>
#include <utility>

#include "autograd/grad.h"
#include "autograd/tape.h"

namespace frazil::autograd {
namespace {

StatusOr<std::vector<Tensor>> BodyGradients(ops::BodyOfOperands body,
                                            absl::Span<const Tensor> operands, AttrSpan attrs,
                                            uint64_t wanted, const Tensor& g) {
  std::vector<Tensor> inputs;
  for (const Tensor& t : operands) inputs.push_back(Visible(t));
  GradScope scope;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (wanted >> i & 1) inputs[i] = scope.Variable(inputs[i]);
  }
  const int limit = std::exchange(State().grad_limit, kNobodys);
  Tensor result = body(inputs, attrs);
  State().grad_limit = limit;
  return scope.Gradients(&result, &g);
}

}  // namespace

Tensor MakeAgain(const TapeNode& composite) {
  const ops::BodyOfOperands body = ops::FindBody(static_cast<CompositeId>(*composite.composite));
  absl::InlinedVector<const Tensor*, 4> inputs;
  for (const Tensor& t : composite.operands) inputs.push_back(&t);
  Tensor result;
  ApplyComposite(
      {*composite.composite, inputs, composite.attrs},
      [&](absl::Span<Tensor> outputs) { outputs[0] = body(composite.operands, composite.attrs); },
      {&result, 1});
  return result;
}

StatusOr<std::vector<Tensor>> CompositeGradients(const TapeNode& node, uint64_t wanted,
                                                 const Tensor& g) {
  const ops::BodyOfOperands body = ops::FindBody(static_cast<CompositeId>(*node.composite));
  absl::InlinedVector<const Tensor*, 5> inputs;
  for (const Tensor& t : node.operands) inputs.push_back(&t);
  inputs.push_back(&g);
  Attrs attrs = {*node.composite, static_cast<int64_t>(wanted)};
  attrs.insert(attrs.end(), node.attrs.begin(), node.attrs.end());
  std::vector<Tensor> gradients(static_cast<size_t>(std::popcount(wanted)));
  ApplyComposite(
      {static_cast<uint32_t>(CompositeId::k_composite_gradient), inputs, attrs},
      [&](absl::Span<Tensor> outputs) {
        auto made = BodyGradients(body, node.operands, node.attrs, wanted, g);
        for (size_t i = 0; i < outputs.size(); ++i)
          outputs[i] = made.ok() ? (*made)[i] : Tensor(made.status());
      },
      absl::MakeSpan(gradients));
  for (const Tensor& t : gradients) FZ_RETURN_IF_ERROR(t.status());
  return gradients;
}

}  // namespace frazil::autograd
