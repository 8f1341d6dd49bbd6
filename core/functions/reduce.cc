// Axis lists and dtypes for the reduction rows of the table.
#include "core/functions/ops.h"

namespace frazil::ops {
namespace {

Tensor Reduce(OpId op, const Tensor& x, const Axes& axes, bool keepdims) {
  if (!x.ok()) return x;
  int64_t mask = 0;
  if (!axes.has_value()) {
    mask = (int64_t{1} << x.rank()) - 1;
  } else {
    for (int64_t a : *axes) {
      const auto axis = CheckAxis(Info(op).name, a, x.rank());
      if (!axis.ok()) return Tensor(axis.status());
      if (mask >> *axis & 1) {
        return ValueError("[", std::string(Info(op).name), "] axis ", a,
                          " is given twice: ", ToString({axes->data(), axes->size()}), ".");
      }
      mask |= int64_t{1} << *axis;
    }
  }
  const int64_t attrs[] = {mask, keepdims};
  return Apply(op, {&x}, attrs);
}

Tensor AsBool(const Tensor& x) { return astype(x, DType::kBool); }
Tensor AsSum(const Tensor& x) { return x.ok() ? astype(x, SumFor(x.dtype())) : x; }

Tensor Arg(OpId op, const Tensor& x, const Axes& axes, bool keepdims) {
  if (axes.has_value() && axes->size() != 1) {
    return ValueError("[", std::string(Info(op).name), "] takes one axis or none, got ",
                      ToString({axes->data(), axes->size()}), ".");
  }
  return Reduce(op, x, axes, keepdims);
}

}  // namespace

Tensor sum(const Tensor& x, const Axes& axes, bool keepdims) {
  return Reduce(OpId::k_sum, AsSum(x), axes, keepdims);
}
Tensor prod(const Tensor& x, const Axes& axes, bool keepdims) {
  return Reduce(OpId::k_prod, AsSum(x), axes, keepdims);
}
Tensor max(const Tensor& x, const Axes& axes, bool keepdims) {
  return Reduce(OpId::k_max, x, axes, keepdims);
}
Tensor min(const Tensor& x, const Axes& axes, bool keepdims) {
  return Reduce(OpId::k_min, x, axes, keepdims);
}
Tensor any(const Tensor& x, const Axes& axes, bool keepdims) {
  return Reduce(OpId::k_any, AsBool(x), axes, keepdims);
}
Tensor all(const Tensor& x, const Axes& axes, bool keepdims) {
  return Reduce(OpId::k_all, AsBool(x), axes, keepdims);
}
Tensor argmax(const Tensor& x, const Axes& axes, bool keepdims) {
  return Arg(OpId::k_argmax, x, axes, keepdims);
}
Tensor argmin(const Tensor& x, const Axes& axes, bool keepdims) {
  return Arg(OpId::k_argmin, x, axes, keepdims);
}

}  // namespace frazil::ops
