// Type promotion: NumPy 2's table (NEP 50), with weak Python scalars. Called by core/functions.
// Invariant: symmetric and independent of values, except that a Python int must fit the array's
// dtype.
#pragma once

#include <cstdint>
#include <optional>

#include "core/dtype.h"
#include "core/status.h"
#include "core/tensor.h"

#pragma GCC visibility push(default)
namespace frazil {

// A Python number beside an array.
struct Scalar {
  enum class Kind : uint8_t { kBool, kInt, kFloat, kComplex } kind = Kind::kInt;
  bool big = false;  // kInt: the value is `i` as an unsigned 64-bit number
  int64_t i = 0;     // kBool, kInt
  double f =
      0;  // kFloat, kComplex: real part; kInt: 0, or the double nearest to a value beyond 64 bits
  double im = 0;  // kComplex

  static Scalar Bool(bool v) { return {Kind::kBool, false, v, 0}; }
  static Scalar Int(int64_t v) { return {Kind::kInt, false, v, 0}; }
  static Scalar Big(uint64_t v) { return {Kind::kInt, true, static_cast<int64_t>(v), 0}; }
  static Scalar Beyond(double nearest) { return {Kind::kInt, false, 0, nearest}; }
  static Scalar Float(double v) { return {Kind::kFloat, false, 0, v}; }
  static Scalar Complex(double re, double im) { return {Kind::kComplex, false, 0, re, im}; }

  bool beyond() const { return kind == Kind::kInt && f != 0; }
  bool is_complex() const { return kind == Kind::kComplex; }
  bool negative() const { return kind == Kind::kInt && !big && (i < 0 || f < 0); }
  // The nearest double, as Python converts; of a complex number its real part.
  double AsDouble() const {
    if (kind >= Kind::kFloat || beyond()) return f;
    return big ? static_cast<double>(static_cast<uint64_t>(i)) : static_cast<double>(i);
  }
};

// The common dtype of two arrays.
DType Promote(DType a, DType b);
// The dtype of an array beside a Python number of this kind.
DType Promote(DType a, Scalar::Kind kind);
// The dtype in which a floating-point function of this dtype is computed (NumPy: int8 -> float16
// ...).
DType FloatFor(DType a);
// The dtype of a quotient of two arrays of dtype a (integers: float64).
DType QuotientFor(DType a);
// The dtype in which integers are summed (int64 or uint64); floats stay.
DType SumFor(DType a);
// The default dtype of a Python number on its own: bool, int64, float32, complex64.
DType DefaultFor(Scalar::Kind kind);

// Whether the integer dtype holds the Python int.
bool Fits(const Scalar& scalar, DType dtype);
// The number as an immediate value of `dtype`. OverflowError if a Python int does not fit.
StatusOr<ValueRef> ToImmediate(std::string_view op, const Scalar& scalar, DType dtype);
// The bits of a double converted to dtype (floats round to nearest even, ints saturate).
uint64_t BitsOf(DType dtype, double value);

}  // namespace frazil
#pragma GCC visibility pop
