// Functions of sets. They read their data.
#include <algorithm>

#include "core/functions/functions.h"
#include "core/functions/parts.h"

namespace frazil::ops {
namespace {

// Whether the first of n, and then each one of which `apart` says so, differs from the one before.
Tensor Starting(int64_t n, const Tensor& apart) {
  return concat({filled({std::min<int64_t>(n, 1)}, Scalar::Bool(true), DType::kBool), apart}, 0);
}

// Of groups that begin at `starts`, of n elements.
Tensor SizesOf(const Tensor& starts, int64_t n) {
  const Tensor ends = concat({starts, OfInts({n})}, 0);
  return Within(ends, 1, 0) - Within(ends, 0, 1);
}

// For each element in its first order the group that it is in.
Tensor GroupOf(const Tensor& starting, const Tensor& order) {
  return take(cumulative_sum(starting, 0) - Arg(1), argsort(order), 0);
}

Tensor Distinct(const Tensor& x) { return unique(x, false, false, false, {}, true)[0]; }

Tensor Masked(const Tensor& x, const Tensor& mask) {
  const Index index{.kind = Index::Kind::kTensor, .tensor = mask};
  return mask.ok() ? getitem(x, {&index, 1}) : mask;
}

}  // namespace

Tensors unique_all(const Tensor& x) {
  const Tensor flat = flatten(x), order = argsort(flat), ordered = take(flat, order, 0);
  if (!ordered.ok()) return {ordered};
  const int64_t n = ordered.size();
  const Tensor starting = Starting(n, not_equal(Within(ordered, 1, 0), Within(ordered, 0, 1)));
  const Tensor starts = nonzero(starting)[0];
  if (!starts.ok()) return {starts};
  return {take(ordered, starts, 0), take(order, starts, 0),
          reshape(GroupOf(starting, order), x.dims()), SizesOf(starts, n)};
}

Tensor isin(const Tensor& x1, const Tensor& x2, bool invert) {
  if (const Tensor* error = FirstError({&x1, &x2})) return *error;
  const DType dtype = Promote(x1.dtype(), x2.dtype());
  if (IsComplex(dtype)) {  // by what distinct elements they are among those of both
    const Tensor all = concat({flatten(astype(x2, dtype)), flatten(astype(x1, dtype))}, 0);
    const Tensors distinct = unique(all, false, true, false, {}, false);
    if (!distinct[0].ok()) return distinct[0];
    const Tensor &own = distinct[1], rest = Narrow(own, 0, x2.size(), x1.size());
    return isin(reshape(rest, x1.dims()), Narrow(own, 0, 0, x2.size()), invert);
  }
  const Tensor x = astype(x1, dtype), among = sort(flatten(astype(x2, dtype)));
  if (!among.ok()) return among;
  if (among.size() == 0) return filled(x.dims(), Scalar::Bool(invert), DType::kBool);
  const Tensor found = take(among, minimum(searchsorted(among, x), among.size() - 1), 0);
  return invert ? not_equal(found, x) : equal(found, x);
}

Tensors unique(const Tensor& x, bool return_index, bool return_inverse, bool return_counts,
               std::optional<int64_t> axis, bool equal_nan) {
  if (!x.ok()) return {x};
  const bool more = return_index || return_inverse || return_counts;
  if (!axis && !more && !IsComplex(x.dtype())) return {unique_values(x, equal_nan)};
  int along = 0;
  Tensor rows;
  if (axis) {
    const auto fixed = CheckAxis("unique", *axis, x.rank());
    if (!fixed.ok()) return {Tensor(fixed.status())};
    along = *fixed;
    const int64_t m = x.dims()[along];
    rows = reshape(MoveAxis(x, along, 0), {m, x.size() ? x.size() / m : 0});
  } else {
    rows = expand_dims(flatten(x), 1);
  }
  if (!rows.ok()) return {rows};
  const int64_t n = rows.dims()[0];
  Tensor order = iota(n, DType::kI64);
  for (int64_t c = rows.dims()[1]; c-- > 0;)  // stable: the first column counts most
    order = take(order, argsort(take(Pick(rows, 1, c), order, 0)), 0);
  const Tensor ordered = take(rows, order, 0);
  if (!ordered.ok()) return {ordered};
  const Tensor later = Narrow(ordered, 0, 1, std::max<int64_t>(n - 1, 0));
  const Tensor before = Narrow(ordered, 0, 0, std::max<int64_t>(n - 1, 0));
  Tensor apart = not_equal(later, before);
  if (equal_nan && !axis && IsInexact(x.dtype()))
    apart = bitwise_and(apart, bitwise_invert(bitwise_and(isnan(later), isnan(before))));
  const Tensor starting = Starting(n, any(apart, Over({1})));
  const Tensor starts = nonzero(starting)[0], first = take(order, starts, 0);
  if (!first.ok()) return {first};
  Tensors out = {axis ? take(x, first, along) : take(flatten(x), first, 0)};
  if (return_index) out.push_back(first);
  if (return_inverse) {
    const Tensor inverse = GroupOf(starting, order);
    out.push_back(axis ? inverse : reshape(inverse, x.dims()));
  }
  if (return_counts) out.push_back(SizesOf(starts, n));
  return out;
}

Tensor union1d(const Tensor& x1, const Tensor& x2) {
  return Distinct(concat({flatten(x1), flatten(x2)}, 0));
}

Tensors intersect1d(const Tensor& x1, const Tensor& x2, bool return_indices) {
  const Tensor a = flatten(x1), b = flatten(x2);
  const Tensors of_a = unique_all(a);
  if (!of_a[0].ok()) return {of_a[0]};
  const Tensor found = isin(of_a[0], b), common = Masked(of_a[0], found);
  if (!common.ok() || !return_indices) return {common};
  const Tensors of_b = unique_all(b);
  return {common, Masked(of_a[1], found), Masked(of_b[1], isin(of_b[0], a))};
}

Tensor setdiff1d(const Tensor& x1, const Tensor& x2, bool assume_unique) {
  const Tensor flat = flatten(x1), x = assume_unique ? flat : Distinct(flat);
  return Masked(x, isin(x, x2, true));
}

Tensor setxor1d(const Tensor& x1, const Tensor& x2, bool) {
  const Tensor a = Distinct(x1), b = Distinct(x2);
  if (const Tensor* error = FirstError({&a, &b})) return *error;
  const DType dtype = Promote(a.dtype(), b.dtype());
  return sort(concat({astype(setdiff1d(a, b), dtype), astype(setdiff1d(b, a), dtype)}, 0));
}

}  // namespace frazil::ops
