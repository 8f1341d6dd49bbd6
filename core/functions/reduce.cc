// Axis lists and dtypes for the reduction rows of the table.
#include "core/functions/ops.h"

namespace frazil::ops {
namespace {

Tensor Reduce(OpId op, const Tensor& given, const Axes& axes, bool keepdims) {
  if (!given.ok()) return given;
  const OpInfo& info = Info(op);
  if ((info.traits & traits::kIndex) && axes.has_value() && axes->size() != 1) {
    return ValueError("[", std::string(info.name), "] takes one axis or none, got ",
                      ToString(*axes), ".");
  }
  Tensor own;
  const Tensor* x = &given;
  if (info.types == TypeSet::kBool) x = &(own = astype(given, DType::kBool));
  if (info.traits & traits::kWidens) x = &(own = astype(given, SumFor(given.dtype())));
  int64_t mask = 0;
  if (!axes.has_value()) {
    mask = (int64_t{1} << x->rank()) - 1;
  } else {
    for (int64_t a : *axes) {
      const auto axis = CheckAxis(info.name, a, x->rank());
      if (!axis.ok()) return Tensor(axis.status());
      if (mask >> *axis & 1) {
        return ValueError("[", std::string(info.name), "] axis ", a,
                          " is given twice: ", ToString({axes->data(), axes->size()}), ".");
      }
      mask |= int64_t{1} << *axis;
    }
  }
  const int64_t attrs[] = {mask, keepdims};
  return Apply(op, {x}, attrs);
}

}  // namespace

#define FZ_OP(name, ...)
#define FZ_REDUCE(name, ...)                                      \
  Tensor name(const Tensor& x, const Axes& axes, bool keepdims) { \
    return Reduce(OpId::k_##name, x, axes, keepdims);             \
  }
#include "core/ops.def"

}  // namespace frazil::ops
