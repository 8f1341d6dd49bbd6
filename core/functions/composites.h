// Functions made of ops: the rows of composites.def, and below those whose form is their own in C++
// or in Python. Called by bindings, frazil.h and each other. Invariant: written with
// core/functions/ops.h only, in one place. Errors travel inside the returned tensor.
#pragma once

#include <string_view>
#include <vector>

#include "core/functions/ops.h"

#pragma GCC visibility push(default)
namespace frazil {

enum class CompositeId : uint32_t {
#define FZ_COMPOSITE(home, name, ...) k_##name,
#define FZ_INNER(name, ...) k_##name,
#include "core/functions/composites.def"
};
inline constexpr uint32_t kNumComposites = 0
#define FZ_COMPOSITE(home, name, ...) +1
#define FZ_INNER(name, ...) +1
#include "core/functions/composites.def"
    ;
std::string_view NameOf(CompositeId id);

namespace ops {

// How much less than the number of elements a variance is divided by.
struct Correction {
  Correction(double less) : less(less) {}  // NOLINT
  double less;
};

// The levels of quantiles: a number, or an array of them, which is read.
struct Levels {
  Levels() = default;
  Levels(double level) : values{level} {}  // NOLINT
  explicit Levels(const Tensor& array);
  std::vector<double> values;  // in row-major order of
  std::vector<int64_t> dims;
  Status status;  // why the array could not be read
};

// What a Fourier transform or its inverse is divided by: "backward", "ortho" or "forward".
struct Norm {
  Norm(std::string_view text = "backward") : text(text) {}  // NOLINT
  Norm(const char* text) : text(text) {}                    // NOLINT
  std::string_view text;
};
// Points along each of several axes, if given.
struct Lengths {
  Lengths() = default;
  Lengths(std::initializer_list<int64_t> lengths) : values(lengths) {}  // NOLINT
  Axes values;
};

#define FZ_COMPOSITE(home, name, parameters, ...) Tensor name parameters;
#define FZ_INNER(...)
#include "core/functions/composites.def"

// The nearest multiple of 10^-decimals, halves to even (NumPy's round).
Tensor round_to(const Tensor& x, int64_t decimals);

// g where x is its extreme y over `axes` (which y and g have, with extent 1), else 0: divided by
// the number of elements that equal it.
Tensor share_extreme(const Tensor& g, const Tensor& x, const Tensor& y, const Axes& axes);

// -- Shapes (functions/shape.cc)
Tensor squeeze(const Tensor& x, const Axes& axes);
Tensor expand_dims(const Tensor& x, Dims axes);  // places in the result
inline Tensor expand_dims(const Tensor& x, int64_t axis) { return expand_dims(x, Dims(&axis, 1)); }
Tensor stack(absl::Span<const Tensor> arrays, int64_t axis = 0);
std::vector<Tensor> split(const Tensor& x, int64_t sections,
                          int64_t axis);  // equal parts; one error tensor on failure
Tensor flip(const Tensor& x, const Axes& axes);
Tensor flatten(const Tensor& x);
Tensor swapaxes(const Tensor& x, int64_t a, int64_t b);
Tensor moveaxis(const Tensor& x, Dims source, Dims destination);
Tensor matrix_transpose(const Tensor& x);
Tensor tile(const Tensor& x, Dims repetitions);
Tensor tril(const Tensor& x, int64_t k = 0);
Tensor triu(const Tensor& x, int64_t k = 0);

// -- Indexing (functions/indexing.cc): NumPy's basic and integer-array indexing; a bool array of
// x's leading shape is data-dependent (nonzero) and reads its data.
Tensor getitem(const Tensor& x, absl::Span<const Index> index);
// x with x[index] replaced by v (a new value; the cell is set by the caller).
Tensor setitem(const Tensor& x, absl::Span<const Index> index, const Tensor& v);
// i64 positions of the elements that are not zero, in row-major order, one array per axis; reads
// how many there are. One error tensor on failure.
std::vector<Tensor> nonzero(const Tensor& x);
Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis);

// -- Sorting (functions/sorting.cc). Stable; NaN comes last in either order.
Tensor argsort(const Tensor& x, int64_t axis = -1, bool descending = false);
Tensor sort(const Tensor& x, int64_t axis = -1, bool descending = false);
// Sums and products of the elements up to each one; integers in 64 bits if no dtype is given.
// `include_initial`: of none first.
Tensor cumulative_sum(const Tensor& x, int64_t axis, std::optional<DType> dtype = {},
                      bool include_initial = false);
Tensor cumulative_prod(const Tensor& x, int64_t axis, std::optional<DType> dtype = {},
                       bool include_initial = false);
// Where `values` would stand in `sorted` (one axis): before equal elements, or after them; reads
// its data.
Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool right = false);
// Distinct elements in ascending order. Reads how many there are.
Tensor unique_values(const Tensor& x, bool equal_nan = false);

