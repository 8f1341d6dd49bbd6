// Functions of a complex number in float64, on its parts. Branches are chosen by where, and each is
// given harmless numbers where it is not chosen, so that neither values nor gradients of the others
// come through.
#include <limits>
#include <numbers>

#include "core/functions/complex.h"
#include "core/functions/composites.h"

namespace frazil::ops {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kPi = std::numbers::pi, kLn2 = std::numbers::ln2;

Tensor And(const Tensor& a, const Tensor& b) { return bitwise_and(a, b); }
Tensor Or(const Tensor& a, const Tensor& b) { return bitwise_or(a, b); }
Tensor Not(const Tensor& a) { return bitwise_invert(a); }
Tensor IsZero(const Tensor& a) { return equal(a, 0.0); }
Tensor Signed(const Tensor& size, const Tensor& sign) { return copysign(size, sign); }
// x where it is chosen, a harmless number elsewhere.
Tensor Only(const Tensor& chosen, const Tensor& x, double elsewhere = 1.0) {
  return where(chosen, x, elsewhere);
}
// One of two float64 numbers. (Two Python numbers would meet in float32.)
Tensor Pick(const Tensor& c, double a, const Arg& b) {
  return where(c, scalar(Scalar::Float(a), DType::kF64), b);
}
Parts Where(const Tensor& c, const Parts& a, const Parts& b) {
  return {where(c, a.re, b.re), where(c, a.im, b.im)};
}
Parts Times(const Parts& z, const Arg& real) {
  return {multiply(z.re, real), multiply(z.im, real)};
}
Parts TimesI(const Parts& z) { return {-z.im, z.re}; }
Parts OverI(const Parts& z) { return {z.im, -z.re}; }

// e^x as a product of two numbers, of which the second is large where the first would overflow.
struct ScaledExp {
  explicit ScaledExp(const Tensor& x) {
    const Tensor over = And(greater(x, 709.0), isfinite(x));
    value = exp(where(over, x - 709.0, x));
    rest = Pick(over, 8.218407461554972e307, 1.0);
  }
  Tensor value, rest;
};

Parts Exp(const Parts& z) {
  const ScaledExp e(z.re);
  const Tensor still = IsZero(z.im), wild = Not(isfinite(z.im));
  Tensor re = e.value * cos(z.im) * e.rest, im = e.value * sin(z.im) * e.rest;
  im = where(still, z.im, im);
  re = where(And(still, isnan(z.re)), z.re, re);
  const Tensor none = And(wild, equal(z.re, -kInf));
  re = where(And(wild, equal(z.re, kInf)), kInf, where(none, 0.0, re));
  return {re, where(none, 0.0, im)};
}

Parts Expm1(const Parts& z) {
  const Parts e = Exp(z);
  const Tensor s = sin(z.im * 0.5);
  const Tensor small = expm1(z.re) * cos(z.im) - s * s * 2.0 + 0.0;  // never -0
  return {where(And(less(abs(z.re), 700.0), isfinite(z.im)), small, e.re - 1.0), e.im};
}

// Numbers so large or small that squares leave float64 are scaled by a power of two; the factor's
// logarithm.
struct Scaled {
  explicit Scaled(const Parts& z) {
    const Tensor size = maximum(abs(z.re), abs(z.im)).Detach();
    const Tensor large = greater(size, 0x1p500), small = less(size, 0x1p-500);
    factor = Pick(large, 0x1p-550, Pick(small, 0x1p540, 1.0));
    parts = Times(z, factor);
    log = Pick(large, 550 * kLn2, Pick(small, -540 * kLn2, 0.0));
  }
  Parts parts;
  Tensor factor, log;
};

// a * a as a sum of two numbers without error (Dekker 1971), for |a| around 1.
struct Square {
  explicit Square(const Tensor& a) {
    const Tensor c = a * 134217729.0;
    const Tensor high = c - (c - a), low = a - high;
    value = a * a;
    error = ((high * high - value) + high * low * 2.0) + low * low;
  }
  Tensor value, error;
};

// The sum of a and b is value + error (Knuth 1969).
struct Sum {
  Sum(const Tensor& a, const Arg& b) {
    value = a + b;
    const Tensor c = value - a;
    error = (a - (value - c)) + subtract(b, c);
  }
  Tensor value, error;
};

// log|z|, precise where that is near 0.
Tensor LogAbs(const Parts& z) {
  const Tensor x = abs(z.re), y = abs(z.im);
  const Tensor large = maximum(x, y), small = minimum(x, y);
  const Tensor near = And(And(greater(large, 0.5), less(large, 1.5)), isfinite(small));
  const Square a(Only(near, large)), b(Only(near, small, 0.0));
  const Sum less_one(a.value, -1.0), both(less_one.value, b.value);
  const Tensor excess = both.value + (both.error + less_one.error + a.error + b.error);
  const Scaled scaled({Only(Not(near), z.re), Only(Not(near), z.im, 0.0)});
  const Tensor far = log(hypot(scaled.parts.re, scaled.parts.im)) + scaled.log;
  return where(near, log1p(Only(near, excess)) * 0.5, far);
}

Parts Log(const Parts& z) { return {LogAbs(z), atan2(z.im, z.re)}; }

Parts Log1p(const Parts& z) {
  const Parts one_more = {z.re + 1.0, z.im};
  const Tensor near = And(less(abs(z.re), 0.5), less(abs(z.im), 0.5));
  const Tensor x = Only(near, z.re), y = Only(near, z.im);
  const Tensor close = log1p(x * (x + 2.0) + y * y) * 0.5;
  return {where(near, close, LogAbs(one_more)), atan2(z.im, one_more.re)};
}

Parts Log2(const Parts& z) { return Times(Log(z), 1.4426950408889634); }
Parts Log10(const Parts& z) { return Times(Log(z), 0.4342944819032518); }

Parts Sqrt(const Parts& z) {
  const Tensor size = maximum(abs(z.re), abs(z.im)).Detach();
  const Tensor none = IsZero(size), endless = isinf(z.im);
  const Tensor large = greater(size, 0x1p1000), small = less(size, 0x1p-900);
  const Parts w = Times(z, Pick(large, 0x1p-4, Pick(small, 0x1p108, 1.0)));
  const Tensor back = Pick(large, 0x1p2, Pick(small, 0x1p-54, 1.0));
  const Tensor x = Only(Not(none), w.re), y = Only(Not(none), w.im);
  const Tensor t = sqrt((abs(x) + hypot(x, y)) * 0.5);
  const Tensor other = y / (t + t);
  const Tensor left = signbit(x);
  const Parts root = {where(left, abs(other), t) * back, where(left, Signed(t, y), other) * back};
  const Tensor special = Or(none, endless);
  return {where(special, Pick(none, 0.0, kInf), root.re), where(special, z.im, root.im)};
}

// sinh(x) and cosh(x), each times `rest`, which is large where they would overflow.
struct Hyperbolic {
  explicit Hyperbolic(const Tensor& x) {
    const Tensor over = And(greater(abs(x), 709.0), isfinite(x));
    const Tensor size = exp(Only(over, abs(x) - 709.0)) * 0.5;
    s = where(over, Signed(size, x), sinh(where(over, 1.0, x)));
    c = where(over, size, cosh(where(over, 1.0, x)));
    rest = Pick(over, 8.218407461554972e307, 1.0);
  }
  Tensor s, c, rest;
};

Parts Sinh(const Parts& z) {
  const Hyperbolic h(z.re);
  const Tensor still = IsZero(z.im), wild = Not(isfinite(z.im));
  const Tensor kept = Or(And(wild, Or(isinf(z.re), IsZero(z.re))), And(still, Not(isfinite(z.re))));
  return {where(kept, z.re, h.s * cos(z.im) * h.rest),
          where(still, z.im, h.c * sin(z.im) * h.rest)};
}

Parts Cosh(const Parts& z) {
  const Hyperbolic h(z.re);
  const Tensor still = IsZero(z.im), wild = Not(isfinite(z.im));
  const Tensor zero = Pick(not_equal(signbit(z.re), signbit(z.im)), -0.0, 0.0);
  const Tensor kept = Or(And(still, Not(isfinite(z.re))), And(wild, IsZero(z.re)));
  return {where(And(wild, isinf(z.re)), kInf, h.c * cos(z.im) * h.rest),
          where(kept, zero, h.s * sin(z.im) * h.rest)};
}

Parts Tanh(const Parts& z) {
  const Tensor wild = Not(isfinite(z.im));
  const Tensor far = greater(abs(z.re), 22.0), near = Not(far);
  const Tensor x = Only(near, z.re), y = where(wild, 1.0, z.im);
  const Tensor t = tan(y), s = sinh(x);
  const Tensor beta = t * t + 1.0, rho = sqrt(s * s + 1.0);
  const Tensor below = beta * s * s + 1.0;
  const Tensor tail = sin(y) * cos(y) * exp(abs(Only(far, z.re)) * -2.0) * 4.0;
  Parts out = {where(far, Signed(where(far, 1.0, x), z.re), beta * rho * s / below),
               where(far, tail, t / below)};
  const Tensor nan = And(wild, Not(isinf(z.re)));
  out.im = where(nan, z.im - z.im, out.im);
  out.re = where(And(nan, Not(IsZero(z.re))), z.im - z.im, out.re);
  return {out.re, where(And(isnan(z.re), IsZero(z.im)), z.im, out.im)};
}

Parts Sin(const Parts& z) { return OverI(Sinh(TimesI(z))); }
Parts Cos(const Parts& z) { return Cosh(TimesI(z)); }
Parts Tan(const Parts& z) { return OverI(Tanh(TimesI(z))); }

// What asin and acos of x + iy share, for x and y not below 0 (Hull, Fairgrieve and Tang 1997):
// the imaginary part of the one, the real part of either.
struct Inverse {
  explicit Inverse(const Parts& z) {
    const Tensor size = maximum(abs(z.re), abs(z.im));
    huge = Not(less(size, 0x1p52));  // NaN, too
    tiny = less(size, 0x1p-27);
    inner = Not(Or(huge, tiny));
    const Tensor x = Only(inner, abs(z.re), 0.25), y = Only(inner, abs(z.im), 0.25);
    const Tensor flat = less(y, 0x1p-200), high = where(flat, 1.0, y);  // y * y is nothing
    const Tensor over = greater_equal(x, 1.0);
    const Tensor r = hypot(x + 1.0, high), s = hypot(x - 1.0, high);
    const Tensor a = where(flat, maximum(x, 1.0), (r + s) * 0.5);
    const Tensor b = x / a, y2 = high * high;
    // a - 1, and (a - x)(a + x), without cancellation.
    const Tensor down = where(over, s + (x - 1.0), y2 / (s + (1.0 - where(over, 0.0, x))));
    const Tensor am1 = (y2 / (r + (x + 1.0)) + down) * 0.5;
    const Tensor up = where(over, y2 / (s + (where(over, x, 2.0) - 1.0)), s + (1.0 - x));
    const Tensor root = sqrt((a + x) * (y2 / (r + x + 1.0) + up) * 0.5);
    // On the real axis: x - 1 and 1 - x are exact.
    const Tensor out = And(flat, greater(x, 1.0)), in = And(flat, less(x, 1.0));
    const Tensor along = sqrt((where(out, x, 2.0) - 1.0) * (x + 1.0));
    const Tensor within = sqrt((1.0 - where(in, x, 0.0)) * (x + 1.0));
    const Tensor tip = sqrt(where(And(flat, equal(x, 1.0)), y, 1.0));
    const Tensor side = where(out, x / along * y, where(in, within, tip));  // of the triangle
    height = where(flat, side, root);
    base = x;
    const Tensor close = less(a, 1.5);
    const Tensor m = Only(close, am1);
    const Tensor rise = where(close, log1p(m + sqrt(m * (a + 1.0))),
                              log(a + sqrt(Only(Not(close), a * a, 4.0) - 1.0)));
    const Tensor flat_rise =
        where(out, log1p((where(out, x, 2.0) - 1.0) + along), where(in, y / within, tip));
    imaginary = where(flat, flat_rise, rise);
    const Tensor wide = Only(huge, abs(z.re)), tall = Only(huge, abs(z.im));
    const Scaled scaled({wide, tall});
    far_height = log(hypot(scaled.parts.re, scaled.parts.im)) + scaled.log + kLn2;
    far_x = wide;
    far_y = tall;
    imaginary = where(huge, far_height, where(tiny, abs(z.im), imaginary));
  }
  Tensor huge, tiny, inner, height, base, imaginary, far_height, far_x, far_y;
};

Parts Asin(const Parts& z) {
  const Inverse in(z);
  Tensor re = atan2(in.base, in.height);
  re = where(in.huge, atan2(in.far_x, in.far_y), where(in.tiny, abs(z.re), re));
  re = where(And(IsZero(z.re), isnan(z.im)), 0.0, re);
  return {Signed(re, z.re), Signed(in.imaginary, z.im)};
}

Parts Acos(const Parts& z) {
  const Inverse in(z);
  // Above the real axis right of 0; beside it the angle on the other side.
  const Tensor base = where(signbit(z.re), -in.base, in.base);
  const Tensor far_x = where(signbit(z.re), -in.far_x, in.far_x);
  Tensor re = atan2(in.height, base);
  re = where(in.huge, atan2(in.far_y, far_x),
             where(in.tiny, kPi / 2 - (z.re - 6.123233995736766e-17), re));
  re = where(And(IsZero(z.re), isnan(z.im)), kPi / 2, re);
  return {re, Signed(in.imaginary, -z.im)};
}

Parts Asinh(const Parts& z) { return OverI(Asin(TimesI(z))); }

Parts Acosh(const Parts& z) {
  const Parts w = Acos(z);
  return {abs(w.im), Signed(w.re, z.im)};
}

Parts Atanh(const Parts& z) {
  const Tensor size = maximum(abs(z.re), abs(z.im));
  const Tensor huge = Not(less(size, 0x1p52)), tiny = less(size, 0x1p-27);
  const Tensor inner = Not(Or(huge, tiny));
  const Tensor x = Only(inner, abs(z.re), 0.25), y = Only(inner, abs(z.im), 0.25);
  const Tensor flat = less(y, 0x1p-200);  // y * y is nothing
  const Tensor tip = And(flat, equal(x, 1.0));
  const Tensor away = where(tip, 0.5, 1.0 - x), y2 = where(flat, 0.0, y * where(flat, 1.0, y));
  const Tensor re =
      where(tip, (kLn2 - log(Only(tip, y))) * 0.5, log1p(x * 4.0 / (away * away + y2)) * 0.25);
  const Tensor im = atan2(y * 2.0, (1.0 - x) * (x + 1.0) - y2) * 0.5;
  // 1 / z, of which nothing is left where z is infinite.
  const Tensor wide = Only(huge, abs(z.re)), tall = Only(huge, abs(z.im));
  const Tensor endless = Or(isinf(wide), isinf(tall));
  const Scaled scaled({wide, tall});
  const Tensor& u = scaled.parts.re;
  const Tensor& v = scaled.parts.im;
  const Tensor far = where(endless, 0.0, u / (u * u + v * v) * scaled.factor);
  const Tensor turned = where(And(isnan(z.im), isinf(z.re)), z.im,
                              where(Or(endless, Not(Or(isnan(wide), isnan(tall)))), kPi / 2, far));
  const Tensor zero = And(IsZero(z.re), isnan(z.im));
  return {Signed(where(zero, 0.0, where(huge, far, where(tiny, abs(z.re), re))), z.re),
          Signed(where(huge, turned, where(tiny, abs(z.im), im)), z.im)};
}

// z / |z|; 0 for 0, the way to an infinite part.
Parts Sign(const Parts& z) {
  const Tensor none = And(IsZero(z.re), IsZero(z.im));
  const Tensor right = isinf(z.re), up = isinf(z.im), endless = Or(right, up);
  const Scaled scaled({Only(Not(endless), z.re), Only(Not(endless), z.im)});
  const Tensor size = where(none, 1.0, hypot(scaled.parts.re, scaled.parts.im));
  const Tensor unit = Pick(And(right, up), std::numeric_limits<double>::quiet_NaN(), 1.0);
  const auto part = [&](const Tensor& of, const Tensor& far, const Tensor& x) {
    return where(endless, where(far, Signed(unit, x), 0.0), where(none, 0.0, of / size));
  };
  return {part(scaled.parts.re, right, z.re), part(scaled.parts.im, up, z.im)};
}

}  // namespace

