// Elementwise functions that are short formulas: NumPy's daily ones. Composites; what takes two
// numbers meets as core/functions/both.h says, or in the common dtype where integers stay integers.
#include <cmath>
#include <limits>

#include "core/functions/both.h"

namespace frazil::ops {
namespace {

// A floating-point function of one array; 16-bit floats compute in float32 and round once.
template <typename Body>
Tensor OfFloat(CompositeId id, const Tensor& x, const Body& body) {
  if (!x.ok()) return x;
  const Tensor f = astype(x, FloatFor(x.dtype()));
  if (!f.ok()) return f;
  return Composite(id, {&f}, {}, [&] {
    if (!IsHalf(f.dtype())) return body(f);
    return astype(body(astype(f, DType::kF32)), f.dtype());
  });
}

// The operands in the dtype of the op's own result, which says what is wrong with them.
struct Common {
  Common(OpId op, const Arg& a, const Arg& b) : made(Binary(op, a, b)) {
    if (!made.ok()) return;
    x = As(a, made.dtype(), !b.tensor());
    y = As(b, made.dtype(), false);
  }
  Tensor made, x, y;
};

// fmax, fmin: the one that is a number.
Tensor NumberOf(OpId op, const Arg& a, const Arg& b) {
  const Common both(op, a, b);
  if (!both.made.ok() || !IsInexact(both.made.dtype())) return both.made;
  return where(isnan(both.x), both.y, where(isnan(both.y), both.x, both.made));
}

// Steps of Euclid's algorithm that any two numbers of a dtype need: as Fibonacci numbers do.
int EuclidSteps(DType dtype) { return static_cast<int>(SizeOf(dtype) * 8 * 1.4405) + 2; }

StatusOr<DType> CommonInt(const char* op, const Tensor& common) {
  if (!common.ok()) return common.status();
  if (IsInt(common.dtype())) return common.dtype();
  return TypeError("[", op, "] takes integers, got ", std::string(Name(common.dtype())), ".");
}

// abs(x), which the most negative integer has without a sign only.
Tensor Size(const Tensor& x) {
  const int bytes = static_cast<int>(SizeOf(x.dtype()));
  const DType dtype = bytes == 1   ? DType::kU8
                      : bytes == 2 ? DType::kU16
                      : bytes == 4 ? DType::kU32
                                   : DType::kU64;
  return astype(abs(x), dtype);
}

Tensor Divisor(Tensor a, Tensor b) {
  for (int i = EuclidSteps(a.dtype()); i-- > 0;) {
    const Tensor rest = remainder(a, b);  // 0 by 0
    a = where(equal(b, 0), a, b);
    b = rest;
  }
  return a;
}

}  // namespace

Tensor fmax(const Arg& a, const Arg& b) { return NumberOf(OpId::k_maximum, a, b); }
Tensor fmin(const Arg& a, const Arg& b) { return NumberOf(OpId::k_minimum, a, b); }

Tensor fmod(const Arg& a, const Arg& b) {
  const Common both(OpId::k_remainder, a, b);
  const Tensor &rest = both.made, &x = both.x, &y = both.y;
  if (!rest.ok() || IsUnsigned(rest.dtype())) return rest;
  if (IsFloat(rest.dtype())) {
    return Composite(CompositeId::k_fmod, {&x, &y}, {}, [&] {
      const Tensor sign = astype(where(signbit(x.Detach()), -1.0, 1.0), x.dtype());
      return remainder(x * sign, abs(y)) * sign;
    });
  }
  const Tensor apart = not_equal(less(x, 0), less(y, 0));
  return where(bitwise_and(apart, not_equal(rest, 0)), rest - y, rest);
}

Tensor float_power(const Arg& a, const Arg& b) {
  const Both both(a, b);
  if (!both.ok()) return both.error();
  const DType wide = IsComplex(both.x.dtype()) ? DType::kC128 : DType::kF64;
  return pow(astype(both.x, wide), astype(both.y, wide));
}

Tensor index_add(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis) {
  return put(x, indices, updates, axis, true);
}

Tensor exp2(const Tensor& x) { return x.ok() ? pow(2.0, astype(x, FloatFor(x.dtype()))) : x; }

Tensor cbrt(const Tensor& x) {
  if (!x.ok()) return x;
  const Tensor f = astype(x, FloatFor(x.dtype()));
  return Composite(CompositeId::k_cbrt, {&f}, {}, [&] {
    const Tensor sign = where(signbit(f.Detach()), -1.0, 1.0);
    const Tensor a = Wider(f) * sign;
    const Tensor plain = bitwise_or(equal(a, 0.0), logical_not(isfinite(a)));
    const Tensor safe = where(plain, 1.0, a);
    const Tensor guess = pow(safe, 1.0 / 3);
    // A step of Newton's method takes the rounding of 1/3 away.
    const Tensor root = guess - (guess - safe / (guess * guess)) / 3.0;
    return astype(where(plain, a, root) * sign, f.dtype());
  });
}

Tensor deg2rad(const Tensor& x) {
  return OfFloat(CompositeId::k_deg2rad, x, [](const Tensor& f) { return f * (M_PI / 180); });
}
Tensor rad2deg(const Tensor& x) {
  return OfFloat(CompositeId::k_rad2deg, x, [](const Tensor& f) { return f * (180 / M_PI); });
}

Tensor sinc(const Tensor& x) {
  const Tensor f = AsFloat(x);
  return OfFloat(CompositeId::k_sinc, f, [](const Tensor& t) {
    const Tensor zero = equal(t, 0.0);
    const Tensor y = where(zero, 1.0, t) * M_PI;
    return where(zero, 1.0, sin(y) / y);
  });
}

Tensor logaddexp2(const Arg& a, const Arg& b) {
  return OfBoth(CompositeId::k_logaddexp2, a, b, [](const Tensor& first, const Tensor& second) {
    const DType wide = IsHalf(first.dtype()) ? DType::kF32 : first.dtype();  // rounded once
    const Tensor x = astype(first, wide), y = astype(second, wide);
    const Tensor apart = where(equal(x, y), 0.0, x - y);  // equal infinities differ by nothing
    const Tensor more = log1p(exp2(-abs(apart))) * M_LOG2E;
    return astype(maximum(x, y) + more, first.dtype());
  });
}

Tensor heaviside(const Arg& a, const Arg& b) {
  return OfBoth(CompositeId::k_heaviside, a, b, [](const Tensor& x, const Tensor& h) {
    const Tensor side = where(less(x, 0.0), 0.0, where(greater(x, 0.0), 1.0, x.Detach()));
    return where(equal(x, 0.0), h, astype(side, x.dtype()));
  });
}

Tensor isposinf(const Tensor& x) { return bitwise_and(isinf(x), logical_not(signbit(x))); }
Tensor isneginf(const Tensor& x) { return bitwise_and(isinf(x), signbit(x)); }

Tensor lerp(const Arg& a, const Arg& b, const Arg& weight) {
  const Both ends(a, b);
  if (!ends.ok()) return ends.error();
  const Tensor &x = ends.x, &y = ends.y;
  const Tensor t = weight.tensor() ? *weight.tensor() : Number(weight.scalar().AsDouble(), x);
  if (!t.ok()) return t;
  return Composite(CompositeId::k_lerp, {&x, &y, &t}, {}, [&] {
    const Tensor way = y - x;  // from the nearer end, so that both ends are met
    return where(less(t, 0.5), x + way * t, y - way * (1.0 - t));
  });
}

Tensor gcd(const Arg& a, const Arg& b) {
  const Common both(OpId::k_maximum, a, b);
  if (const auto dtype = CommonInt("gcd", both.made); !dtype.ok()) return Tensor(dtype.status());
  const Tensor &x = both.x, &y = both.y;
  return Composite(CompositeId::k_gcd, {&x, &y}, {},
                   [&] { return astype(Divisor(Size(x), Size(y)), x.dtype()); });
}

Tensor lcm(const Arg& a, const Arg& b) {
  const Common both(OpId::k_maximum, a, b);
  if (const auto dtype = CommonInt("lcm", both.made); !dtype.ok()) return Tensor(dtype.status());
  const Tensor &x = both.x, &y = both.y;
  return Composite(CompositeId::k_lcm, {&x, &y}, {}, [&] {
    const Tensor m = Size(x), n = Size(y);
    return astype(floor_divide(m, Divisor(m, n)) * n, x.dtype());
  });
}

Tensor bitwise_count(const Tensor& x) {
  if (!x.ok()) return x;
  if (!IsInt(x.dtype()) && !IsBool(x.dtype())) {
    return TypeError("[bitwise_count] takes integers, got ", std::string(Name(x.dtype())), ".");
  }
  return Composite(CompositeId::k_bitwise_count, {&x}, {}, [&] {
    // Sums in pairs, in groups of four bits, in bytes; then of all bytes.
    const bool wide = SizeOf(x.dtype()) == 8;
    const DType bits = wide ? DType::kU64 : DType::kU32;
    const auto mask = [&](uint64_t v) { return Arg(Scalar::Big(wide ? v : v & 0xFFFFFFFF)); };
    const auto right = [](const Tensor& v, int64_t n) { return bitwise_right_shift(v, Arg(n)); };
    Tensor n = astype(abs(x), bits);
    if (SizeOf(x.dtype()) < 4) n = bitwise_and(n, mask(SizeOf(x.dtype()) == 1 ? 0xFF : 0xFFFF));
    n = n - bitwise_and(right(n, 1), mask(0x5555555555555555));
    n = bitwise_and(n, mask(0x3333333333333333)) +
        bitwise_and(right(n, 2), mask(0x3333333333333333));
    n = bitwise_and(n + right(n, 4), mask(0x0F0F0F0F0F0F0F0F));
    for (int64_t by = 8; by < (wide ? 64 : 32); by *= 2) n = n + right(n, by);
    return astype(bitwise_and(n, mask(0x7F)), DType::kU8);
  });
}

Tensor ldexp(const Tensor& x, const Arg& exponent) {
  if (!x.ok()) return x;
  const Tensor f = astype(x, FloatFor(x.dtype()));
  const Tensor n = exponent.tensor() ? astype(*exponent.tensor(), DType::kF64)
                                     : Number(exponent.scalar().AsDouble(), Wider(f));
  if (!n.ok()) return n;
  return Composite(CompositeId::k_ldexp, {&f, &n}, {}, [&] {
    // In halves: each power alone stays in range where the result does.
    const Tensor half = floor(n * 0.5);
    return astype(Wider(f) * exp2(half) * exp2(n - half), f.dtype());
  });
}

namespace {

// A floating-point dtype as nextafter sees it: bits of the significand, the exponent of the least
// number, the largest number.
struct Shape {
  int bits, least;
  double top;
};

Shape ShapeOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {11, -24, 65504};
    case DType::kBF16:
      return {8, -133, 0x1.fep127};
    case DType::kF32:
      return {24, -149, std::numeric_limits<float>::max()};
    default:
      return {53, -1074, std::numeric_limits<double>::max()};
  }
}

