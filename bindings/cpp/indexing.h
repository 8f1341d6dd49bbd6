// Parts of tensors, comparisons, in-place operators and names of dtypes, part of frazil.h:
//
//     x(fz::Slice(1, -1), fz::newaxis, mask)   x[1:-1, None, mask] of Python
//     fz::assign(x, 0.0, fz::Slice(), 2)       x[:, 2] = 0.0
//     x += y;  x < y
//
// Invariants: as in frazil.h; a part is a tensor of its own (no view that writes through), and what
// an in-place operator or assign replaces keeps its shape and dtype.
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "bindings/cpp/error.h"
#include "core/functions/composites.h"

#pragma GCC visibility push(default)
namespace frazil {

// start:stop:step; nullopt, or {}, is what Python leaves out.
struct Slice {
  Slice() = default;
  Slice(std::optional<int64_t> start, std::optional<int64_t> stop,
        std::optional<int64_t> step = std::nullopt)
      : start(start), stop(stop), step(step) {}

  std::optional<int64_t> start, stop, step;
};
struct NewAxis {};
struct Ellipsis {};
inline constexpr NewAxis newaxis;
inline constexpr Ellipsis ellipsis;

namespace cpp_internal {

inline Index ToIndex(const Slice& s) {
  return {.kind = Index::Kind::kSlice, .start = s.start, .stop = s.stop, .step = s.step};
}
inline Index ToIndex(NewAxis) { return {.kind = Index::Kind::kNewAxis}; }
inline Index ToIndex(Ellipsis) { return {.kind = Index::Kind::kEllipsis}; }
inline Index ToIndex(int64_t i) { return {.kind = Index::Kind::kInt, .i = i}; }
inline Index ToIndex(const Tensor& array) {
  if (!array.ok()) throw Error(array.status());
  if (!IsInt(array.dtype()) && !IsBool(array.dtype())) {
    throw Error(IndexError("[getitem] arrays used as indices must be of integer or bool type, got ",
                           Describe(array), "."));
  }
  return {.kind = Index::Kind::kTensor, .tensor = array};
}

// cell = make(), over the old memory where nobody else needs it. An error names `op`.
Tensor& InPlace(std::string_view op, Tensor& cell, const Arg& with,
                absl::FunctionRef<Tensor()> make);

}  // namespace cpp_internal

// What x[index...] is in Python: integers, Slice, newaxis, ellipsis, integer or bool tensors.
template <typename... I>
Tensor Tensor::operator()(const I&... index) const {
  Initialize();
  const std::array<Index, sizeof...(I)> list = {cpp_internal::ToIndex(index)...};
  return Checked(ops::getitem(*this, list), "getitem");
}

// x[index...] = v.
template <typename... I>
void assign(Tensor& x, const Arg& v, const I&... index) {
  Initialize();
  const std::array<Index, sizeof...(I)> list = {cpp_internal::ToIndex(index)...};
  const Tensor value =
      Checked(v.tensor() ? ops::astype(*v.tensor(), x.dtype()) : ops::scalar(v.scalar(), x.dtype()),
              "setitem");
  cpp_internal::InPlace("setitem", x, value, [&] { return ops::setitem(x, list, value); });
}

#define FZ_INPLACE(sign, name)                                                  \
  inline Tensor& operator sign##=(Tensor& a, const Arg& b) {                    \
    return cpp_internal::InPlace(#name, a, b, [&] { return ops::name(a, b); }); \
  }
FZ_INPLACE(+, add)
FZ_INPLACE(-, subtract)
FZ_INPLACE(*, multiply)
FZ_INPLACE(/, divide)
FZ_INPLACE(%, remainder)
FZ_INPLACE(&, bitwise_and)
FZ_INPLACE(|, bitwise_or)
FZ_INPLACE(^, bitwise_xor)
#undef FZ_INPLACE

#define FZ_OPERATOR(sign, name)                                \
  inline Tensor operator sign(const Tensor& a, const Arg& b) { \
    return Initialize(), Checked(ops::name(a, b), #name);      \
  }                                                            \
  inline Tensor operator sign(double a, const Tensor& b) {     \
    return Initialize(), Checked(ops::name(a, b), #name);      \
  }
FZ_OPERATOR(<, less)
FZ_OPERATOR(<=, less_equal)
FZ_OPERATOR(>, greater)
FZ_OPERATOR(>=, greater_equal)
FZ_OPERATOR(%, remainder)
#undef FZ_OPERATOR
// No number on the left: C++ would turn these around and expect a bool.
#define FZ_EQUALITY(sign, name, B)                           \
  inline Tensor operator sign(const Tensor& a, const B& b) { \
    return Initialize(), Checked(ops::name(a, b), #name);    \
  }
FZ_EQUALITY(==, equal, Tensor)
FZ_EQUALITY(==, equal, Arg)
FZ_EQUALITY(!=, not_equal, Tensor)
FZ_EQUALITY(!=, not_equal, Arg)
#undef FZ_EQUALITY
inline Tensor operator&(const Tensor& a, const Tensor& b) {
  return Initialize(), Checked(ops::bitwise_and(a, b), "bitwise_and");
}
inline Tensor operator|(const Tensor& a, const Tensor& b) {
  return Initialize(), Checked(ops::bitwise_or(a, b), "bitwise_or");
}
inline Tensor operator^(const Tensor& a, const Tensor& b) {
  return Initialize(), Checked(ops::bitwise_xor(a, b), "bitwise_xor");
}

// -- Names of dtypes, those of Python.
inline constexpr DType bool_ = DType::kBool, int8 = DType::kI8, int16 = DType::kI16,
                       int32 = DType::kI32, int64 = DType::kI64, uint8 = DType::kU8,
                       uint16 = DType::kU16, uint32 = DType::kU32, uint64 = DType::kU64,
                       float16 = DType::kF16, bfloat16 = DType::kBF16, float32 = DType::kF32,
                       float64 = DType::kF64, complex64 = DType::kC64, complex128 = DType::kC128;

}  // namespace frazil
#pragma GCC visibility pop