// With the divisor's larger part as a factor before it (Smith 1962), scaled to lie around 1;
// infinities as in C99's Annex G.
Parts QuotientOfParts(const Parts& a, const Parts& b) {
  const Tensor wide = greater_equal(abs(b.re), abs(b.im)).Detach();
  const Tensor c = where(wide, b.re, b.im), d = where(wide, b.im, b.re);
  const Tensor none = IsZero(c), endless = isinf(c);
  const Tensor special = Or(none, endless);
  const Tensor ratio = d / Only(Not(special), c);
  const Tensor below = where(special, 1.0, c + d * ratio);
  const Tensor re = where(wide, a.re + a.im * ratio, a.re * ratio + a.im);
  const Tensor im = where(wide, a.im - a.re * ratio, a.im * ratio - a.re);
  const Tensor zero = Pick(signbit(b.re.Detach()), -0.0, 0.0);
  const Tensor over = where(isnan(b.re), b.re, where(isnan(b.im), b.im, zero));
  const Tensor zeros = Only(none, over);
  const Parts by_zero = {a.re / zeros, a.im / zeros};
  const Tensor finite = And(isfinite(a.re), isfinite(a.im));
  const Tensor left = Pick(finite, 0.0, std::numeric_limits<double>::quiet_NaN());
  return Where(none, by_zero, {where(endless, left, re / below), where(endless, left, im / below)});
}

