// Products of wholes: operands that all examples share join the examples to rows of one product,
// and a convolution whose kernels differ is a product of its windows.
#include "batch/rules.h"
#include "core/functions/ops.h"
#include "core/layout.h"

namespace frazil::batch {
namespace {

using DimVec = absl::InlinedVector<int64_t, 8>;

DimVec ToVec(Dims dims) { return DimVec(dims.begin(), dims.end()); }

int64_t ProductOf(Dims dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

// The windows of x [n, h, w, c] that a kernel of extents kh, kw meets, as rows: [n, rows, kh * kw *
// c], whose last axis has the order of the kernel's elements.
Tensor Windows(const Tensor& x, AttrSpan attrs, int64_t kh, int64_t kw) {
  DimVec cut = ops::WholeSlice(x.dims()), widths(8, 0);
  for (int axis = 0; axis < 2; ++axis) {
    for (int end = 0; end < 2; ++end) {
      const int64_t padding = attrs[kConvPadding + 2 * axis + end];
      if (padding > 0) widths[2 * (1 + axis) + end] = padding;
      if (padding < 0) {
        cut[3 * (1 + axis) + 2] += padding;
        if (end == 0) cut[3 * (1 + axis)] = -padding;
      }
    }
  }
  const Tensor padded = ops::pad(ops::slice(x, cut), widths, Scalar::Int(0));
  if (!padded.ok()) return padded;
  const int64_t kernel[] = {kh, kw};
  int64_t count[2];
  for (int axis = 0; axis < 2; ++axis) {
    const int64_t span = attrs[kConvDilation + axis] * (kernel[axis] - 1) + 1;
    count[axis] = (padded.dims()[1 + axis] - span) / attrs[kConvStride + axis] + 1;
  }
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < kh; ++i) {
    for (int64_t j = 0; j < kw; ++j) {
      DimVec s = ops::WholeSlice(padded.dims());
      const int64_t at[] = {i, j};
      for (int axis = 0; axis < 2; ++axis) {
        s[3 * (1 + axis)] = at[axis] * attrs[kConvDilation + axis];
        s[3 * (1 + axis) + 1] = attrs[kConvStride + axis];
        s[3 * (1 + axis) + 2] = count[axis];
      }
      parts.push_back(ops::slice(padded, s));
    }
  }
  return ops::reshape(ops::concat(parts, 3),
                      {x.dims()[0], count[0] * count[1], kh * kw * x.dims()[3]});
}

// What all examples of an array [.., n, ...] are with the examples joined to n.
Tensor Joined(const Tensor& whole) {
  DimVec dims(whole.dims().begin() + 1, whole.dims().end());
  dims[0] *= whole.dims()[0];
  return ops::reshape(whole, dims);
}

// The rows of all windows of an example, or of all if they share x: [size or 1, rows, k].
Tensor RowsOf(const Operand& x, AttrSpan attrs, int64_t kh, int64_t kw, int64_t size) {
  const Tensor rows = Windows(x.batched ? Joined(x.t) : x.t, attrs, kh, kw);
  if (!rows.ok()) return rows;
  const int64_t examples = x.batched ? size : 1;
  return ops::reshape(rows, {examples, rows.dims()[0] / examples * rows.dims()[1], rows.dims()[2]});
}

// The rows of all examples times one matrix [k, n]: [size, ..., m, n].
Tensor RowsTimes(const Tensor& a, const Tensor& matrix) {
  if (!a.ok()) return a;
  if (!matrix.ok()) return matrix;
  const Dims dims = a.dims();
  DimVec out = ToVec(dims);
  out.back() = matrix.dims().back();
  const int64_t rows = ProductOf(dims.first(dims.size() - 1));
  return ops::reshape(ops::matmul(ops::reshape(a, {rows, dims.back()}), matrix), out);
}

// The one matrix that all examples share, or undefined.
Tensor SharedMatrix(const Operand& x) {
  const Dims dims = x.t.dims();
  if (x.batched || ProductOf(dims.first(dims.size() - 2)) != 1) return Tensor();
  return ops::reshape(x.t, dims.last(2));
}

}  // namespace

Tensor WholeMatmul(const Operand& a, const Operand& b, int64_t size) {
  const int rank = a.rank();
  if (const Tensor matrix = SharedMatrix(b); matrix.defined()) return RowsTimes(a.t, matrix);
  if (const Tensor matrix = SharedMatrix(a); matrix.defined() && b.t.dims().back() == 1) {
    // A matrix times the examples' vectors: the vectors as rows times its transpose.
    const Dims dims = b.t.dims();
    const Tensor rows = ops::reshape(b.t, dims.first(dims.size() - 1));
    const Tensor out = RowsTimes(rows, ops::permute_dims(matrix, {1, 0}));
    if (!out.ok()) return out;
    DimVec column = ToVec(out.dims());
    column.push_back(1);
    return ops::reshape(out, column);
  }
  return ops::matmul(Aligned(a, rank, size, false), Aligned(b, rank, size, false));
}

Tensor WholeConv(OpId op, Operands in, AttrSpan attrs, int64_t size) {
  const bool weights = op == OpId::k_conv2d_weights;
  const Operand &x = in[0], &other = in[1];
  const Dims dims = other.t.dims().subspan(other.batched);  // of one example
  if (!weights && !other.batched) {
    const Tensor joined = Joined(x.t);
    const Tensor out = Apply(op, {&joined, &other.t}, attrs);
    if (!out.ok()) return out;
    DimVec split = ToVec(out.dims());
    split[0] /= size;
    split.insert(split.begin(), size);
    return ops::reshape(out, split);
  }
  const int64_t kh = weights ? attrs[kConvAttrs] : dims[0];
  const int64_t kw = weights ? attrs[kConvAttrs + 1] : dims[1];
  const Tensor rows = RowsOf(x, attrs, kh, kw, size);
  if (!rows.ok()) return rows;
  const int64_t examples = other.batched ? size : 1, outputs = dims[3];
  const Tensor right =
      ops::reshape(other.t, {examples, weights ? rows.dims()[1] : rows.dims()[2], outputs});
  const Tensor out = ops::matmul(weights ? ops::permute_dims(rows, {0, 2, 1}) : rows, right);
  const Dims image = x.t.dims().subspan(x.batched);
  if (weights) return ops::reshape(out, {size, kh, kw, image[3], outputs});
  const int64_t span = attrs[kConvDilation] * (kh - 1) + 1;
  const int64_t padded = image[1] + attrs[kConvPadding] + attrs[kConvPadding + 1];
  const int64_t h = (padded - span) / attrs[kConvStride] + 1;
  return ops::reshape(out, {size, image[0], h, rows.dims()[1] / image[0] / h, outputs});
}

// The flat result has each part of all examples; an example's has all its parts.
Tensor WholeAttention(OpId op, Operands in, AttrSpan attrs, int64_t size) {
  std::vector<Tensor> wholes;
  absl::InlinedVector<const Tensor*, 6> inputs;
  for (const Operand& x : in) wholes.push_back(Spread(x, size));
  for (const Tensor& t : wholes) inputs.push_back(&t);
  const Tensor flat = Apply({op, inputs, attrs});
  if (!flat.ok()) return flat;
  const Dims q = wholes[0].dims(), v = wholes[2].dims();
  DimVec sizes;
  if (op == OpId::k_attend) {
    const int64_t rows = ProductOf(q.subspan(1, q.size() - 2));
    sizes = {rows * v.back(), rows};
  } else {
    for (int i = 0; i < 3; ++i) sizes.push_back(ProductOf(wholes[i].dims().subspan(1)));
  }
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t n : sizes) {
    const Tensor part = ops::slice(flat, {size * n == 0 ? 0 : start, 1, size * n});
    parts.push_back(ops::reshape(part, {size, n}));
    start += size * n;
  }
  return ops::concat(parts, 1);
}

}  // namespace frazil::batch
