// Positions and elements chosen at random.
#include <cmath>
#include <limits>

#include "core/functions/draw.h"

namespace frazil::ops {
namespace {

Tensor Floating(const Tensor& x) {
  return !x.ok() || IsFloat(x.dtype()) ? x : astype(x, FloatFor(x.dtype()));
}

double Epsilon(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return std::numeric_limits<double>::epsilon();
    case DType::kF16:
      return 0x1p-10;
    case DType::kBF16:
      return 0x1p-7;
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

// Refuses what is no distribution, and one with fewer outcomes than `size`, if given.
Status CheckChances(const Tensor& p, std::optional<int64_t> size) {
  Given given(p);
  given.known = true;
  FZ_RETURN_IF_ERROR(CheckRange(given, Range::kChance));
  FZ_ASSIGN_OR_RETURN(const std::vector<double> chances, Numbers(given));
  double total = 0;
  int64_t some = 0;
  for (const double v : chances) {
    total += v;
    some += v > 0;
  }
  if (!chances.empty() && std::abs(total - 1) > std::sqrt(Epsilon(p.dtype())))
    return ValueError("[random.choice] probabilities must sum to 1, got ", FloatText(total), ".");
  if (size && some < *size) {
    return ValueError("[random.choice] ", *size,
                      " elements without replacement need as many probabilities above 0, got ",
                      some, ".");
  }
  return absl::OkStatus();
}

}  // namespace

// By Gumbel's trick.
Tensor Generator::categorical(const Tensor& logits, std::optional<std::vector<int64_t>> shape,
                              int64_t axis) {
  Tensor x = Floating(logits);
  if (!x.ok()) return x;
  if (x.rank() == 0)
    return ValueError("[random.categorical] logits need at least one axis, got a number.");
  x = MoveAxis(x, axis, -1);
  if (!x.ok()) return x;
  const int64_t n = x.layout()->dim(-1);
  if (n == 0) {
    return ValueError("[random.categorical] there is nothing to choose from: shape ", Tuple(x),
                      ".");
  }
  std::vector<int64_t> own(x.dims().begin(), x.dims().end() - 1);
  std::vector<int64_t> batch = shape.value_or(own);
  bool fits = own.size() <= batch.size();
  for (size_t i = 0; fits && i < own.size(); ++i)
    fits = own[i] == 1 || own[i] == batch[batch.size() - own.size() + i];
  batch.push_back(n);
  if (!fits) {
    return ValueError("[random.categorical] logits of shape ", Tuple(x), " do not broadcast to ",
                      Tuple(batch), ".");
  }
  return argmax(x + gumbel(0.0, 1.0, {.shape = batch, .dtype = x.dtype()}), Over({-1}));
}

Tensor Generator::choice(const Tensor& x, Dims shape, bool replace, const Tensor* given_p,
                         int64_t axis) {
  if (!x.ok()) return x;
  const auto along = CheckAxis("random.choice", axis, x.rank());
  if (!along.ok()) return Tensor(along.status());
  const int64_t n = x.dims()[*along];
  int64_t size = 1;
  for (const int64_t extent : shape) size *= extent;
  if (n == 0 && size) return ValueError("[random.choice] there is nothing to choose from.");
  const Tensor p = given_p ? Floating(*given_p) : Tensor();
  if (given_p) {
    if (!p.ok()) return p;
    if (p.rank() != 1 || p.size() != n)
      return ValueError("[random.choice] p has shape ", Tuple(p), ", not ", Tuple({n}), ".");
  }
  if (!replace && size > n)
    return ValueError("[random.choice] ", size, " of ", n, " elements need replacement.");
  if (given_p) {
    const Status s = CheckChances(p, replace ? std::nullopt : std::optional(size));
    if (!s.ok()) return Tensor(s);
  }
  const auto first = [&](const Tensor& keys) {
    return reshape(Narrow(argsort(keys), 0, 0, size), shape);
  };
  const DType wide = DType::kF64;
  Tensor index;
  if (!given_p && replace) {
    index = astype(floor(uniform(shape, wide) * Arg(n)), DType::kI64);
  } else if (!given_p) {
    index = first(uniform({n}, wide));
  } else if (replace) {
    const Tensor ends = cumulative_sum(astype(p, wide), 0);
    if (!ends.ok()) return ends;
    const Tensor at = searchsorted(ends, uniform(shape, wide) * Pick(ends, 0, -1), true);
    index = minimum(at, n - 1);
  } else {  // the largest of perturbed logarithms
    const Tensor noise = gumbel(0.0, 1.0, {.shape = {{n}}, .dtype = wide});
    index = first(-(log(astype(p, wide)) + noise));
  }
  return take(x, index, *along);
}

Tensor Generator::permutation(const Tensor& x, int64_t axis) {
  if (!x.ok()) return x;
  if (x.rank() == 0)
    return ValueError("[random.permutation] needs at least one axis, got a number.");
  const auto along = CheckAxis("random.permutation", axis, x.rank());
  if (!along.ok()) return Tensor(along.status());
  return take(x, argsort(uniform({x.dims()[*along]}, DType::kF64)), *along);
}

}  // namespace frazil::ops
