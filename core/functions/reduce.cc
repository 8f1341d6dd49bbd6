// Axis lists and dtypes for the reduction rows of the table.
#include "core/functions/indices.h"
#include "core/functions/ops.h"
#include "core/tuned.h"

namespace frazil::ops {
namespace {

// Where the first extreme of a long vector is: in the first block that has it. The extremes of
// blocks are found by threads and need no index. The last block may overlap with the one before,
// whose elements come first.
Tensor PlaceInBlocks(OpId op, const Tensor& x) {
  const auto extreme = [&](const Tensor& t, const Axes& axes) {
    return op == OpId::k_argmax ? max(t, axes) : min(t, axes);
  };
  const int64_t n = x.size(), count = n / tuned::kExtremeBlock,
                whole = count * tuned::kExtremeBlock;
  Axes along;
  along.emplace({int64_t{1}});
  Tensor best = extreme(reshape(slice(x, {0, 1, whole}), {count, tuned::kExtremeBlock}), along);
  if (whole < n)
    best = concat({best, reshape(extreme(slice(x, {whole, 1, n - whole}), {}), {1})}, 0);
  const Tensor block = op == OpId::k_argmax ? argmax(best) : argmin(best);
  const Tensor start = minimum(block * tuned::kExtremeBlock, n - tuned::kExtremeBlock);
  const Tensor places = start + iota(tuned::kExtremeBlock, DType::kI64, x.device());
  const Tensor row = TakeAt(x, places, 0);
  return start + (op == OpId::k_argmax ? argmax(row) : argmin(row));
}

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
  if ((info.traits & traits::kIndex) && x->rank() == 1 && mask == 1 && !keepdims &&
      x->size() >= tuned::kExtremeLong && !IsBool(x->dtype())) {
    return PlaceInBlocks(op, x->Detach());
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
