#include "core/functions/index_parts.h"

#include <algorithm>

#include "core/backend.h"
#include "core/check.h"

namespace frazil::ops {
namespace {

using DimVec = absl::InlinedVector<int64_t, 8>;

int AxesUsed(const Index& i) {
  switch (i.kind) {
    case Index::Kind::kNewAxis:
    case Index::Kind::kEllipsis:
      return 0;
    case Index::Kind::kTensor:
      return i.tensor.ok() && IsBool(i.tensor.dtype()) ? i.tensor.rank() : 1;
    default:
      return 1;
  }
}

// The ellipsis as whole slices; missing axes at the end too.
StatusOr<std::vector<Index>> Expand(const Tensor& x, absl::Span<const Index> index) {
  int used = 0, ellipses = 0;
  for (const Index& i : index) {
    if (i.kind == Index::Kind::kTensor && !i.tensor.ok()) return i.tensor.status();
    used += AxesUsed(i);
    ellipses += i.kind == Index::Kind::kEllipsis;
  }
  if (ellipses > 1) return IndexError("[getitem] an index can have only one ellipsis ('...').");
  if (used > x.rank()) {
    return IndexError("[getitem] too many indices: ", used, " for ", Describe(x), ".");
  }
  std::vector<Index> out;
  const auto fill = [&] {
    for (int k = 0; k < x.rank() - used; ++k) out.push_back({.kind = Index::Kind::kSlice});
  };
  for (const Index& i : index) {
    if (i.kind == Index::Kind::kEllipsis) {
      fill();
    } else {
      out.push_back(i);
    }
  }
  if (ellipses == 0) fill();
  return out;
}

// Python's slice.indices(n) as start, step, size.
Status ResolveSlice(const Index& i, int64_t n, int64_t* out) {
  const int64_t step = i.step.value_or(1);
  if (step == 0) return ValueError("[getitem] slice step cannot be zero.");
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  const auto clamp = [&](std::optional<int64_t> v, int64_t missing) {
    if (!v.has_value()) return missing;
    const int64_t shifted = *v < 0 ? *v + n : *v;
    return std::clamp(shifted, low, high);
  };
  const int64_t start = clamp(i.start, step > 0 ? 0 : n - 1),
                stop = clamp(i.stop, step > 0 ? n : -1);
  int64_t size = 0;
  if (step > 0 && stop > start) size = (stop - start - 1) / step + 1;
  if (step < 0 && start > stop) size = (start - stop - 1) / -step + 1;
  out[0] = size == 0 ? 0 : start;
  out[1] = step;
  out[2] = size;
  return absl::OkStatus();
}

Status CheckInt(const Tensor& x, int64_t i, int axis, int64_t* out) {
  const int64_t n = x.dims()[axis];
  if (i < -n || i >= n) {
    return IndexError("[getitem] index ", i, " is out of range for axis ", axis, " of ",
                      Describe(x), ".");
  }
  *out = i < 0 ? i + n : i;
  return absl::OkStatus();
}

bool IsMask(const Index& i) {
  return i.kind == Index::Kind::kTensor && i.tensor.ok() && IsBool(i.tensor.dtype());
}

Status CheckMask(const Tensor& x, const Tensor& mask, int axis) {
  const Dims dims = mask.dims();
  for (int k = 0; k < mask.rank(); ++k) {
    // As in NumPy, what has no element fits any axis.
    if (dims[k] == 0 || dims[k] == x.dims()[axis + k]) continue;
    return IndexError("[getitem] mask is ", Describe(mask), " but the array is ", Describe(x),
                      " (axis ", axis + k, ": ", dims[k], " vs ", x.dims()[axis + k], ").");
  }
  return absl::OkStatus();
}

// x[True] and x[False]: one or no position in a new axis of extent 1.
StatusOr<Tensor> OneOrNone(const Tensor& mask) {
  FZ_RETURN_IF_ERROR(Read(*mask.value()));
  FZ_ASSIGN_OR_RETURN(const ValueRef host, OnHost(*mask.value()));
  return full({*host->data ? 1 : 0}, Scalar::Int(0), DType::kI64);
}

// Start, step and size for each axis of x; `dims`: the shape of what is indexed, with new axes and
// without those of integers.
Status ResolveBasic(const Tensor& x, const std::vector<Index>& index, DimVec* box, DimVec* dims) {
  int axis = 0;
  for (const Index& i : index) {
    if (i.kind == Index::Kind::kNewAxis) {
      dims->push_back(1);
      continue;
    }
    int64_t part[3] = {0, 1, 1};
    if (i.kind == Index::Kind::kInt) {
      FZ_RETURN_IF_ERROR(CheckInt(x, i.i, axis, &part[0]));
    } else {
      FZ_RETURN_IF_ERROR(ResolveSlice(i, x.dims()[axis], part));
      dims->push_back(part[2]);
    }
    box->insert(box->end(), part, part + 3);
    ++axis;
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<IndexParts> PartsOf(const Tensor& x, absl::Span<const Index> index) {
  IndexParts parts;
  FZ_ASSIGN_OR_RETURN(const std::vector<Index> expanded, Expand(x, index));
  const bool arrays = std::any_of(expanded.begin(), expanded.end(),
                                  [](const Index& i) { return i.kind == Index::Kind::kTensor; });
  int in_axis = 0, out_axis = 0;
  for (const Index& i : expanded) {
    if (IsMask(i)) {
      const int rank = i.tensor.rank();
      FZ_RETURN_IF_ERROR(CheckMask(x, i.tensor, in_axis));
      const Index whole{rank ? Index::Kind::kSlice : Index::Kind::kNewAxis};
      parts.basic.insert(parts.basic.end(), static_cast<size_t>(std::max(rank, 1)), whole);
      parts.arrays.push_back({i.tensor, out_axis, std::max(rank, 1), false});
      in_axis += rank;
      out_axis += std::max(rank, 1);
      continue;
    }
    const bool number = i.kind == Index::Kind::kInt;
    if (i.kind == Index::Kind::kTensor || (arrays && number)) {
      // Integers beside index arrays are index arrays.
      Tensor array = i.tensor;
      if (number) {
        int64_t fixed;
        FZ_RETURN_IF_ERROR(CheckInt(x, i.i, in_axis, &fixed));
        array = scalar(Scalar::Int(fixed), DType::kI64);
      }
      parts.arrays.push_back({array, out_axis++, 1, number || i.normal});
      parts.basic.push_back({Index::Kind::kSlice});
      ++in_axis;
      continue;
    }
    parts.basic.push_back(i);
    in_axis += i.kind == Index::Kind::kNewAxis ? 0 : 1;
    out_axis += number ? 0 : 1;
  }
  FZ_RETURN_IF_ERROR(ResolveBasic(x, parts.basic, &parts.box, &parts.dims));
  return parts;
}

Status FindMasked(IndexParts* parts) {
  for (ArrayIndex& index : parts->arrays) {
    if (index.normal || !IsBool(index.array.dtype())) continue;
    if (index.array.rank() == 0) {
      FZ_ASSIGN_OR_RETURN(index.array, OneOrNone(index.array));
    } else {
      index.array = TruePositions(index.array, false);
    }
    if (!index.array.ok()) return index.array.status();
    index.normal = true;
  }
  return absl::OkStatus();
}

bool IsWhole(const Tensor& x, Dims box) {
  for (int a = 0; a < x.rank(); ++a) {
    if (box[3 * a] != 0 || box[3 * a + 1] != 1 || box[3 * a + 2] != x.dims()[a]) return false;
  }
  return true;
}

bool AreAdjacent(const std::vector<ArrayIndex>& arrays) {
  for (size_t i = 1; i < arrays.size(); ++i) {
    if (arrays[i].axis != arrays[i - 1].axis + arrays[i - 1].axes) return false;
  }
  return true;
}

}  // namespace frazil::ops
