#include "core/functions/indices.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/backend.h"
#include "core/check.h"
#include "core/functions/composite.h"
#include "core/functions/parts.h"
#include "core/infer.h"
#include "core/tuned.h"

namespace frazil::ops {
namespace {

int64_t ExtentOf(Dims dims, const ArrayIndex& index) {
  int64_t extent = 1;
  for (int a = index.axis; a < index.axis + index.axes; ++a) extent *= dims[a];
  return extent;
}

}  // namespace

Tensor JoinedPositions(absl::Span<const Tensor> arrays, AttrSpan attrs) {
  Tensor joined;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const Arg extent(attrs[2 * i]);
    Tensor index = astype(arrays[i], DType::kI64);
    if (!attrs[2 * i + 1]) index = where(less(index, int64_t{0}), add(index, extent), index);
    joined = i == 0 ? index : joined * extent + index;
  }
  return joined;
}

Tensor Integers(std::string_view op, const Tensor& indices) {
  if (!indices.ok()) return indices;
  const DType dtype = indices.dtype();
  if (!IsInt(dtype) || dtype == DType::kU64) {
    return TypeError("[", std::string(op), "] indices must be integers, got ", Describe(indices),
                     ".");
  }
  const bool fits = dtype == DType::kI32 || dtype == DType::kI64;
  return fits ? Tensor(indices.value_ref()) : astype(indices.Detach(), DType::kI64);
}

Tensor Positions(std::string_view op, const Tensor& x, Dims dims,
                 absl::Span<const ArrayIndex> arrays) {
  if (!x.ok()) return x;
  absl::InlinedVector<Tensor, 4> fixed;
  Attrs attrs;
  const Layout* shape = nullptr;
  bool as_they_are = arrays.size() == 1;
  for (const ArrayIndex& index : arrays) {
    const KeepsContent keeps;
    Tensor array = to_device(Integers(op, index.array), x.device());
    if (!array.ok()) return array;
    const auto common = BroadcastShapes("getitem", shape ? shape : array.shape(), array.shape());
    if (!common.ok()) {
      return IndexError("[", std::string(op),
                        "] index arrays do not broadcast: ", ToString(shape->dims()), " and ",
                        ToString(array.dims()), ".");
    }
    shape = *common;
    attrs.insert(attrs.end(), {ExtentOf(dims, index), index.normal});
    fixed.push_back(std::move(array));
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].normal) continue;
    const int64_t extent = attrs[2 * i];
    const StatusOr<bool> negative = CheckIndexRange(
        op, fixed[i], {-extent, extent}, [&] { return ElementsAlong(x, arrays[i].axis); });
    if (!negative.ok()) return Tensor(negative.status());
    // Outside of a trace, which looks the same whatever the indices are.
    as_they_are &= !*negative && State().door == nullptr;
  }
  if (as_they_are || (arrays.size() == 1 && arrays[0].normal)) return fixed[0];
  const KeepsContent keeps;
  absl::InlinedVector<const Tensor*, 4> inputs;
  for (const Tensor& array : fixed) inputs.push_back(&array);
  Tensor out;
  ApplyComposite({static_cast<uint32_t>(CompositeId::k_positions_of), inputs, attrs},
                 [&](absl::Span<Tensor> outputs) { outputs[0] = JoinedPositions(fixed, attrs); },
                 {&out, 1});
  return out;
}

Tensor TakeAt(const Tensor& x, const Tensor& positions, int64_t axis) {
  if (!positions.ok()) return positions;
  const Tensor* inputs[] = {&x, &positions};
  return Apply({OpId::k_take, inputs, {&axis, 1}, /*indices_checked=*/true});
}

Tensor PutAt(const Tensor& x, const Tensor& positions, const Tensor& updates, int64_t axis,
             int64_t axes, bool add) {
  if (!positions.ok()) return positions;
  if (!updates.ok()) return updates;
  const Tensor* inputs[] = {&x, &positions, &updates};
  const int64_t attrs[] = {axis, add, axes};
  return Apply({OpId::k_put, inputs, attrs, /*indices_checked=*/true});
}

namespace {

// How many of a few elements that nobody follows are true.
std::optional<int64_t> CountFew(const Tensor& mask) {
  const Value& v = *mask.value();
  const ThreadState& state = State();
  if (state.door || state.observer || v.dtype != DType::kBool || v.size() > tuned::kFewElements ||
      !mask.layout()->dense || v.immediate || !(mask.device() == Device()) || !Read(v).ok())
    return std::nullopt;
  return std::count(v.data, v.data + v.size(), char{1});
}

}  // namespace

Tensor TruePositions(const Tensor& x, bool split) {
  const KeepsContent keeps;
  const Tensor mask(x.value_ref());  // what is counted is what is looked for
  if (const std::optional<int64_t> few = CountFew(mask)) {
    const int64_t attrs[] = {*few, split};
    return Apply(OpId::k_positions, {&mask}, attrs);
  }
  const StatusOr<int64_t> count = Integer(count_nonzero(mask));
  if (!count.ok()) return Tensor(count.status());
  const int64_t attrs[] = {*count, split};
  return Apply(OpId::k_positions, {&mask}, attrs);
}

}  // namespace frazil::ops
