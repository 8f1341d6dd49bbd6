// Argument resolution for views, joins, indexing, matmul and sources.
#include <array>

#include "core/check.h"
#include "core/functions/complex.h"
#include "core/functions/indices.h"
#include "core/infer.h"

namespace frazil::ops {
namespace {

using DimVec = absl::InlinedVector<int64_t, 8>;

}  // namespace

Tensor reshape(const Tensor& x, Dims dims) {
  if (!x.ok()) return x;
  DimVec fixed(dims.begin(), dims.end());
  int unknown = -1;
  int64_t known = 1;
  for (size_t i = 0; i < fixed.size(); ++i) {
    if (fixed[i] == -1) {
      if (unknown >= 0)
        return ValueError("[reshape] only one extent may be -1: ", ToString(dims), ".");
      unknown = static_cast<int>(i);
    } else if (__builtin_mul_overflow(known, fixed[i], &known)) {
      return MemoryError("[reshape] shape ", ToString(dims),
                         " has more elements than an address can count.");
    }
  }
  if (unknown >= 0) {
    if (known <= 0 || x.size() % known != 0) {
      return ValueError("[reshape] cannot infer the extent of -1: ", Describe(x), " (", x.size(),
                        " elements) to ", ToString(dims), ".");
    }
    fixed[unknown] = x.size() / known;
  }
  return Apply(OpId::k_reshape, {&x}, fixed);
}

Tensor permute_dims(const Tensor& x, Dims axes) {
  if (!x.ok()) return x;
  DimVec fixed(axes.begin(), axes.end());
  for (auto& a : fixed) {
    if (a < 0) a += x.rank();
  }
  return Apply(OpId::k_permute_dims, {&x}, fixed);
}

Tensor broadcast_to(const Tensor& x, Dims dims) {
  return x.ok() ? Apply(OpId::k_broadcast_to, {&x}, dims) : x;
}

Tensor slice(const Tensor& x, Dims start_step_size) {
  return x.ok() ? Apply(OpId::k_slice, {&x}, start_step_size) : x;
}

Attrs WholeSlice(Dims dims) {
  Attrs s;
  for (int64_t d : dims) s.insert(s.end(), {0, 1, d});
  return s;
}

Tensor concat(absl::Span<const Tensor> arrays, int64_t axis) {
  if (arrays.empty()) return ValueError("[concat] needs at least one array, got 0.");
  for (const Tensor& t : arrays) {
    if (!t.ok()) return t;
  }
  const auto fixed = CheckAxis("concat", axis, arrays[0].rank());
  if (!fixed.ok()) return Tensor(fixed.status());
  DType dtype = arrays[0].dtype();
  for (const Tensor& t : arrays) dtype = Promote(dtype, t.dtype());
  std::vector<Tensor> same;
  std::vector<const Tensor*> inputs;
  same.reserve(arrays.size());
  for (const Tensor& t : arrays) inputs.push_back(&same.emplace_back(astype(t, dtype)));
  const int64_t attr = *fixed;
  return Apply({OpId::k_concat, inputs, {&attr, 1}});
}

Tensor pad(const Tensor& x, Dims low_high, const Scalar& value) {
  if (!x.ok()) return x;
  if (IsComplex(x.dtype())) return PadParts(x, low_high, value);
  auto fill = ToImmediate("pad", value, x.dtype());
  if (!fill.ok()) return Tensor(std::move(fill).status());
  const Tensor v(*std::move(fill));
  return Apply(OpId::k_pad, {&x, &v}, low_high);
}

Tensor take(const Tensor& x, const Tensor& indices, int64_t axis) {
  if (!x.ok()) return x;
  if (!indices.ok()) return indices;
  const auto fixed = CheckAxis("take", axis, x.rank());
  if (!fixed.ok()) return Tensor(fixed.status());
  const ArrayIndex index{indices, *fixed};
  return TakeAt(x, Positions("take", x, x.dims(), {&index, 1}), *fixed);
}

Tensor put(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis, bool add) {
  if (!x.ok()) return x;
  if (!indices.ok()) return indices;
  const auto fixed = CheckAxis("put", axis, x.rank());
  if (!fixed.ok()) return Tensor(fixed.status());
  const Tensor v = astype(updates, x.dtype());
  if (!v.ok()) return v;
  if (add && IsComplex(x.dtype())) {
    return Join(
        {put(real(x), indices, real(v), axis, add), put(imag(x), indices, imag(v), axis, add)});
  }
  const ArrayIndex index{Integers("put", indices), *fixed};
  if (!index.array.ok()) return index.array;
  const Tensor* inputs[] = {&x, &index.array, &v};
  const int64_t attrs[] = {*fixed, add, 1};
  if (const auto shape = Infer({OpId::k_put, inputs, attrs}); !shape.ok())
    return Tensor(shape.status());  // a wrong shape is reported before a wrong index
  return PutAt(x, Positions("put", x, x.dims(), {&index, 1}), v, *fixed, 1, add);
}

Tensor matmul(const Arg& a, const Arg& b) {
  if (a.tensor() && b.tensor()) {
    Value* const known = TryApply(OpId::k_matmul, *a.tensor(), *b.tensor());
    if (known) return Tensor(ValueRef::Adopt(known));
  }
  for (const Arg* x : {&a, &b}) {
    if (!x->tensor()) return ValueError("[matmul] takes arrays, got a number; use multiply.");
    if (!x->tensor()->ok()) return *x->tensor();
  }
  const DType dtype = Promote(a.tensor()->dtype(), b.tensor()->dtype());
  if (IsBool(dtype)) {  // whether any pair of elements is true: counted in i32, which none exceeds
    const Tensor m = astype(*a.tensor(), DType::kI32), n = astype(*b.tensor(), DType::kI32);
    return astype(matmul(m, n), DType::kBool);
  }
  Tensor x = astype(*a.tensor(), dtype), y = astype(*b.tensor(), dtype);
  if (!x.ok()) return x;
  if (!y.ok()) return y;
  if (x.rank() == 0 || y.rank() == 0) {
    return ValueError("[matmul] needs at least one axis: a is ", Describe(x), ", b is ",
                      Describe(y), ".");
  }
  const bool vector_a = x.rank() == 1, vector_b = y.rank() == 1;
  if (vector_a) x = reshape(x, {1, x.dims()[0]});
  if (vector_b) y = reshape(y, {y.dims()[0], 1});
  // Equal ranks: axes of extent 1 in front broadcast.
  const int rank = std::max(x.rank(), y.rank());
  for (Tensor* t : {&x, &y}) {
    if (t->rank() == rank) continue;
    DimVec dims(rank - t->rank(), 1);
    dims.insert(dims.end(), t->dims().begin(), t->dims().end());
    *t = reshape(*t, dims);
  }
  Tensor out = Apply(OpId::k_matmul, {&x, &y});
  if (!out.ok() || (!vector_a && !vector_b)) return out;
  DimVec dims(out.dims().begin(), out.dims().end());
  if (vector_b) dims.pop_back();
  if (vector_a) dims.erase(dims.end() - (vector_b ? 1 : 2));
  return reshape(out, dims);
}

Tensor scalar(const Scalar& value, DType dtype) {
  if (IsComplex(dtype)) {
    return complex(scalar(Scalar::Float(value.AsDouble()), PartOf(dtype)),
                   scalar(Scalar::Float(value.im), PartOf(dtype)));
  }
  auto v = ToImmediate("asarray", value, dtype);
  return v.ok() ? Tensor(*std::move(v)) : Tensor(std::move(v).status());
}

Tensor full(Dims dims, const Scalar& value, DType dtype, Device device) {
  if (Status s = CheckDims("full", dims, SizeOf(dtype)); !s.ok()) return Tensor(std::move(s));
  Tensor number = scalar(value, dtype);  // held by nobody else (core/apply.cc)
  if (!(device == Device())) number = to_device(number, device);
  return broadcast_to(number, dims);
}

Tensor iota(int64_t n, DType dtype, Device device) {
  const int64_t attrs[] = {static_cast<int64_t>(dtype), n};
  return to_device(Apply(OpId::k_iota, {}, attrs), device);
}

Tensor to_device(const Tensor& x, Device device) {
  if (!x.ok() || x.device() == device) return x;
  const int64_t attrs[] = {device.word, x.device().word};
  return Apply(OpId::k_to_device, {&x}, attrs);
}

Tensor random_bits(const Tensor& state, Dims dims) {
  return Apply(OpId::k_random_bits, {&state}, dims);
}

}  // namespace frazil::ops
