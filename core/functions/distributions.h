// Distributions made of uniform and normal numbers. Called by bindings and frazil.h. A generator is a
// cell that holds its state (random.cc), which drawing replaces.
//
// How many words a draw takes depends on its shape, and of counts on whether the mean is one number
// below 10, so a stream is the same traced and eager and on every device. Where the usual method
// rejects, a fixed number of candidates is drawn at once and the first good one taken; none is good
// in less than one of 10^10 draws, which gives the distribution's mode. Gradients go to locations and
// scales, not to the parameters of shape.
#pragma once

#include <optional>
#include <vector>

#include "absl/numeric/int128.h"
#include "core/functions/composites.h"

#pragma GCC visibility push(default)
namespace frazil::ops {

// A parameter: a tensor, whose data is not looked at, or numbers that are known.
struct Given {
  Given() = default;
  Given(double number);                            // NOLINT
  Given(int number);                               // NOLINT
  Given(const Tensor& tensor) : tensor(tensor) {}  // NOLINT

  Tensor tensor;
  bool known = false;
  Tensor exact = Tensor();       // known numbers before they were rounded to the tensor's dtype
  std::optional<double> number;  // if it is one
};

struct DrawOptions {
  std::optional<std::vector<int64_t>> shape = {};  // else that of the parameters
  std::optional<DType> dtype = {};                 // else the default, or int64 of counts
  Device device = {};
};

// The members are the distributions: of parameters that broadcast.
class Generator {
 public:
  explicit Generator(Tensor* state) : state_(state) {}

  Tensor uniform(Dims shape, DType dtype, Device device = Device());
  Tensor normal(Dims shape, DType dtype, Device device = Device());
  // From low to below high, which lie in [-2^63, 2^64].
  Tensor integers(absl::int128 low, absl::int128 high, Dims shape, DType dtype);
#define FZ_DISTRIBUTION(name, parameters, ...) Tensor name parameters;
#include "core/functions/distributions.def"
  // Positions along an axis with probabilities softmax(logits).
  Tensor categorical(const Tensor& logits, std::optional<std::vector<int64_t>> shape, int64_t axis);
  // Elements of x along an axis with probabilities p, which are read, or equal ones (null).
  Tensor choice(const Tensor& x, Dims shape, bool replace, const Tensor* p, int64_t axis);
  // x along an axis in random order.
  Tensor permutation(const Tensor& x, int64_t axis);

 private:
  Tensor* const state_;
};

}  // namespace frazil::ops
#pragma GCC visibility pop
