#include "bindings/cpp/control_flow.h"

#include <cmath>

#include "bindings/cpp/frazil.h"

namespace frazil::cpp_internal {

bool IsTrue(const Tensor& condition) {
  if (condition.ok() && (condition.dtype() != DType::kBool || condition.rank() != 0))
    throw Error(TypeError("[cond] a condition is one bool, got ", Describe(condition), "."));
  return item(condition) != 0;
}

int64_t StepsOfBlock(int64_t n, int64_t every) {
  if (every < kSqrtSteps)
    throw Error(ValueError("[scan] checkpoint must be at least 1 step, got ", every, "."));
  if (every == 0) return std::max<int64_t>(n, 1);
  if (every > 0) return every;
  return std::max<int64_t>(1, std::llround(std::ceil(std::sqrt(static_cast<double>(n)))));
}

void CheckIndex(const Tensor& index) {
  if (!index.ok()) throw Error(index.status());
  if (!IsInt(index.dtype()) || index.rank() != 0)
    throw Error(TypeError("[switch] index must be one integer, got ", Describe(index), "."));
}

int64_t BranchOf(const Tensor& index, int64_t n) {
  return std::clamp<int64_t>(static_cast<int64_t>(item(index)), 0, n - 1);
}

int64_t Entries(std::string_view op, absl::Span<const Tensor> xs) {
  for (const Tensor& x : xs) {
    if (!x.ok()) throw Error(x.status());
    if (x.rank() == 0 || x.dims()[0] == 0)
      throw Error(ValueError("[", op, "] needs entries to go along, got ", Describe(x), "."));
    if (x.dims()[0] != xs[0].dims()[0])
      throw Error(ValueError("[", op, "] the first axis has ", x.dims()[0],
                             " entries in one tensor, and ", xs[0].dims()[0], " elsewhere."));
  }
  if (xs.empty()) throw Error(ValueError("[", op, "] xs holds no tensor."));
  return xs[0].dims()[0];
}

namespace {

using Tensors = std::vector<Tensor>;

template <typename F>
Tensors OfEach(const Tensors& xs, const F& f) {
  Tensors out;
  for (const Tensor& x : xs) out.push_back(Sure(f(x)));
  return out;
}

// even[0], odd[0], even[1], ...
Tensor Interleaved(const Tensor& even, const Tensor& odd) {
  const int64_t n = even.dims()[0] + odd.dims()[0];
  const Tensor filled =
      n % 2 != 0 ? ops::concat(std::vector<Tensor>{odd, even(Slice(0, 1))}, 0) : odd;
  absl::InlinedVector<int64_t, 8> dims(even.dims().begin(), even.dims().end());
  dims[0] *= 2;
  return ops::reshape(ops::stack(std::vector<Tensor>{even, filled}, 1), dims)(Slice(0, n));
}

// The recursion over pairs is Blelloch's (1990).
Tensors Pairs(const Combine& combine, const Tensors& xs) {
  const int64_t n = xs.empty() ? 0 : xs[0].dims()[0];
  if (n < 2) return xs;
  const auto every = [&](int64_t begin, std::optional<int64_t> end) {
    return OfEach(xs, [&](const Tensor& x) { return x(Slice(begin, end, 2)); });
  };
  const Tensors odd = Pairs(combine, combine(every(0, n - 1), every(1, std::nullopt)));
  Tensors even = OfEach(xs, [](const Tensor& x) { return x(Slice(0, 1)); });
  if (n > 2) {
    const Tensors before =
        n % 2 != 0 ? odd : OfEach(odd, [](const Tensor& x) { return x(Slice(0, -1)); });
    const Tensors after = combine(before, every(2, std::nullopt));
    for (size_t i = 0; i < even.size(); ++i)
      even[i] = Sure(ops::concat(std::vector<Tensor>{even[i], after.at(i)}, 0));
  }
  for (size_t i = 0; i < even.size(); ++i) even[i] = Sure(Interleaved(even[i], odd.at(i)));
  return even;
}

}  // namespace

std::vector<Tensor> RunningResults(const Combine& combine, std::vector<Tensor> xs, bool reverse,
                                   int64_t axis) {
  const auto front = [&](const Tensor& x) { return ops::moveaxis(x, {axis}, {0}); };
  const auto back = [&](const Tensor& x) { return ops::moveaxis(x, {0}, {axis}); };
  const auto turned = [](const Tensor& x) { return x(Slice({}, {}, -1)); };
  xs = OfEach(xs, front);
  Entries("associative_scan", xs);
  if (reverse) xs = OfEach(xs, turned);
  const Combine checked = [&](const Tensors& a, const Tensors& b) {
    Tensors out = combine(a, b);
    for (size_t i = 0; i < out.size(); ++i) {
      if (Sure(out[i]).dims() != b.at(i).dims() || out[i].dtype() != b[i].dtype())
        throw Error(
            TypeError("[associative_scan] the function must return the shapes and dtypes of "
                      "its arguments, got ",
                      Describe(out[i]), " for ", Describe(b[i]), "."));
    }
    return out;
  };
  xs = Pairs(checked, xs);
  if (reverse) xs = OfEach(xs, turned);
  return OfEach(xs, back);
}

}  // namespace frazil::cpp_internal
