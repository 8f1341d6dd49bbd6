#include <algorithm>
#include <numeric>

#include "core/functions/composites.h"

namespace frazil::ops {
namespace {

using DimVec = absl::InlinedVector<int64_t, 8>;

DimVec Iota(int n) {
  DimVec v(n);
  std::iota(v.begin(), v.end(), 0);
  return v;
}

// Every axis counted from the front; none twice.
StatusOr<DimVec> CheckAxes(std::string_view op, Dims axes, int rank) {
  DimVec out;
  for (int64_t a : axes) {
    FZ_ASSIGN_OR_RETURN(const int axis, CheckAxis(op, a, rank));
    if (std::find(out.begin(), out.end(), axis) != out.end())
      return ValueError("[", op, "] axis ", a, " is given twice: ", ToString(axes), ".");
    out.push_back(axis);
  }
  return out;
}

}  // namespace

Tensor squeeze(const Tensor& x, const Axes& axes) {
  if (!x.ok()) return x;
  uint64_t drop = 0;
  if (axes.has_value()) {
    for (int64_t a : *axes) {
      const auto axis = CheckAxis("squeeze", a, x.rank());
      if (!axis.ok()) return Tensor(axis.status());
      if (x.dims()[*axis] != 1) {
        return ValueError("[squeeze] axis ", a, " has extent ", x.dims()[*axis],
                          ", not 1: ", Describe(x), ".");
      }
      drop |= uint64_t{1} << *axis;
    }
  }
  DimVec dims;
  for (int i = 0; i < x.rank(); ++i) {
    const bool dropped = axes.has_value() ? drop >> i & 1 : x.dims()[i] == 1;
    if (!dropped) dims.push_back(x.dims()[i]);
  }
  return reshape(x, dims);
}

Tensor expand_dims(const Tensor& x, Dims axes) {
  if (!x.ok()) return x;
  const int rank = x.rank() + static_cast<int>(axes.size());
  const auto places = CheckAxes("expand_dims", axes, rank);
  if (!places.ok()) return Tensor(places.status());
  DimVec dims(static_cast<size_t>(rank), 0);
  for (int64_t place : *places) dims[static_cast<size_t>(place)] = 1;
  const int64_t* extent = x.dims().begin();
  for (int64_t& n : dims) {
    if (n == 0) n = *extent++;
  }
  return reshape(x, dims);
}

Tensor stack(absl::Span<const Tensor> arrays, int64_t axis) {
  if (arrays.empty()) return ValueError("[stack] needs at least one array, got 0.");
  std::vector<Tensor> expanded;
  for (const Tensor& t : arrays) {
    if (t.ok() && arrays[0].ok() && t.shape() != arrays[0].shape()) {
      return ValueError("[stack] shapes differ: ", Describe(arrays[0]), " and ", Describe(t), ".");
    }
    expanded.push_back(expand_dims(t, axis));
  }
  const auto fixed =
      arrays[0].ok() ? CheckAxis("stack", axis, arrays[0].rank() + 1) : StatusOr<int>(0);
  return concat(expanded, fixed.ok() ? *fixed : axis);
}

std::vector<Tensor> split(const Tensor& x, int64_t sections, int64_t axis) {
  if (!x.ok()) return {x};
  const auto fixed = CheckAxis("split", axis, x.rank());
  if (!fixed.ok()) return {Tensor(fixed.status())};
  const int64_t n = x.dims()[*fixed];
  if (sections <= 0 || n % sections != 0) {
    return {Tensor(ValueError("[split] axis ", *fixed, " of extent ", n, " has no ", sections,
                              " equal parts."))};
  }
  std::vector<Tensor> parts;
  DimVec s = WholeSlice(x.dims());
  for (int64_t i = 0; i < sections; ++i) {
    s[3 * *fixed] = n == 0 ? 0 : i * (n / sections);
    s[3 * *fixed + 2] = n / sections;
    parts.push_back(slice(x, s));
  }
  return parts;
}

Tensor flip(const Tensor& x, const Axes& axes) {
  if (!x.ok()) return x;
  DimVec s = WholeSlice(x.dims());
  DimVec all = Iota(x.rank());
  const Dims list =
      axes.has_value() ? Dims(axes->data(), axes->size()) : Dims(all.data(), all.size());
  for (int64_t a : list) {
    const auto axis = CheckAxis("flip", a, x.rank());
    if (!axis.ok()) return Tensor(axis.status());
    s[3 * *axis] = std::max<int64_t>(x.dims()[*axis] - 1, 0);
    s[3 * *axis + 1] = -1;
  }
  return slice(x, s);
}

Tensor flatten(const Tensor& x) { return reshape(x, {-1}); }

Tensor swapaxes(const Tensor& x, int64_t a, int64_t b) {
  if (!x.ok()) return x;
  const auto i = CheckAxis("swapaxes", a, x.rank()), j = CheckAxis("swapaxes", b, x.rank());
  if (!i.ok()) return Tensor(i.status());
  if (!j.ok()) return Tensor(j.status());
  DimVec axes = Iota(x.rank());
  std::swap(axes[*i], axes[*j]);
  return permute_dims(x, axes);
}

Tensor moveaxis(const Tensor& x, Dims source, Dims destination) {
  if (!x.ok()) return x;
  if (source.size() != destination.size()) {
    return ValueError("[moveaxis] source and destination must be equally many, got ", source.size(),
                      " and ", destination.size(), ".");
  }
  const auto from = CheckAxes("moveaxis", source, x.rank()),
             to = CheckAxes("moveaxis", destination, x.rank());
  if (!from.ok()) return Tensor(from.status());
  if (!to.ok()) return Tensor(to.status());
  DimVec axes(static_cast<size_t>(x.rank()), -1), rest = Iota(x.rank());
  for (size_t k = 0; k < from->size(); ++k) {
    axes[static_cast<size_t>((*to)[k])] = (*from)[k];
    rest[static_cast<size_t>((*from)[k])] = -1;
  }
  auto next = rest.begin();
  for (int64_t& axis : axes) {
    if (axis >= 0) continue;
    while (*next < 0) ++next;
    axis = *next++;
  }
  return permute_dims(x, axes);
}

Tensor matrix_transpose(const Tensor& x) {
  if (x.ok() && x.rank() < 2) {
    return ValueError("[matrix_transpose] needs at least two axes, got ", Describe(x), ".");
  }
  return swapaxes(x, -1, -2);
}

Tensor tile(const Tensor& x, Dims repetitions) {
  if (!x.ok()) return x;
  const int rank = std::max<int>(x.rank(), static_cast<int>(repetitions.size()));
  // [r0, d0, r1, d1, ...] by broadcasting, then joined.
  DimVec spread, repeated, joined;
  for (int i = 0; i < rank; ++i) {
    const int ix = i - (rank - x.rank()), ir = i - (rank - static_cast<int>(repetitions.size()));
    const int64_t d = ix < 0 ? 1 : x.dims()[ix], r = ir < 0 ? 1 : repetitions[ir];
    if (r < 0)
      return ValueError("[tile] repetitions must not be negative: ", ToString(repetitions), ".");
    spread.insert(spread.end(), {1, d});
    repeated.insert(repeated.end(), {r, d});
    joined.push_back(r * d);
  }
  return reshape(broadcast_to(reshape(x, spread), repeated), joined);
}

namespace {
Tensor Triangle(const char* op, const Tensor& x, int64_t k, bool lower) {
  if (!x.ok()) return x;
  if (x.rank() < 2) return ValueError("[", op, "] needs at least two axes, got ", Describe(x), ".");
  const int64_t n = x.layout()->dim(-2), m = x.layout()->dim(-1);
  const Tensor row = reshape(iota(n, DType::kI64, x.device()), {n, 1}) + Arg(k),
               column = iota(m, DType::kI64, x.device());
  const Tensor keep = lower ? less_equal(column, row) : greater_equal(column, row);
  return where(keep, x, scalar(Scalar::Int(0), x.dtype()));
}
}  // namespace

Tensor tril(const Tensor& x, int64_t k) { return Triangle("tril", x, k, true); }
Tensor triu(const Tensor& x, int64_t k) { return Triangle("triu", x, k, false); }

}  // namespace frazil::ops