// -- Counts and differences (functions/counting.cc).
// How often each of 0, 1, 2 ... occurs, or the sums of its weights, if they are defined; at least
// `least` results. Reads the data.
Tensor bincount(const Tensor& x, const Tensor& weights, int64_t least = 0);
// Differences of neighbours along an axis, n times, of what stands between the ends, if these are
// defined: arrays, or numbers that stand for one slice each.
Tensor diff(const Tensor& x, int64_t n = 1, int64_t axis = -1, const Tensor& prepend = Tensor(),
            const Tensor& append = Tensor());

// -- Creation (functions/creation.cc); results are dense.
// zeros, ones, full: filled on the device.
Tensor filled(Dims dims, const Scalar& value, DType dtype, Device device = Device());
Tensor arange(const Scalar& start, const Scalar& stop, const Scalar& step,
              std::optional<DType> dtype);
Tensor linspace(double start, double stop, int64_t n, bool endpoint, DType dtype);
Tensor eye(int64_t rows, int64_t columns, int64_t k, DType dtype);

// -- Fourier transforms (functions/fourier.cc): frequencies of fft's and of rfft's points, d apart.
Tensor fftfreq(int64_t n, double d = 1, DType dtype = DType::kF32);
Tensor rfftfreq(int64_t n, double d = 1, DType dtype = DType::kF32);
// For each point of the half of n, how often it or its conjugate is in the whole: 1 or 2; shaped
// for `axis` of x.
Tensor times_in_whole(const Tensor& x, int axis, int64_t n);

// -- Random (functions/random.cc). A generator is a cell holding u64[2] {key, counter}; drawing
// replaces its content.
Tensor random_state(uint64_t seed);
Tensor random_uniform(Tensor* generator, Dims dims, DType dtype);
Tensor random_normal(Tensor* generator, Dims dims, DType dtype);
Tensor random_integers(Tensor* generator, int64_t low, int64_t high, Dims dims, DType dtype);

// -- Optimizer steps (functions/optimizers.cc): parameters and states are cells, replaced in place.
void sgd_step(Tensor* parameter, const Tensor& gradient, Tensor* velocity, double lr,
              double momentum, double weight_decay);
// The numbers of a step as 0-d tensors of one dtype, which all parameters of that dtype share. `lr`
// is 0-d and converted to it.
struct SgdNumbers {
  SgdNumbers(DType dtype, const Tensor& lr, double momentum, double weight_decay);
  Tensor rate, momentum, decay;
};
void sgd_step(Tensor* parameter, const Tensor& gradient, Tensor* velocity,
              const SgdNumbers& numbers);
// rate: lr / (1 - beta1^t); root: sqrt(1 - beta2^t); 0-d, converted to the dtype.
struct AdamNumbers {
  AdamNumbers(DType dtype, const Tensor& rate, const Tensor& root, double beta1, double beta2,
              double eps, double weight_decay);
  Tensor rate, root, b1, b2, c1, c2, eps, decay;
};
void adam_step(Tensor* parameter, const Tensor& gradient, Tensor* m, Tensor* v,
               const AdamNumbers& numbers);

}  // namespace ops
}  // namespace frazil
#pragma GCC visibility pop
