#include "core/tensor.h"

namespace frazil {

Status Tensor::status() const {
  if (ok()) return absl::OkStatus();
  if (!value_) return RuntimeError("[tensor] an empty tensor was used.");
  return *value_->status;
}

std::string Describe(const Value& value) {
  return absl::StrCat(std::string(ShortName(value.dtype)), ToString(value.dims()));
}

std::string Describe(const Tensor& tensor) { return Describe(*tensor.value()); }

}  // namespace frazil
