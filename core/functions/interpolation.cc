// Interpolation between points of a line: numbers that are there at once, in one pass, and ops for
// those of traces, gradients and batches, with the same bits.
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/backend.h"
#include "core/functions/functions.h"
#include "core/functions/parts.h"
#include "core/infer.h"
#include "core/threads/parallel.h"

namespace frazil::ops {

namespace {

// The first of a vector, or the last for i < 0, as a vector.
Tensor Ends(const Tensor& x, int64_t i) {
  return x.ok() ? Narrow(x, 0, i < 0 ? i + x.layout()->dim(-1) : i, 1) : x;
}

// What interp below computes, in one pass and with its bits: points of one axis that rise from `low`
// to `high`, none of them NaN.
template <typename T>
StatusOr<ValueRef> Interpolated(const Tensor& x, const Tensor& xp, const Tensor& fp, T left,
                                T right) {
  FZ_ASSIGN_OR_RETURN(const Tensor at, Data(searchsorted(xp, x, true)));
  FZ_ASSIGN_OR_RETURN(ValueRef out, Value::Allocate(x.dtype(), Device(), Dense(x.dims())));
  const auto* const places = reinterpret_cast<const int64_t*>(at.value()->data);
  const auto* const from = reinterpret_cast<const T*>(x.value()->data);
  const auto* const points = reinterpret_cast<const T*>(xp.value()->data);
  const auto* const values = reinterpret_cast<const T*>(fp.value()->data);
  auto* const to = reinterpret_cast<T*>(out->data);
  const int64_t n = xp.size();
  const T low = points[0], high = points[n - 1];
  ParallelFor(x.size(), int64_t{1} << 12, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T v = from[i];
      const int64_t below = std::clamp<int64_t>(places[i] - 1, 0, std::max<int64_t>(n - 2, 0));
      const int64_t above = std::min(below + 1, n - 1);
      const T x0 = points[below], x1 = points[above], y0 = values[below], y1 = values[above];
      const T width = x1 > x0 ? x1 - x0 : T(1), inside = v <= low ? low : v >= high ? high : v;
      const T between = (y1 - y0) / width * (inside - x0) + y0;
      const T ends = v >= high ? values[n - 1] : between;
      to[i] = v != v ? v : v < low ? left : v > high ? right : ends;
    }
  });
  return out;
}

// Of real numbers on the CPU that nobody follows; none where the ops have to be called.
template <typename T>
std::optional<Tensor> InterpolatedNow(const Tensor& given_x, const Tensor& given_xp,
                                      const Tensor& given_fp, const std::optional<Arg>& left,
                                      const std::optional<Arg>& right) {
  for (const Tensor* t : {&given_x, &given_xp, &given_fp}) {
    const bool followed = NeedsGrad(State(), *t) || Behind(t->value_ref()).get() != t->value();
    if (followed || t->device() != Device()) return std::nullopt;
  }
  for (const auto* end : {&left, &right}) {
    if (*end && ((*end)->tensor() || (*end)->scalar().is_complex())) return std::nullopt;
  }
  const auto x = Data(given_x), xp = Data(given_xp), fp = Data(given_fp);
  if (!x.ok() || !xp.ok() || !fp.ok()) return std::nullopt;
  const int64_t n = xp->size();
  const auto* const points = reinterpret_cast<const T*>(xp->value()->data);
  const auto* const values = reinterpret_cast<const T*>(fp->value()->data);
  if (!std::is_sorted(points, points + n) || points[0] != points[0] ||
      points[n - 1] != points[n - 1])
    return std::nullopt;
  const T below = left ? static_cast<T>(left->scalar().AsDouble()) : values[0];
  const T above = right ? static_cast<T>(right->scalar().AsDouble()) : values[n - 1];
  auto out = Interpolated<T>(*x, *xp, *fp, below, above);
  return out.ok() ? Tensor(*std::move(out)) : Tensor(out.status());
}

}  // namespace

Tensor interp(const Tensor& given_x, const Tensor& given_xp, const Tensor& given_fp,
              const std::optional<Arg>& given_left, const std::optional<Arg>& given_right,
              std::optional<double> period) {
  if (const Tensor* error = FirstError({&given_x, &given_xp, &given_fp})) return *error;
  for (const Tensor* t : {&given_x, &given_xp}) {
    if (IsComplex(t->dtype()))
      return TypeError("[interp] x and xp must be real, got ", Name(t->dtype()), ".");
  }
  DType common = Promote(Promote(given_x.dtype(), given_xp.dtype()), given_fp.dtype());
  common = IsInexact(common) ? common : DType::kF64;
  Tensor x = astype(given_x, PartOf(common)), xp = astype(given_xp, PartOf(common));
  Tensor fp = astype(given_fp, common);
  if (xp.rank() != 1 || xp.dims() != fp.dims() || xp.size() == 0) {
    return ValueError("[interp] needs points of one axis, got shapes ", Tuple(xp), " and ",
                      Tuple(fp), ".");
  }
  if (!period && State().door == nullptr && (common == DType::kF32 || common == DType::kF64)) {
    const auto now = common == DType::kF32
                         ? InterpolatedNow<float>(x, xp, fp, given_left, given_right)
                         : InterpolatedNow<double>(x, xp, fp, given_left, given_right);
    if (now) return *now;
  }
  if (period) {
    if (*period == 0) return ValueError("[interp] the period must not be 0.");
    const double p = std::abs(*period);
    x = remainder(x, p);
    xp = remainder(xp, p);
    const Tensor order = argsort(xp);
    xp = take(xp, order, 0);
    fp = take(fp, order, 0);
    xp = concat({Ends(xp, -1) - p, xp, Ends(xp, 0) + p}, 0);
    fp = concat({Ends(fp, -1), fp, Ends(fp, 0)}, 0);
  }
  if (!xp.ok()) return xp;
  const int64_t n = xp.dims()[0];
  const Tensor at = searchsorted(xp.Detach(), x.Detach(), true) - Arg(1);
  const Tensor below = clip(at, Arg(0), Arg(std::max<int64_t>(n - 2, 0)));
  const Tensor above = minimum(below + Arg(1), n - 1);
  const Tensor x0 = take(xp, below, 0), y0 = take(fp, below, 0);
  const Tensor x1 = take(xp, above, 0), y1 = take(fp, above, 0);
  const Tensor width = astype(where(greater(x1, x0), x1 - x0, 1.0), x.dtype());
  const Tensor low = Pick(xp, 0, 0), high = Pick(xp, 0, -1);
  const Tensor first = Pick(fp, 0, 0), last = Pick(fp, 0, -1);
  Tensor out = (y1 - y0) / width * (clip(x, Arg(low), Arg(high)) - x0) + y0;
  out = where(greater_equal(x, high), last, out);
  out = where(less(x, low), given_left && !period ? *given_left : Arg(first), out);
  out = where(greater(x, high), given_right && !period ? *given_right : Arg(last), out);
  return astype(where(isnan(x), x, out), fp.dtype());
}

}  // namespace frazil::ops
