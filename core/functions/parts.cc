#include "core/functions/parts.h"

#include <charconv>
#include <cmath>
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

std::string FloatText(double v) {
  if (!std::isfinite(v)) return StrCat(v);
  const double size = std::abs(v);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, v,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string out(text, end.ptr);
  return !plain || out.find('.') != std::string::npos ? out : out + ".0";
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

StatusOr<int64_t> Integer(const Tensor& x) {
  if (!x.ok()) return x.status();
  const ValueRef number = x.value_ref();
  FZ_RETURN_IF_ERROR(Read(*number, Reading::kNumber));
  FZ_ASSIGN_OR_RETURN(const ValueRef host, OnHost(*number));
  int64_t out;
  std::memcpy(&out, host->data, sizeof out);
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
