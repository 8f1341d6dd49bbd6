#include <bit>
#include <cmath>

#include "core/check.h"
#include "core/functions/composite.h"

namespace frazil {

std::string_view NameOf(CompositeId id) {
  static constexpr std::string_view kNames[] = {
#define FZ_COMPOSITE(home, name, ...) #name,
#define FZ_INNER(name, ...) #name,
#include "core/functions/composites.def"
  };
  return kNames[static_cast<int>(id)];
}

namespace ops {
namespace {

// Elements that one result of a reduction covers; 0 if an axis is wrong (the reduction says so).
double CountOf(const Tensor& x, const Axes& axes) {
  if (!axes.has_value()) return static_cast<double>(x.size());
  double n = 1;
  for (int64_t a : *axes) {
    if (a < -x.rank() || a >= x.rank()) return 0;
    n *= static_cast<double>(x.layout()->dim(static_cast<int>(a)));
  }
  return n;
}

Tensor VarBody(const Tensor& x, const Axes& axes, Correction correction, bool keepdims) {
  const Tensor centred = x - mean(x, axes, true);
  const double n = CountOf(x, axes) - correction.less;
  const Tensor squares = centred.ok() && IsComplex(centred.dtype())
                             ? square(real(centred)) + square(imag(centred))
                             : centred * centred;
  return sum(squares, axes, keepdims) / (n > 0 ? n : NAN);
}

// A composite that reduces `f` over axes; `more` are its attributes besides these.
template <typename Body>
Tensor Over(const Axes& axes, CompositeId id, const Tensor& f, std::initializer_list<int64_t> more,
            const Body& body) {
  const std::optional<int64_t> mask = AxisMask(axes, f.rank());
  if (!mask) return body();
  Attrs attrs;
  attrs.push_back(*mask);
  for (const int64_t attr : more) attrs.push_back(attr);
  return Composite(id, {&f}, attrs, body);
}

}  // namespace

Tensor mean(const Tensor& x, const Axes& axes, bool keepdims) {
  const Tensor f = AsFloat(x);
  if (!f.ok()) return f;
  // The sum of 16-bit floats, and their count, may be too large for 16 bits where the mean is not.
  if (IsHalf(f.dtype())) {
    return astype(mean(astype(f, DType::kF32), axes, keepdims), f.dtype());
  }
  return Over(axes, CompositeId::k_mean, f, {keepdims},
              [&] { return sum(f, axes, keepdims) / CountOf(f, axes); });
}

Tensor var(const Tensor& x, const Axes& axes, Correction correction, bool keepdims) {
  const Tensor f = AsFloat(x);
  if (!f.ok()) return f;
  if (IsHalf(f.dtype())) {
    return astype(var(astype(f, DType::kF32), axes, correction, keepdims), f.dtype());
  }
  // The correction joins the element count, which is a constant of the body: it is an
  // attribute.
  return Over(axes, CompositeId::k_var, f, {keepdims, std::bit_cast<int64_t>(correction.less)},
              [&] { return VarBody(f, axes, correction, keepdims); });
}

Tensor std(const Tensor& x, const Axes& axes, Correction correction, bool keepdims) {
  return sqrt(var(x, axes, correction, keepdims));
}

Tensor logsumexp(const Tensor& x, const Axes& axes, bool keepdims) {
  const Tensor f = AsFloat(x);
  if (!f.ok()) return f;
  return Over(axes, CompositeId::k_logsumexp, f, {keepdims}, [&] {
    // The shift is a constant for the gradient; an infinite extreme is left out of the shift.
    const Tensor top = max(f.Detach(), axes, true);
    const Tensor shift = where(isfinite(top), top, 0.0);
    const Tensor out = log(sum(exp(f - shift), axes, true)) + shift;
    if (keepdims || !out.ok()) return out;
    return reshape(out, sum(f.Detach(), axes, false).dims());
  });
}

Tensor count_nonzero(const Tensor& x, const Axes& axes, bool keepdims) {
  if (!x.ok()) return x;
  return Over(axes, CompositeId::k_count_nonzero, x, {keepdims}, [&] {
    return sum(astype(astype(x.Detach(), DType::kBool), DType::kI64), axes, keepdims);
  });
}

Tensor square(const Tensor& x) { return multiply(x, x); }
Tensor reciprocal(const Tensor& x) { return divide(1.0, x); }

Tensor clip(const Tensor& x, const std::optional<Arg>& lo, const std::optional<Arg>& hi) {
  // A bound that every element keeps, because the dtype ends before it, is none.
  const bool ints = x.ok() && IsInt(x.dtype());
  const auto keeps = [&](const Arg& bound, bool below) {
    const Scalar& s = bound.scalar();
    return ints && !bound.tensor() && s.kind == Scalar::Kind::kInt && !Fits(s, x.dtype()) &&
           s.negative() == below;
  };
  if (x.ok() && IsFloat(x.dtype()) && lo && hi && !lo->tensor() && !hi->tensor()) {
    const Tensor low = scalar(lo->scalar(), x.dtype()), high = scalar(hi->scalar(), x.dtype());
    if (low.ok() && high.ok()) {  // what is wrong with a number its op says
      return Composite(CompositeId::k_clip, {&x, &low, &high}, {},
                       [&] { return minimum(maximum(x, low), high); });
    }
  }
  Tensor out = x;
  if (lo.has_value() && !keeps(*lo, true)) out = maximum(out, *lo);
  if (hi.has_value() && !keeps(*hi, false)) out = minimum(out, *hi);
  return out;
}

Tensor round_to(const Tensor& x, int64_t decimals) {
  if (!x.ok() || decimals == 0 || (!IsInexact(x.dtype()) && decimals > 0)) return round(x);
  const double power = std::pow(10.0, std::abs(static_cast<double>(decimals)));
  const Tensor f = AsFloat(x);
  return astype(decimals > 0 ? round(f * power) / power : round(f / power) * power, x.dtype());
}

namespace {
Arg AsBool(const Arg& a, Tensor* keep) {
  if (!a.tensor()) return a.scalar().f != 0 || a.scalar().i != 0 || a.scalar().im != 0;
  *keep = a.tensor()->ok() ? astype(*a.tensor(), DType::kBool) : *a.tensor();
  return *keep;
}
Tensor Logical(OpId op, const Arg& a, const Arg& b) {
  Tensor x, y;
  return Binary(op, AsBool(a, &x), AsBool(b, &y));
}
}  // namespace

Tensor logical_and(const Arg& a, const Arg& b) { return Logical(OpId::k_bitwise_and, a, b); }
Tensor logical_or(const Arg& a, const Arg& b) { return Logical(OpId::k_bitwise_or, a, b); }
Tensor logical_xor(const Arg& a, const Arg& b) { return Logical(OpId::k_bitwise_xor, a, b); }
Tensor logical_not(const Tensor& x) { return x.ok() ? bitwise_invert(astype(x, DType::kBool)) : x; }

Tensor share_extreme(const Tensor& g, const Tensor& x, const Tensor& y, const Axes& axes) {
  const std::optional<int64_t> mask = AxisMask(axes, x.rank());
  FZ_CHECK(mask.has_value());
  return Composite(CompositeId::k_share_extreme, {&g, &x, &y}, {&*mask, 1}, [&] {
    const Tensor hit = astype(equal(x, y), g.dtype());
    return g * hit / sum(hit, axes, true);
  });
}

}  // namespace ops
}  // namespace frazil
