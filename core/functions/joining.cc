#include "core/functions/joining.h"

#include <algorithm>

#include "core/functions/composites.h"

namespace frazil::ops {
namespace {

template <typename View>
Tensor Joined(absl::Span<const Tensor> arrays, int64_t axis, const View& view) {
  std::vector<Tensor> parts;
  for (const Tensor& t : arrays) parts.push_back(t.ok() ? view(t) : t);
  return concat(parts, axis);
}

Tensor AtLeast1(const Tensor& x) { return x.rank() ? x : reshape(x, {1}); }

}  // namespace

Tensor hstack(absl::Span<const Tensor> arrays) {
  const bool vectors = !arrays.empty() && arrays[0].ok() && arrays[0].rank() < 2;
  return Joined(arrays, vectors ? 0 : 1, AtLeast1);
}

Tensor vstack(absl::Span<const Tensor> arrays) {
  return Joined(arrays, 0, [](const Tensor& x) {
    return x.rank() < 2 ? reshape(x, {1, x.size()}) : x;
  });
}

Tensor dstack(absl::Span<const Tensor> arrays) {
  return Joined(arrays, 2, [](const Tensor& x) {
    if (x.rank() == 2) return expand_dims(x, 2);
    return x.rank() < 2 ? reshape(x, {1, x.size(), 1}) : x;
  });
}

Tensor column_stack(absl::Span<const Tensor> arrays) {
  return Joined(arrays, 1, [](const Tensor& x) {
    return x.rank() < 2 ? reshape(x, {x.size(), 1}) : x;
  });
}

std::vector<Tensor> split_at(const Tensor& x, Dims places, int64_t axis) {
  if (!x.ok()) return {x};
  const auto fixed = CheckAxis("split", axis, x.rank());
  if (!fixed.ok()) return {Tensor(fixed.status())};
  std::vector<Index> index(static_cast<size_t>(*fixed) + 1, Index{Index::Kind::kSlice});
  std::vector<Tensor> parts;
  for (size_t i = 0; i <= places.size(); ++i) {
    index.back().start = i == 0 ? 0 : places[i - 1];
    index.back().stop = i == places.size() ? x.dims()[static_cast<size_t>(*fixed)] : places[i];
    parts.push_back(getitem(x, index));
    if (!parts.back().ok()) return {parts.back()};
  }
  return parts;
}

std::vector<Tensor> array_split(const Tensor& x, int64_t sections, int64_t axis) {
  if (!x.ok()) return {x};
  const auto fixed = CheckAxis("array_split", axis, x.rank());
  if (!fixed.ok()) return {Tensor(fixed.status())};
  if (sections < 1) {
    return {Tensor(
        ValueError("[array_split] the number of parts must be positive, got ", sections, "."))};
  }
  constexpr int64_t kMost = int64_t{1} << 24;
  if (sections > kMost) {
    return {Tensor(
        MemoryError("[array_split] ", sections, " parts are over the limit of ", kMost, "."))};
  }
  const int64_t n = x.dims()[static_cast<size_t>(*fixed)];
  std::vector<int64_t> places;
  for (int64_t i = 1; i < sections; ++i)
    places.push_back(i * (n / sections) + std::min(i, n % sections));
  return split_at(x, places, *fixed);
}

}  // namespace frazil::ops