// How far to go from a finite x: over half the way to its neighbour and less than half of the next,
// whichever the direction, so that rounding finds the neighbour.
Tensor Step(const Tensor& x, const Shape& shape) {
  return maximum(abs(x) * std::ldexp(1.1875, -shape.bits), std::ldexp(1.1875, shape.least - 1));
}

// x with its neighbour on the side of y, in the dtype itself: numbers whose step is no normal number
// are scaled, those whose neighbours are the least number apart go by that.
Tensor NextInPlace(const Tensor& x, const Tensor& up, const Shape& shape) {
  const double scale = 0x1p200;
  const auto moved = [&](const Tensor& v, const Tensor& by) { return where(up, v + by, v - by); };
  const Tensor small = less(abs(x), 0x1p-900), least = less_equal(abs(x), 0x1p-1022);
  const Tensor scaled = where(small, x * scale, x);
  const Tensor next = moved(scaled, abs(scaled) * std::ldexp(1.1875, -shape.bits));
  return where(least, moved(x, Number(0x1p-1074, x)), where(small, next * (1 / scale), next));
}

}  // namespace

Tensor nextafter(const Arg& a, const Arg& b) {
  return OfBoth(CompositeId::k_nextafter, a, b, [](const Tensor& first, const Tensor& second) {
    const DType dtype = first.dtype(), wide = IsHalf(dtype) ? DType::kF32 : DType::kF64;
    const Shape shape = ShapeOf(dtype);
    const Tensor x = astype(first, wide).Detach(), y = astype(second, wide).Detach();
    const Tensor up = less(x, y), finite = clip(x, -shape.top, shape.top);
    Tensor out;
    if (dtype == DType::kF64) {
      out = NextInPlace(finite, up, shape);
    } else {
      const Tensor by = Step(finite, shape);
      out = astype(where(up, finite + by, finite - by), dtype);
    }
    out = where(isinf(first.Detach()), astype(finite, dtype), out);  // its neighbour is the largest
    out = where(equal(x, y), second.Detach(), out);
    out = where(bitwise_or(isnan(x), isnan(y)), NAN, out);
    // The gradient is that of x.
    Tensor moves = bitwise_and(isfinite(out), isfinite(first.Detach()));
    moves = bitwise_and(moves, not_equal(out, first.Detach()));  // -0 comes out of 0
    return where(moves, first + (out - first.Detach()), out);
  });
}

namespace {

// x * f(y) that is 0 where x is, unless y is NaN; `none` is what y is replaced by where f is not
// finite.
template <typename F>
Tensor TimesLog(const Tensor& x, const Tensor& y, const Tensor& shown, double none, F f) {
  const Tensor good = bitwise_and(greater(shown, 0.0), isfinite(y));
  const Tensor drop = bitwise_and(equal(x, 0.0), logical_not(bitwise_or(good, isnan(y))));
  return x * f(where(drop, none, y)) + 0.0;  // -0 becomes 0
}

}  // namespace

Tensor xlogy(const Arg& a, const Arg& b) {
  return OfBoth(CompositeId::k_xlogy, a, b, [](const Tensor& x, const Tensor& y) {
    return TimesLog(x, y, y, 1.0, [](const Tensor& t) { return log(t); });
  });
}

Tensor xlog1py(const Arg& a, const Arg& b) {
  return OfBoth(CompositeId::k_xlog1py, a, b, [](const Tensor& x, const Tensor& y) {
    return TimesLog(x, y, y + 1.0, 0.0, [](const Tensor& t) { return log1p(t); });
  });
}

}  // namespace frazil::ops
