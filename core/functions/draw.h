// One draw of a distribution: its shape, the dtype in which it computes, its parameters. Used by
// distributions.cc and counts.cc. Invariant: what it draws does not depend on its parameters, but for
// counts whose mean is one number.
#pragma once

#include <initializer_list>

#include "core/functions/distributions.h"
#include "core/functions/functions.h"
#include "core/functions/parts.h"

namespace frazil::ops {

// Where a parameter's numbers must lie, if they are known.
enum class Range { kAny, kPositive, kNotNegative, kCount, kChance, kSomeChance };
Status CheckRange(const Given& given, Range range);
// The numbers of a known parameter.
StatusOr<std::vector<double>> Numbers(const Given& given);

struct Bounded {
  const Given& given;
  Range range = Range::kAny;
};

class Draw {
 public:
  // `dtype`: of counts float64.
  Draw(Generator* generator, std::string_view name, const DrawOptions& options,
       std::initializer_list<Bounded> parameters, std::optional<DType> dtype = {});

  bool ok() const { return status_.ok(); }
  Tensor error() const { return Tensor(status_); }
  Dims shape() const { return shape_; }
  DType wide() const { return wide_; }
  const Tensor& operator[](size_t i) const { return parameters_[i]; }
  // The result in the shape and the dtype of the draw.
  Tensor Out(const Tensor& value) const { return astype(broadcast_to(value, shape_), dtype_); }

  Tensor Uniform(int64_t candidates = 0);  // none: one number, not an axis of candidates
  Tensor Normal(int64_t candidates = 0);
  Tensor Inside();  // uniform in (0, 1)
  Tensor Exponential() { return -log1p(-Uniform()); }
  // The logarithm of a gamma number of parameter i: of small shapes the number itself may be 0.
  Tensor LogGamma(size_t i, double factor = 1);
  // Counts as float64; `mean`: if it is one number.
  Tensor Poisson(const Tensor& mean, std::optional<double> number = {});
  Tensor Binomial(const Tensor& n, const Tensor& p, std::optional<double> number = {});

 private:
  DimVec With(int64_t candidates) const;
  Tensor FewOf(const Tensor& mean);
  Tensor ManyOf(const Tensor& mean);
  Tensor FewSuccesses(const Tensor& n, const Tensor& q);
  Tensor ManySuccesses(const Tensor& n, const Tensor& q);

  Generator* const generator_;
  Status status_;
  DType dtype_, wide_;
  Device device_;
  DimVec shape_;
  Tensors parameters_;
};

// The first good one along the first axis.
Tensor FirstGood(const Tensor& good, const Tensor& candidates, double otherwise);
inline Tensor And(const Tensor& a, const Tensor& b) { return bitwise_and(a, b); }
inline Tensor Or(const Tensor& a, const Tensor& b) { return bitwise_or(a, b); }

}  // namespace frazil::ops
