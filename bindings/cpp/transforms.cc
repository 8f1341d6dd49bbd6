#include "bindings/cpp/transforms.h"

#include "bindings/cpp/frazil.h"

namespace frazil::cpp_internal {

Tensor Basis(const Tensor& like) {
  const int64_t n = like.size();
  const Tensor at = ops::iota(n, DType::kI64, like.device());
  const Tensor unit = ops::astype(ops::equal(at, ops::reshape(at, {n, 1})), like.dtype());
  absl::InlinedVector<int64_t, 8> dims(like.dims().begin(), like.dims().end());
  dims.insert(dims.begin(), n);
  return Sure(ops::reshape(unit, dims));
}

namespace {

Tensor Split(const Tensor& x, Dims first, Dims second) {
  absl::InlinedVector<int64_t, 8> dims(first.begin(), first.end());
  dims.insert(dims.end(), second.begin(), second.end());
  return Sure(ops::reshape(x, dims));
}

}  // namespace

Tensor Columns(const Tensor& all, const Tensor& of) {
  const Dims rest = all.dims().subspan(1);
  absl::InlinedVector<int64_t, 8> order;
  for (int i = 1; i < all.rank(); ++i) order.push_back(i);
  order.push_back(0);
  return Split(ops::permute_dims(all, order), rest, of.dims());
}

Tensor Rows(const Tensor& all, const Tensor& of) {
  return Split(all, of.dims(), all.dims().subspan(1));
}

}  // namespace frazil::cpp_internal
