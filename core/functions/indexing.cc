// x[...] and x[...] = v with NumPy's rules: integers, slices, new axes, ellipsis, integer arrays
// and bool masks.
#include <algorithm>
#include <cstring>

#include "core/device_memory.h"
#include "core/elements.h"
#include "core/functions/assign.h"
#include "core/functions/composites.h"
#include "core/infer.h"

namespace frazil::ops {
namespace {

using DimVec = absl::InlinedVector<int64_t, 8>;

Tensor FromInts(const std::vector<int64_t>& data) {
  const int64_t n = static_cast<int64_t>(data.size());
  auto value = Value::Allocate(DType::kI64, Device(), Dense({n}));
  if (!value.ok()) return Tensor(std::move(value).status());
  std::copy(data.begin(), data.end(), reinterpret_cast<int64_t*>((*value)->data));
  return Tensor(*std::move(value));
}

// Where a bool value is true: for each axis the positions, elements in row-major order.
std::vector<std::vector<int64_t>> TruePositions(const Value& mask) {
  const Dims dims = mask.layout->dims();
  std::vector<std::vector<int64_t>> positions(dims.size());
  ForEachElement(mask, [&](int64_t k, const char* p) {
    for (size_t a = *p ? dims.size() : 0; a-- > 0; k /= dims[a])
      positions[a].push_back(k % dims[a]);
    return true;
  });
  return positions;
}

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

// A bool array as one integer array per axis it covers; without axes (x[True]) as an array over a
// new axis of extent 1, which a kNewAxis with a tensor stands for.
Status ExpandMasks(const Tensor& x, std::vector<Index>* index) {
  std::vector<Index> out;
  int axis = 0;
  for (Index& i : *index) {
    if (i.kind != Index::Kind::kTensor || !IsBool(i.tensor.dtype())) {
      axis += AxesUsed(i);
      out.push_back(std::move(i));
      continue;
    }
    const Dims mask = i.tensor.dims();
    for (size_t k = 0; k < mask.size(); ++k) {
      // As in NumPy, what has no element fits any axis.
      if (mask[k] != 0 && mask[k] != x.dims()[axis + k]) {
        return IndexError("[getitem] mask is ", Describe(i.tensor), " but the array is ",
                          Describe(x), " (axis ", axis + k, ": ", mask[k], " vs ",
                          x.dims()[axis + k], ").");
      }
    }
    FZ_RETURN_IF_ERROR(Read(*i.tensor.value()));
    FZ_ASSIGN_OR_RETURN(const ValueRef host, OnHost(*i.tensor.value()));
    if (mask.empty()) {
      const std::vector<int64_t> kept(*host->data ? 1 : 0);
      out.push_back({.kind = Index::Kind::kNewAxis, .tensor = FromInts(kept)});
      continue;
    }
    for (const auto& p : TruePositions(*host))
      out.push_back({.kind = Index::Kind::kTensor, .tensor = FromInts(p)});
    axis += static_cast<int>(mask.size());
  }
  *index = std::move(out);
  return absl::OkStatus();
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

// Slices and integers; new axes and dropped axes by a reshape.
StatusOr<Tensor> Basic(const Tensor& x, const std::vector<Index>& index) {
  DimVec s, dims;
  FZ_RETURN_IF_ERROR(ResolveBasic(x, index, &s, &dims));
  bool whole = true;
  for (int a = 0; a < x.rank(); ++a)
    whole &= s[3 * a] == 0 && s[3 * a + 1] == 1 && s[3 * a + 2] == x.dims()[a];
  Tensor out = whole ? x : slice(x, s);
  if (out.ok() && out.dims() != Dims(dims)) out = reshape(out, dims);
  return out;
}

// Index arrays at `axes` of x (its other axes whole): one take along the joined axes.
Tensor Advanced(const Tensor& x, std::vector<Tensor> arrays, const std::vector<int>& axes) {
  for (Tensor& array : arrays) array = to_device(array, x.device());
  const int k = static_cast<int>(axes.size());
  const bool adjacent = axes.back() - axes.front() == k - 1;
  const int at = adjacent ? axes.front() : 0;
  // Bring the indexed axes together at `at`.
  DimVec order;
  for (int a = 0; a < x.rank(); ++a) {
    if (static_cast<int>(order.size()) == at) order.insert(order.end(), axes.begin(), axes.end());
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) order.push_back(a);
  }
  if (static_cast<int>(order.size()) < x.rank())
    order.insert(order.end(), axes.begin(), axes.end());
  Tensor moved = adjacent ? x : permute_dims(x, order);
  if (k == 1) return take(moved, arrays[0], at);
  const Layout* shape = nullptr;
  for (const Tensor& array : arrays) {
    if (!array.ok()) return array;
    const auto common = BroadcastShapes("getitem", shape ? shape : array.shape(), array.shape());
    if (!common.ok()) {
      return IndexError("[getitem] index arrays do not broadcast: ", ToString(shape->dims()),
                        " and ", ToString(array.dims()), ".");
    }
    shape = *common;
  }
  Tensor linear;
  for (int i = 0; i < k; ++i) {
    const int64_t n = x.dims()[axes[i]];
    const Tensor wide = astype(arrays[i], DType::kI64);
    const Tensor index = where(less(wide, int64_t{0}), wide + Arg(n), wide);
    if (!index.ok()) return index;
    if (Status s =
            CheckIndexRange("getitem", index, n, absl::StrCat("elements along axis ", axes[i]));
        !s.ok()) {
      return Tensor(std::move(s));
    }
    linear = i == 0 ? index : linear * Arg(n) + index;
  }
  DimVec dims;
  int64_t joined = 1;
  for (int a = 0; a < moved.rank(); ++a) {
    if (a >= at && a < at + k) {
      joined *= moved.dims()[a];
      if (a == at + k - 1) dims.push_back(joined);
    } else {
      dims.push_back(moved.dims()[a]);
    }
  }
  return take(reshape(moved, dims), linear, at);
}

}  // namespace

Tensor getitem(const Tensor& x, absl::Span<const Index> index) {
  if (!x.ok()) return x;
  auto expanded = Expand(x, index);
  if (!expanded.ok()) return Tensor(expanded.status());
  if (Status s = ExpandMasks(x, &*expanded); !s.ok()) return Tensor(std::move(s));
  const bool advanced = std::any_of(expanded->begin(), expanded->end(),
                                    [](const Index& i) { return i.tensor.defined(); });
  // Integers beside index arrays are index arrays; everything else first.
  std::vector<Index> basic = *expanded;
  std::vector<Tensor> arrays;
  std::vector<int> axes;
  int out_axis = 0, in_axis = 0;
  for (Index& i : basic) {
    if (i.tensor.defined() || (advanced && i.kind == Index::Kind::kInt)) {
      if (i.kind == Index::Kind::kInt) {
        int64_t fixed;
        if (Status s = CheckInt(x, i.i, in_axis, &fixed); !s.ok()) return Tensor(std::move(s));
        arrays.push_back(scalar(Scalar::Int(fixed), DType::kI64));
      } else {
        arrays.push_back(i.tensor);
      }
      axes.push_back(out_axis);
      const bool added = i.kind == Index::Kind::kNewAxis;
      i = {.kind = added ? Index::Kind::kNewAxis : Index::Kind::kSlice};
    }
    in_axis += i.kind == Index::Kind::kNewAxis ? 0 : 1;
    out_axis += i.kind == Index::Kind::kInt ? 0 : 1;
  }
  auto part = Basic(x, basic);
  if (!part.ok()) return Tensor(part.status());
  return arrays.empty() || !part->ok() ? *part : Advanced(*part, arrays, axes);
}

Tensor setitem(const Tensor& x, absl::Span<const Index> index, const Tensor& v) {
  if (!x.ok()) return x;
  if (!v.ok()) return v;
  const auto spread = [&](Dims dims) -> Tensor {
    const bool number = v.device() == Device() && v.size() == 1;  // goes with any device
    const Tensor same = astype(v, x.dtype());
    const Tensor out = broadcast_to(number ? to_device(same, x.device()) : same, dims);
    if (out.ok()) return out;
    return ValueError("[setitem] cannot assign ", Describe(v), " to a part of shape ",
                      ToString(dims), ".");
  };
  if (index.size() == 1 && index[0].kind == Index::Kind::kEllipsis) {
    const Tensor whole = spread(x.dims());
    return whole.ok() ? to_device(Apply(OpId::k_copy, {&whole}), x.device()) : whole;
  }
  const auto is_array = [](const Index& i) { return i.kind == Index::Kind::kTensor; };
  if (x.rank() > 0 && std::none_of(index.begin(), index.end(), is_array)) {
    const auto expanded = Expand(x, index);
    if (!expanded.ok()) return Tensor(expanded.status());
    DimVec box, dims;
    if (Status s = ResolveBasic(x, *expanded, &box, &dims); !s.ok()) return Tensor(std::move(s));
    return AssignBox(x, box, spread(dims));
  }
  // Where the assigned elements lie in the flat array: the same index applied to their positions.
  const Tensor positions =
      getitem(reshape(iota(x.size(), DType::kI64, x.device()), x.dims()), index);
  if (!positions.ok()) {
    const Tensor of_x = getitem(x, index);  // the same error, about x
    return of_x.ok() ? positions : of_x;
  }
  const Tensor wide = spread(positions.dims());
  return reshape(put(reshape(x, {-1}), flatten(positions), flatten(wide), 0, false), x.dims());
}

std::vector<Tensor> nonzero(const Tensor& x) {
  const Tensor mask = x.ok() ? astype(x, DType::kBool) : x;
  if (!mask.ok()) return {mask};
  if (mask.rank() == 0) {
    return {ValueError("[nonzero] needs at least one axis, got ", Describe(x), "; use reshape.")};
  }
  if (Status s = Read(*mask.value()); !s.ok()) return {Tensor(std::move(s))};
  const auto host = OnHost(*mask.value());
  if (!host.ok()) return {Tensor(host.status())};
  std::vector<Tensor> out;
  for (const auto& positions : TruePositions(**host))
    out.push_back(to_device(FromInts(positions), x.device()));
  return out;
}

Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis) {
  if (!x.ok()) return x;
  if (!indices.ok()) return indices;
  const auto fixed = CheckAxis("take_along_axis", axis, x.rank());
  if (!fixed.ok()) return Tensor(fixed.status());
  if (indices.rank() != x.rank()) {
    return ValueError("[take_along_axis] ranks differ: x is ", Describe(x), ", indices are ",
                      Describe(indices), ".");
  }
  std::vector<Index> index;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == *fixed) {
      index.push_back({.kind = Index::Kind::kTensor, .tensor = indices});
      continue;
    }
    DimVec dims(x.rank(), 1);
    dims[i] = x.dims()[i];
    index.push_back({.kind = Index::Kind::kTensor,
                     .tensor = reshape(iota(x.dims()[i], DType::kI64, x.device()), dims)});
  }
  return getitem(x, index);
}

}  // namespace frazil::ops
