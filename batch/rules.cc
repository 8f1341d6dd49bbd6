#include "batch/rules.h"

#include <algorithm>

#include "core/check.h"
#include "core/collective.h"
#include "core/functions/ops.h"
#include "core/layout.h"

namespace frazil::batch {
namespace {

using DimVec = absl::InlinedVector<int64_t, 8>;

DimVec ToVec(AttrSpan dims) { return DimVec(dims.begin(), dims.end()); }

// A bit mask of an example's axes.
int64_t Shifted(int64_t mask) { return mask << 1; }

Tensor Again(OpId op, absl::Span<const Tensor> wholes, AttrSpan attrs) {
  absl::InlinedVector<const Tensor*, 4> inputs;
  for (const Tensor& t : wholes) inputs.push_back(&t);
  return Apply({op, inputs, attrs});
}

Tensor Broadcasting(OpId op, Operands in, AttrSpan attrs, int rank, int64_t size) {
  std::vector<Tensor> aligned;
  for (const Operand& x : in) aligned.push_back(Aligned(x, rank, size, false));
  return Again(op, aligned, attrs);
}

Tensor Spreading(OpId op, Operands in, AttrSpan attrs, int64_t size) {
  std::vector<Tensor> wholes;
  for (const Operand& x : in) wholes.push_back(Spread(x, size));
  return Again(op, wholes, attrs);
}

// An index over several axes counts the elements of one example.
Tensor Reduced(OpId op, const Operand& x, AttrSpan attrs, int64_t size) {
  DimVec shifted = ToVec(attrs);
  const bool all =
      Has(op, traits::kIndex) && x.rank() != 1 && attrs[0] == (int64_t{1} << x.rank()) - 1;
  if (!all) {
    shifted[0] = Shifted(attrs[0]);
    return Apply(op, {&x.t}, shifted);
  }
  const int64_t n = x.t.size() / std::max<int64_t>(size, 1);
  const Tensor rows = ops::reshape(x.t, {size, n});
  shifted[0] = 2, shifted[1] = 0;
  const Tensor out = Apply(op, {&rows}, shifted);
  if (!attrs[1]) return out;
  DimVec dims(static_cast<size_t>(x.t.rank()), 1);
  dims[0] = size;
  return ops::reshape(out, dims);
}

Tensor Viewed(OpId op, const Operand& x, AttrSpan attrs, int64_t size) {
  DimVec shifted = ToVec(attrs);
  switch (op) {
    case OpId::k_reshape:
      shifted.insert(shifted.begin(), size);
      return ops::reshape(x.t, shifted);
    case OpId::k_broadcast_to:
      shifted.insert(shifted.begin(), size);
      return ops::broadcast_to(Aligned(x, static_cast<int>(attrs.size()), size, false), shifted);
    case OpId::k_permute_dims:
      for (int64_t& axis : shifted) ++axis;
      shifted.insert(shifted.begin(), 0);
      break;
    case OpId::k_slice:
      shifted.insert(shifted.begin(), {0, 1, size});
      break;
    default:
      break;  // real, imag
  }
  return Apply(op, {&x.t}, shifted);
}

// Fill values that differ are chosen where there are no elements.
Tensor Padded(Operands in, AttrSpan attrs, int64_t size) {
  const Operand &x = in[0], &fill = in[1];
  DimVec widths = ToVec(attrs);
  const Tensor zero = fill.batched ? ops::scalar(Scalar::Int(0), x.t.dtype()) : fill.t;
  if (!fill.batched) {
    widths.insert(widths.begin(), {0, 0});
    return Apply(OpId::k_pad, {&x.t, &zero}, widths);
  }
  const Dims dims = x.t.dims().subspan(x.batched);
  const Tensor inside = ops::pad(ops::full(dims, Scalar::Bool(true), DType::kBool, x.t.device()),
                                 widths, Scalar::Bool(false));
  if (x.batched) widths.insert(widths.begin(), {0, 0});
  const Tensor padded = Apply(OpId::k_pad, {&x.t, &zero}, widths);
  return ops::where(inside, padded, Aligned(fill, x.rank(), size, false));
}

// Example i's.
Tensor Example(const Operand& x, int64_t i) {
  if (!x.batched) return x.t;
  Attrs part = ops::WholeSlice(x.t.dims());
  part[0] = i;
  part[2] = 1;
  return ops::reshape(ops::slice(x.t, part), x.t.dims().subspan(1));
}

// A call for each example, where no op computes them together.
Tensor OneByOne(OpId op, Operands in, AttrSpan attrs, int64_t size) {
  if (size == 0) return ValueError("[vmap] ", Info(op).name, " needs at least one example, got 0.");
  std::vector<Tensor> each;
  for (int64_t i = 0; i < size; ++i) {
    std::vector<Tensor> inputs;
    for (const Operand& x : in) inputs.push_back(Example(x, i));
    const Tensor out = Again(op, inputs, attrs);
    if (!out.ok()) return out;
    DimVec dims = ToVec(out.dims());
    dims.insert(dims.begin(), 1);
    each.push_back(ops::reshape(out, dims));
  }
  return ops::concat(each, 0);
}

// A matrix that the examples share, times their columns side by side.
Tensor SparseProduct(OpId op, Operands in, AttrSpan attrs, int64_t size) {
  if (op != OpId::k_sparse_matmul || in[0].batched || in[1].batched)
    return OneByOne(op, in, attrs, size);
  const Dims dims = in[2].t.dims();
  const Tensor columns =
      ops::reshape(ops::permute_dims(in[2].t, {1, 0, 2}), {dims[1], size * dims[2]});
  const Tensor out = Again(op, {in[0].t, in[1].t, columns}, attrs);
  if (!out.ok()) return out;
  return ops::permute_dims(ops::reshape(out, {out.dims()[0], size, dims[2]}), {1, 0, 2});
}

}  // namespace

Tensor Aligned(const Operand& x, int rank, int64_t size, bool repeat) {
  if (!x.t.ok()) return x.t;
  if (!x.batched && !repeat) return x.t;
  DimVec dims = ToVec(x.t.dims());
  if (!x.batched) dims.insert(dims.begin(), 1);
  dims.insert(dims.begin() + 1, static_cast<size_t>(rank - x.rank()), 1);
  const Tensor aligned = dims.size() == x.t.dims().size() ? x.t : ops::reshape(x.t, dims);
  if (x.batched) return aligned;
  dims[0] = size;
  return ops::broadcast_to(aligned, dims);
}

Tensor Spread(const Operand& x, int64_t size) {
  return x.batched ? x.t : Aligned(x, x.rank(), size, true);
}

Tensor MoveAxis(const Tensor& x, int from, int to) {
  if (!x.ok() || from == to) return x;
  DimVec order;
  for (int i = 0; i < x.rank(); ++i)
    if (i != from) order.push_back(i);
  order.insert(order.begin() + to, from);
  return ops::permute_dims(x, order);
}

// All examples travel at once; rows that belong to ranks stay along axis 0.
Tensor WholeCollective(const Tensor& x, AttrSpan attrs, int64_t size) {
  const Collective kind = KindOfCollective(attrs);
  const auto call = [&](const Tensor& t) { return Again(OpId::k_collective, {t}, attrs); };
  if (ByRows(kind)) return MoveAxis(call(MoveAxis(x, 0, 1)), 1, 0);
  const Tensor y = call(x);
  return kind == Collective::kSend ? ops::reshape(y, {size, 0}) : y;
}

Tensor WholeOf(OpId op, Operands in, AttrSpan attrs, int rank, int64_t size) {
  DimVec shifted = ToVec(attrs);
  switch (Info(op).klass) {
    case OpClass::kElementwise:
    case OpClass::kComplex:
      return Broadcasting(op, in, attrs, rank, size);
    case OpClass::kCast:
    case OpClass::kTransfer:
    case OpClass::kSort:
      return Again(op, {in[0].t}, attrs);
    case OpClass::kReduce:
      return Reduced(op, in[0], attrs, size);
    case OpClass::kView:
      return Viewed(op, in[0], attrs, size);
    case OpClass::kPad:
      return Padded(in, attrs, size);
    case OpClass::kConcat:
    case OpClass::kScan:
      ++shifted[0];
      return Spreading(op, in, shifted, size);
    case OpClass::kCollective:
      return WholeCollective(in[0].t, attrs, size);
    case OpClass::kFourier:
      shifted[kFourierAxes] = Shifted(attrs[kFourierAxes]);
      return Again(op, {in[0].t}, shifted);
    case OpClass::kLapack:
      return Spreading(op, in, attrs, size);
    case OpClass::kTake:
      return WholeTake(in, attrs, size);
    case OpClass::kPut:
      return WholePut(in, attrs, size);
    case OpClass::kMatmul:
      return WholeMatmul(in[0], in[1], size);
    case OpClass::kConv:
    case OpClass::kConvWeights:
      return WholeConv(op, in, attrs, size);
    case OpClass::kAttention:
    case OpClass::kAttentionGrad:
      return WholeAttention(op, in, attrs, size);
    case OpClass::kRandomBits:
      return OneByOne(op, in, attrs, size);
    case OpClass::kSparse:
      return SparseProduct(op, in, attrs, size);
    case OpClass::kPositions:       // how many there are was read before
    case OpClass::kIota:            // has no operand
    case OpClass::kCollectiveWait:  // stands in plans only
      break;
  }
  return RuntimeError("[vmap] ", Info(op).name, " of a batched tensor has no extent of its own.");
}

}  // namespace frazil::batch