namespace {

Parts Rsqrt(const Parts& z) {
  const auto number = [](double x) { return scalar(Scalar::Float(x), DType::kF64); };
  return QuotientOfParts({number(1.0), number(0.0)}, Sqrt(z));
}

// By the exponential of a number whose real part is not above 0, as it does not overflow.
Parts Sigmoid(const Parts& z) {
  const Tensor below = less(z.re, 0.0);
  const Parts e = Exp({where(below, z.re, -z.re), where(below, z.im, -z.im)});
  const Parts above = {where(below, e.re, 1.0), where(below, e.im, 0.0)};
  return QuotientOfParts(above, {e.re + 1.0, e.im});
}

}  // namespace

Parts PowerOfParts(const Parts& base, const Parts& exponent) {
  const Tensor none = And(IsZero(base.re), IsZero(base.im));
  const Tensor plain = And(IsZero(exponent.re), IsZero(exponent.im));
  const Parts log = Log({where(none, 1.0, base.re), base.im});
  const Parts power = Exp(ProductOfParts(exponent, log));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor of_none = Pick(greater(exponent.re, 0.0), 0.0, nan);
  const Parts out = {where(none, of_none, power.re), where(none, of_none, power.im)};
  return {where(plain, 1.0, out.re), where(plain, 0.0, out.im)};
}

