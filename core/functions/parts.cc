#include "core/functions/parts.h"

#include <cstring>

#include "core/backend.h"

namespace frazil::ops {

std::string Tuple(Dims dims) {
  if (dims.size() == 1) return StrCat("(", dims[0], ",)");
  std::string out = List(dims);
  out.front() = '(';
  out.back() = ')';
  return out;
}

std::string List(Dims values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) StrAppend(&out, i ? ", " : "", values[i]);
  return out + "]";
}

Tensor OfInts(absl::Span<const int64_t> values) {
  auto out = Value::Allocate(DType::kI64, Device(), Dense({static_cast<int64_t>(values.size())}));
  if (!out.ok()) return Tensor(std::move(out).status());
  if (!values.empty()) std::memcpy((*out)->data, values.data(), values.size() * sizeof values[0]);
  return Tensor(*std::move(out));
}

StatusOr<std::vector<int64_t>> Integers(const Tensor& x) {
  const Tensor whole = copy(astype(x.Detach(), DType::kI64));
  if (!whole.ok()) return whole.status();
  FZ_RETURN_IF_ERROR(Read(*whole.value()));
  FZ_ASSIGN_OR_RETURN(const ValueRef host, OnHost(*whole.value()));
  std::vector<int64_t> out(static_cast<size_t>(whole.size()));
  if (!out.empty()) std::memcpy(out.data(), host->data, out.size() * sizeof out[0]);
  return out;
}

StatusOr<bool> IsAny(const Tensor& mask) {
  const Tensor some = any(mask);
  if (!some.ok()) return some.status();
  FZ_RETURN_IF_ERROR(Read(*some.value(), Reading::kNumber));
  FZ_ASSIGN_OR_RETURN(const ValueRef host, OnHost(*some.value()));
  return *host->data != 0;
}

}  // namespace frazil::ops
