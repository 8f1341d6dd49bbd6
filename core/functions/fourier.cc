// Fourier transforms: what is said in arguments becomes the ops fft_c2c, fft_r2c and fft_c2r.
#include <utility>

#include "absl/algorithm/container.h"
#include "core/functions/composites.h"

namespace frazil::ops {
namespace {

using Extents = absl::InlinedVector<int64_t, 4>;

// A function: its name, the sign, and how it divides.
struct Kind {
  std::string_view name;
  bool forward;
  Norm norm;
};

StatusOr<int64_t> NormOf(const Kind& kind) {
  const std::string_view text = kind.norm.text;
  if (text == "ortho") return kNormRoot;
  if (text == "backward") return kind.forward ? kNormNone : kNormWhole;
  if (text == "forward") return kind.forward ? kNormWhole : kNormNone;
  return ValueError("[", std::string(kind.name),
                    "] norm must be \"backward\", \"ortho\" or \"forward\", got \"",
                    std::string(text), "\".");
}

Tensor Call(OpId op, const Kind& kind, const Tensor& x, uint64_t axes, int64_t extent) {
  if (!x.ok()) return x;
  const auto norm = NormOf(kind);
  if (!norm.ok()) return Tensor(norm.status());
  const int64_t attrs[kFourierAttrs] = {static_cast<int64_t>(axes), kind.forward, *norm, extent};
  return Apply(op, {&x}, attrs);
}

// In a dtype that is transformed: integers as float64.
Tensor Inexact(const Kind& kind, const Tensor& x) {
  if (!x.ok()) return x;
  if (IsHalf(x.dtype())) {
    return TypeError("[", std::string(kind.name), "] computes in float32 or float64, got ",
                     Describe(x), "; convert it with x.astype(...).");
  }
  return IsInexact(x.dtype()) ? x : astype(x, DType::kF64);
}

Tensor Real(const Kind& kind, const Tensor& x) {
  if (x.ok() && IsComplex(x.dtype())) {
    return TypeError("[", std::string(kind.name), "] needs real numbers, got ", Describe(x), ".");
  }
  return Inexact(kind, x);
}

Tensor Complex(const Kind& kind, const Tensor& x) {
  const Tensor y = Inexact(kind, x);
  return y.ok() && !IsComplex(y.dtype()) ? astype(y, ComplexFor(y.dtype())) : y;
}

Status CheckPoints(const Kind& kind, const Tensor& x, int64_t axis, int64_t n) {
  if (n >= 1) return absl::OkStatus();
  return ValueError("[", std::string(kind.name), "] needs at least one point, got ", n,
                    " along axis ", axis, " of ", Describe(x), ".");
}

// x with n points along an axis: cut off, or zeros behind it.
Tensor Fit(const Tensor& x, int64_t axis, int64_t n) {
  if (!x.ok() || x.dims()[axis] == n) return x;
  if (x.dims()[axis] > n) {
    Attrs kept = WholeSlice(x.dims());
    kept[3 * axis + 2] = n;
    return slice(x, kept);
  }
  Attrs widths(2 * static_cast<size_t>(x.rank()), 0);
  widths[2 * axis + 1] = n - x.dims()[axis];
  return pad(x, widths, Scalar::Int(0));
}

// Axes that are transformed and the points along each, of the whole.
struct Places {
  Extents axes, lengths;
  bool repeated = false;
};

// `halved`: of the last axis x has a half.
StatusOr<Places> PlacesOf(const Kind& kind, const Tensor& x, const Lengths& s, const Axes& axes,
                          bool halved) {
  FZ_RETURN_IF_ERROR(NormOf(kind).status());
  Places places;
  if (axes.has_value()) {
    for (const int64_t axis : *axes) {
      FZ_ASSIGN_OR_RETURN(const int fixed, CheckAxis(kind.name, axis, x.rank()));
      places.repeated |= absl::c_linear_search(places.axes, fixed);
      places.axes.push_back(fixed);
    }
  } else {
    const int64_t count = s.values ? static_cast<int64_t>(s.values->size()) : x.rank();
    if (count > x.rank()) {
      return ValueError("[", std::string(kind.name), "] ", count, " lengths for ", x.rank(),
                        " axes: ", Describe(x), ".");
    }
    for (int64_t i = x.rank() - count; i < x.rank(); ++i) places.axes.push_back(i);
  }
  if (s.values && s.values->size() != places.axes.size()) {
    return ValueError("[", std::string(kind.name), "] ", s.values->size(), " lengths for ",
                      places.axes.size(), " axes.");
  }
  for (size_t i = 0; i < places.axes.size(); ++i) {
    const int64_t there = x.dims()[places.axes[i]];
    const bool half = halved && i + 1 == places.axes.size();
    const bool given = s.values && (*s.values)[i] != -1;
    const int64_t n = given ? (*s.values)[i] : half ? 2 * (there - 1) : there;
    FZ_RETURN_IF_ERROR(CheckPoints(kind, x, places.axes[i], n));
    places.lengths.push_back(n);
  }
  return places;
}

// Complex numbers over the first `count` axes, the last first, as NumPy does: together, unless one
// stands there twice.
Tensor OverAxes(const Kind& kind, const Tensor& x, const Places& places, size_t count) {
  Tensor y = x;
  uint64_t mask = 0;
  for (size_t i = count; i-- > 0;) {
    y = Fit(y, places.axes[i], places.lengths[i]);
    mask |= uint64_t{1} << places.axes[i];
    if (places.repeated) y = Call(OpId::k_fft_c2c, kind, y, std::exchange(mask, 0), 0);
  }
  return mask ? Call(OpId::k_fft_c2c, kind, y, mask, 0) : y;
}

// Real numbers along the last axis, then the others.
Tensor FromReal(const Kind& kind, const Tensor& x, const Places& places, bool half) {
  const int64_t axis = places.axes.back(), n = places.lengths.back();
  const Tensor y =
      Call(OpId::k_fft_r2c, kind, Fit(x, axis, n), uint64_t{1} << axis, half ? n / 2 + 1 : n);
  return OverAxes(kind, y, places, places.axes.size() - 1);
}

Tensor Whole(const Kind& kind, const Tensor& x, const Lengths& s, const Axes& axes) {
  const Tensor y = Inexact(kind, x);
  if (!y.ok()) return y;
  const auto places = PlacesOf(kind, y, s, axes, false);
  if (!places.ok()) return Tensor(places.status());
  if (places->axes.empty()) return y;
  if (IsComplex(y.dtype())) return OverAxes(kind, y, *places, places->axes.size());
  return FromReal(kind, y, *places, false);
}

Tensor HalfOfReal(const Kind& kind, const Tensor& x, const Lengths& s, const Axes& axes) {
  const Tensor y = Real(kind, x);
  if (!y.ok()) return y;
  const auto places = PlacesOf(kind, y, s, axes, false);
  if (!places.ok()) return Tensor(places.status());
  if (places->axes.empty())
    return IndexError("[", std::string(kind.name), "] needs an axis: ", Describe(y), ".");
  return FromReal(kind, y, *places, true);
}

Tensor ToReal(const Kind& kind, const Tensor& x, const Lengths& s, const Axes& axes) {
  const Tensor y = Complex(kind, x);
  if (!y.ok()) return y;
  const auto places = PlacesOf(kind, y, s, axes, true);
  if (!places.ok()) return Tensor(places.status());
  if (places->axes.empty())
    return IndexError("[", std::string(kind.name), "] needs an axis: ", Describe(y), ".");
  const Tensor others = OverAxes(kind, y, *places, places->axes.size() - 1);
  const int64_t axis = places->axes.back(), n = places->lengths.back();
  return Call(OpId::k_fft_c2r, kind, Fit(others, axis, n / 2 + 1), uint64_t{1} << axis, n);
}

Lengths One(std::optional<int64_t> n) {
  Lengths s;
  if (n) s.values = Extents{*n};
  return s;
}

// -1 points are none along one axis.
template <typename Transform>
Tensor AlongOne(const Transform& transform, const Kind& kind, const Tensor& x,
                std::optional<int64_t> n, int64_t axis) {
  if (!x.ok()) return x;
  if (n == -1) return Tensor(CheckPoints(kind, x, axis, -1));
  return transform(kind, x, One(n), Axes(Extents{axis}));
}

}  // namespace

#define FZ_ALONG_ONE(name, transform, forward)                                      \
  Tensor name(const Tensor& x, std::optional<int64_t> n, int64_t axis, Norm norm) { \
    return AlongOne(transform, {#name, forward, norm}, x, n, axis);                 \
  }
#define FZ_OVER_AXES(name, transform, forward)                                  \
  Tensor name(const Tensor& x, const Lengths& s, const Axes& axes, Norm norm) { \
    return x.ok() ? transform({#name, forward, norm}, x, s, axes) : x;          \
  }
FZ_ALONG_ONE(fft, Whole, true)
FZ_ALONG_ONE(ifft, Whole, false)
FZ_ALONG_ONE(rfft, HalfOfReal, true)
FZ_ALONG_ONE(irfft, ToReal, false)
FZ_ALONG_ONE(hfft, ToReal, true)
FZ_ALONG_ONE(ihfft, HalfOfReal, false)
FZ_OVER_AXES(fftn, Whole, true)
FZ_OVER_AXES(ifftn, Whole, false)
FZ_OVER_AXES(rfftn, HalfOfReal, true)
FZ_OVER_AXES(irfftn, ToReal, false)
#undef FZ_OVER_AXES
#define FZ_OVER_TWO(name, transform, forward)                                            \
  Tensor name(const Tensor& x, const Lengths& s, const Axes& axes, Norm norm) {          \
    if (!x.ok()) return x;                                                               \
    return transform({#name, forward, norm}, x, s, axes ? axes : Axes(Extents{-2, -1})); \
  }
FZ_OVER_TWO(fft2, Whole, true)
FZ_OVER_TWO(ifft2, Whole, false)
FZ_OVER_TWO(rfft2, HalfOfReal, true)
FZ_OVER_TWO(irfft2, ToReal, false)
#undef FZ_ALONG_ONE
#undef FZ_OVER_TWO

namespace {

// Rolled by half of each axis, downwards or upwards where there is a middle one.
Tensor Shifted(std::string_view name, const Tensor& x, const Axes& axes, bool up) {
  Extents places;
  for (int i = 0; !axes && x.ok() && i < x.rank(); ++i) places.push_back(i);
  Tensor y = x;
  for (const int64_t axis : axes ? *axes : places) {
    if (!y.ok()) return y;
    const auto fixed = CheckAxis(name, axis, y.rank());
    if (!fixed.ok()) return Tensor(fixed.status());
    const int64_t n = y.dims()[*fixed], first = (n + up) / 2;
    if (n < 2) continue;
    Attrs low = WholeSlice(y.dims()), high = low;
    low[3 * *fixed + 2] = first;
    high[3 * *fixed] = first;
    high[3 * *fixed + 2] = n - first;
    const Tensor parts[] = {slice(y, high), slice(y, low)};
    y = concat(parts, *fixed);
  }
  return y;
}

// 0 to `count` - 1, those from n / 2 on less n where `negative`, over n d.
Tensor Frequencies(std::string_view name, int64_t n, int64_t count, bool negative, double d,
                   DType dtype) {
  if (!IsFloat(dtype) && !IsComplex(dtype)) {
    return TypeError("[", std::string(name), "] needs a floating-point dtype, got ",
                     std::string(Name(dtype)), ".");
  }
  if (n < 1) {
    return ValueError("[", std::string(name), "] needs at least one point, got ", n, ".");
  }
  if (d == 0) return ValueError("[", std::string(name), "] samples must be apart, got d = 0.");
  const Tensor k = iota(count, DType::kI64);
  const Tensor whole = negative ? where(less(k, (n + 1) / 2), k, subtract(k, n)) : k;
  return astype(multiply(astype(whole, DType::kF64), 1.0 / (static_cast<double>(n) * d)), dtype);
}

}  // namespace

Tensor fftshift(const Tensor& x, const Axes& axes) { return Shifted("fftshift", x, axes, true); }
Tensor ifftshift(const Tensor& x, const Axes& axes) { return Shifted("ifftshift", x, axes, false); }

Tensor fftfreq(int64_t n, double d, DType dtype) {
  return Frequencies("fftfreq", n, n, true, d, dtype);
}
Tensor rfftfreq(int64_t n, double d, DType dtype) {
  return Frequencies("rfftfreq", n, n / 2 + 1, false, d, dtype);
}

Tensor times_in_whole(const Tensor& x, int axis, int64_t n) {
  if (!x.ok()) return x;
  const Tensor k = iota(n / 2 + 1, DType::kI64, x.device());
  const Tensor own = equal(remainder(multiply(k, 2), n), 0);
  Extents dims(static_cast<size_t>(x.rank()), 1);
  dims[axis] = n / 2 + 1;
  const DType dtype = PartOf(x.dtype());
  return reshape(where(own, scalar(Scalar::Int(1), dtype), scalar(Scalar::Int(2), dtype)), dims);
}

}  // namespace frazil::ops