PartsFunction FunctionOfParts(OpId op) {
  switch (op) {
    case OpId::k_exp:
      return Exp;
    case OpId::k_expm1:
      return Expm1;
    case OpId::k_log:
      return Log;
    case OpId::k_log1p:
      return Log1p;
    case OpId::k_log2:
      return Log2;
    case OpId::k_log10:
      return Log10;
    case OpId::k_sqrt:
      return Sqrt;
    case OpId::k_sin:
      return Sin;
    case OpId::k_cos:
      return Cos;
    case OpId::k_tan:
      return Tan;
    case OpId::k_asin:
      return Asin;
    case OpId::k_acos:
      return Acos;
    case OpId::k_atan:
      return [](const Parts& z) { return OverI(Atanh(TimesI(z))); };
    case OpId::k_sinh:
      return Sinh;
    case OpId::k_cosh:
      return Cosh;
    case OpId::k_tanh:
      return Tanh;
    case OpId::k_asinh:
      return Asinh;
    case OpId::k_acosh:
      return Acosh;
    case OpId::k_atanh:
      return Atanh;
    case OpId::k_rsqrt:
      return Rsqrt;
    case OpId::k_sigmoid:
      return Sigmoid;
    case OpId::k_sign:
      return Sign;
    default:
      return nullptr;
  }
}

}  // namespace frazil::ops
