#include "core/functions/replace.h"

#include "core/functions/ops.h"

namespace frazil::ops {
namespace {

bool IsTapeLeaf(const Tensor& t) { return t.node() && t.node()->leaf() && t.node()->level == 0; }

}  // namespace

bool IsKept(const Tensor& cell) {
  const ThreadState& state = State();
  return (state.grad_enabled && IsTapeLeaf(cell)) || NeedsGrad(state, cell);
}

StatusOr<Tensor> Fitted(std::string_view op, const Tensor& cell, Tensor result) {
  const std::string name(op);
  if (!result.ok()) return result.status();
  if (result.shape() != cell.shape()) {
    return ValueError("[", name, "] the in-place result ", Describe(result), " does not fit into ",
                      Describe(cell), ".");
  }
  if (IsTapeLeaf(cell) && State().grad_enabled) {
    return RuntimeError("[", name, "] in-place on a leaf that requires a gradient (",
                        Describe(cell), "): use no_grad(), or a new tensor.");
  }
  const DType from = result.dtype(), to = cell.dtype();
  if (from == to) return result;
  if (KindOf(from) > KindOf(to) && !(IsUnsigned(from) && IsSigned(to)) &&
      !(IsSigned(from) && IsUnsigned(to))) {
    return TypeError("[", name, "] the in-place result is ", std::string(Name(from)),
                     ", which does not go into ", std::string(Name(to)), "; use astype.");
  }
  result = astype(result, to);
  if (!result.ok()) return result.status();
  return result;
}

void Replace(Tensor* cell, const Tensor& fitted) {
  if (State().grad_enabled) {
    cell->Set(fitted.value_ref(), fitted.node_ref());
  } else {
    cell->SetValue(fitted.value_ref());
  }
}

}  // namespace frazil::ops
