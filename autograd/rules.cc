// Gradient rules: the expressions of core/ops.def over tensors, and the helpers they name. Every
// rule is made of ops, so gradients of any order work and are traced.
#include <bit>
#include <numeric>

#include "autograd/linear_rules.h"
#include "autograd/product_rules.h"
#include "autograd/tape.h"
#include "core/check.h"
#include "core/collective.h"
#include "core/functions/attention.h"
#include "core/functions/composites.h"
#include "core/functions/ops.h"

namespace frazil::autograd {

using namespace ops;  // NOLINT: operators on tensors

namespace {

using DimVec = absl::InlinedVector<int64_t, 8>;

DimVec ToVec(Dims dims) { return DimVec(dims.begin(), dims.end()); }

Tensor zero_like(const Tensor& g) { return ops::scalar(Scalar::Float(0), g.dtype()); }

// max(a, b) and min(a, b): equal operands share the gradient.
Tensor grad_pick(const Tensor& g, const Tensor& a, const Tensor& b, const Tensor& wins) {
  return ops::where(ops::equal(a, b), g * 0.5, ops::where(wins, g, zero_like(g)));
}

// The side that is not taken has a harmless operand, or its own gradient would be 0 * inf.
Tensor grad_pow_base(const Tensor& g, const Tensor& a, const Tensor& b) {
  const Tensor constant = ops::equal(b, 0.0);
  const Tensor base = ops::where(constant, 1.0, a);
  return ops::where(constant, zero_like(g), g * b * ops::pow(base, b - 1.0));
}

Tensor grad_pow_exponent(const Tensor& g, const Tensor& a, const Tensor&, const Tensor& y) {
  const Tensor zero = ops::equal(a, 0.0);
  return ops::where(zero, zero_like(g), g * y * ops::log(ops::where(zero, 1.0, a)));
}

// The reduced axes as axes of extent 1.
Tensor KeepAxes(const Tensor& t, const TapeNode& node) {
  DimVec dims = ToVec(node.input_dims(0));
  for (size_t i = 0; i < dims.size(); ++i) {
    if (node.attr(0) >> i & 1) dims[i] = 1;
  }
  return ops::reshape(t, dims);
}

Axes ReducedAxes(const TapeNode& node) {
  Axes axes;
  axes.emplace();
  for (size_t i = 0; i < node.input_dims(0).size(); ++i) {
    if (node.attr(0) >> i & 1) axes->push_back(static_cast<int64_t>(i));
  }
  return axes;
}

Tensor grad_spread(const Tensor& g, const TapeNode& node) {
  return ops::broadcast_to(KeepAxes(g, node), node.input_dims(0));
}

// x with `by` ones put before (or after) the last axis and as many elements dropped at its other
// end.
Tensor ShiftInOnes(const Tensor& x, int64_t by, bool before) {
  const int last = x.rank() - 1;
  const int64_t n = x.dims()[last];
  DimVec kept = WholeSlice(x.dims());
  kept[3 * last] = before ? 0 : by;
  kept[3 * last + 2] = n - by;
  DimVec widths(2 * x.rank(), 0);
  widths[2 * last + (before ? 0 : 1)] = by;
  return ops::pad(ops::slice(x, kept), widths, Scalar::Float(1));
}

// For every element of the last axis the product of those before (after) it, in log n steps.
Tensor RunningProduct(const Tensor& x, bool before) {
  const int64_t n = x.dims().back();
  Tensor product = ShiftInOnes(x, 1, before);
  for (int64_t by = 1; by < n; by *= 2) product = product * ShiftInOnes(product, by, before);
  return product;
}

// The product of the other elements. There is no division, so zeros are like any other number, in
// gradients of gradients too.
Tensor grad_prod(const Tensor& g, const Tensor& a, const TapeNode& node) {
  const Dims dims = node.input_dims(0);
  DimVec order, joined, inverse(dims.size());
  int64_t n = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (node.attr(0) >> i & 1) {
      n *= dims[i];
    } else {
      order.push_back(static_cast<int64_t>(i));
      joined.push_back(dims[i]);
    }
  }
  if (n < 2) return ops::broadcast_to(KeepAxes(g, node), dims);
  joined.push_back(n);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (node.attr(0) >> i & 1) order.push_back(static_cast<int64_t>(i));
  }
  DimVec moved(dims.size());
  for (size_t i = 0; i < order.size(); ++i) {
    inverse[order[i]] = static_cast<int64_t>(i);
    moved[i] = dims[order[i]];
  }
  const Tensor rows = ops::reshape(ops::permute_dims(a, order), joined);
  const Tensor others = RunningProduct(rows, true) * RunningProduct(rows, false);
  return KeepAxes(g, node) * ops::permute_dims(ops::reshape(others, moved), inverse);
}

// max, min over axes: equal extremes share the gradient.
Tensor grad_extreme(const Tensor& g, const Tensor& a, const Tensor& y, const TapeNode& node) {
  return ops::share_extreme(KeepAxes(g, node), a, KeepAxes(y, node), ReducedAxes(node));
}

Tensor grad_permute(const Tensor& g, const TapeNode& node) {
  DimVec inverse(node.attrs.size());
  for (size_t i = 0; i < node.attrs.size(); ++i) inverse[node.attrs[i]] = static_cast<int64_t>(i);
  return ops::permute_dims(g, inverse);
}

// Puts g along one axis of extent n from `start` on, with zeros around it; what reaches over the
// end, zeros as well, is left out.
Tensor Unslice(Tensor g, int axis, int64_t start, int64_t n) {
  if (start + g.dims()[axis] > n) {
    DimVec s = WholeSlice(g.dims());
    s[3 * axis + 2] = n - start;
    g = ops::slice(g, s);
  }
  const int64_t length = g.dims()[axis];
  if (length == n) return g;
  DimVec widths(2 * g.rank(), 0);
  widths[2 * axis] = start;
  widths[2 * axis + 1] = n - start - length;
  return ops::pad(g, widths, Scalar::Float(0));
}

// Puts zeros between elements along every axis: each becomes one of steps[i] in a row, behind
// before[i] zeros. All axes are padded at once, or as many as there may be.
Tensor Spread(Tensor g, const DimVec& steps, const DimVec& before) {
  for (size_t from = 0, to = 0; from < steps.size() && g.ok(); from = to) {
    DimVec spread, joined, widths;
    size_t room = std::max<size_t>(1, size_t(kMaxRank) - steps.size());
    for (size_t i = 0; i < steps.size(); ++i) {
      const int64_t count = g.dims()[i];
      const bool here = i >= from && i == to && (steps[i] == 1 || room > 0);
      to += here;
      spread.push_back(count);
      widths.insert(widths.end(), {0, 0});
      joined.push_back(count);
      if (!here || steps[i] == 1) continue;
      spread.push_back(1);
      widths.insert(widths.end(), {before[i], steps[i] - 1 - before[i]});
      joined.back() = count * steps[i];
      --room;
    }
    if (spread.size() == joined.size()) continue;
    g = ops::reshape(ops::pad(ops::reshape(g, spread), widths, Scalar::Float(0)), joined);
  }
  return g;
}

Tensor grad_slice(const Tensor& g, const TapeNode& node) {
  const Dims dims = node.input_dims(0);
  if (g.size() == 0) return ops::full(dims, Scalar::Float(0), g.dtype(), g.device());
  DimVec flipped = WholeSlice(g.dims()), starts, steps, before;
  bool flips = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t start = node.attr(3 * i), step = node.attr(3 * i + 1);
    const int64_t count = g.dims()[i];
    if (step < 0) {
      flipped[3 * i] = count - 1;
      flipped[3 * i + 1] = -1;
      start += (count - 1) * step;
      step = -step;
      flips = true;
    }
    steps.push_back(count > 1 ? step : 1);
    before.push_back(start % steps.back());
    starts.push_back(start - before.back());
  }
  Tensor out = Spread(flips ? ops::slice(g, flipped) : g, steps, before);
  for (size_t i = 0; i < dims.size() && out.ok(); ++i)
    out = Unslice(out, static_cast<int>(i), starts[i], dims[i]);
  return out;
}

Tensor grad_concat(const Tensor& g, const TapeNode& node, int input) {
  const int64_t axis = node.attr(0);
  int64_t start = 0;
  for (int i = 0; i < input; ++i) start += node.input_dims(i)[axis];
  DimVec s = WholeSlice(g.dims());
  s[3 * axis] = node.input_dims(input)[axis] == 0 ? 0 : start;
  s[3 * axis + 2] = node.input_dims(input)[axis];
  return ops::slice(g, s);
}

Tensor grad_pad(const Tensor& g, const TapeNode& node) {
  const Dims dims = node.input_dims(0);
  DimVec s;
  for (size_t i = 0; i < dims.size(); ++i)
    s.insert(s.end(), {dims[i] == 0 ? 0 : node.attr(2 * i), 1, dims[i]});
  return ops::slice(g, s);
}

// With indices that were checked: to check them again would end a traced stretch amid a pass back.
Tensor TakeAgain(const Tensor& x, const Tensor& indices, int64_t axis) {
  const Tensor* inputs[] = {&x, &indices};
  return Apply({OpId::k_take, inputs, {&axis, 1}, /*indices_checked=*/true});
}
Tensor PutAgain(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis,
                bool add, int64_t axes = 1) {
  const int64_t attrs[] = {axis, add, axes};
  const Tensor* inputs[] = {&x, &indices, &updates};
  return Apply({OpId::k_put, inputs, attrs, /*indices_checked=*/true});
}

Tensor grad_take(const Tensor& g, const Tensor& indices, const TapeNode& node) {
  const Tensor zeros = ops::full(node.input_dims(0), Scalar::Float(0), g.dtype(), g.device());
  // To one index nothing is added: a negative zero stays one, as in the gradient of a slice.
  return PutAgain(zeros, indices, g, node.attr(0), indices.size() != 1);
}

Tensor grad_put_base(const Tensor& g, const Tensor& indices, const TapeNode& node) {
  if (node.attr(1)) return g;
  const Tensor zeros = ops::full(node.input_dims(2), Scalar::Float(0), g.dtype(), g.device());
  return PutAgain(g, indices, zeros, node.attr(0), false, node.attr(2));
}

// Only the last update to a position reached the result.
Tensor grad_put_updates(const Tensor& g, const Tensor& indices, const TapeNode& node) {
  const int64_t axis = node.attr(0);
  const Dims x = node.input_dims(0);
  int64_t extent = 1;  // of the axes that indices count in, as one
  for (int64_t a = axis; a < axis + node.attr(2); ++a) extent *= x[a];
  DimVec joined(x.begin(), x.begin() + axis);
  joined.push_back(extent);
  joined.insert(joined.end(), x.begin() + axis + node.attr(2), x.end());
  const Tensor taken = TakeAgain(ops::reshape(g, joined), indices, axis);
  const int64_t n = indices.size();
  if (node.attr(1) || n < 2) return taken;
  const Tensor flat = ops::reshape(indices, {n});
  const Tensor turns = ops::iota(n, DType::kI64, indices.device());
  const Tensor none = ops::full({extent}, Scalar::Int(0), DType::kI64, g.device());
  const Tensor last = TakeAgain(PutAgain(none, flat, turns, 0, false), flat, 0);
  DimVec dims(node.input_dims(2).size(), 1);  // those of the indices, where they stand in updates
  for (int i = 0; i < indices.rank(); ++i) dims[axis + i] = indices.dims()[i];
  const Tensor kept = ops::reshape(ops::equal(last, turns), dims);
  return ops::where(kept, taken, zero_like(g));
}

Tensor Reversed(const Tensor& x, int64_t axis) {
  DimVec s = WholeSlice(x.dims());
  s[3 * axis] = std::max<int64_t>(x.dims()[axis] - 1, 0);
  s[3 * axis + 1] = -1;
  return ops::slice(x, s);
}

Tensor grad_cumulative_sum(const Tensor& g, const TapeNode& node) {
  const int64_t axis = node.attr(0);
  const Tensor back = Reversed(g, axis);
  return Reversed(Apply(OpId::k_cumulative_sum, {&back}, {&axis, 1}), axis);
}

// The product of those before an element, times what its factor is worth: s[i] = g[i] + a[i + 1] *
// s[i + 1], in log n steps. There is no division, as in grad_prod.
Tensor grad_cumulative_prod(const Tensor& g, const Tensor& a, const TapeNode& node) {
  const int64_t last = g.rank() - 1, n = g.dims()[node.attr(0)];
  if (g.size() == 0) return g;
  const auto moved = [&](const Tensor& t) { return ops::swapaxes(t, node.attr(0), last); };
  const Tensor x = moved(a);
  const Tensor others = ShiftInOnes(x, 1, true);
  const Tensor before = Apply(OpId::k_cumulative_prod, {&others}, {&last, 1});
  Tensor worth = moved(g), factor = ShiftInOnes(x, 1, false);
  for (int64_t by = 1; by < n; by *= 2) {
    DimVec kept = WholeSlice(x.dims()), widths(2 * x.rank(), 0);
    kept[3 * last] = by;
    kept[3 * last + 2] = n - by;
    widths[2 * last + 1] = by;
    worth = worth + factor * ops::pad(ops::slice(worth, kept), widths, Scalar::Float(0));
    factor = factor * ShiftInOnes(factor, by, false);
  }
  return moved(before * worth);
}

// Where each element went, its gradient comes from.
Tensor grad_sort(const Tensor& g, const Tensor& a, const TapeNode& node) {
  const Tensor x = a.Detach();
  const int64_t how = node.attr(0), rows = -1, n = g.dims().back();
  if (g.size() == 0) return g;
  const Tensor order = ops::reshape(Apply(OpId::k_argsort, {&x}, {&how, 1}), {rows, n});
  const Tensor first = ops::reshape(ops::iota(g.size() / n, DType::kI64, g.device()), {rows, 1});
  const Tensor zeros = ops::full({g.size()}, Scalar::Float(0), g.dtype(), g.device());
  const Tensor places = ops::flatten(ops::add(order, ops::multiply(first, Scalar::Int(n))));
  return ops::reshape(PutAgain(zeros, places, ops::flatten(g), 0, false), g.dims());
}

// A Fourier transform is a symmetric matrix: its adjoint is by the other sign.
Attrs OtherSign(const TapeNode& node, int64_t extent) {
  Attrs attrs(node.attrs.begin(), node.attrs.end());
  attrs[kFourierForward] = !attrs[kFourierForward];
  attrs[kFourierExtent] = extent;
  return attrs;
}

int FourierAxis(const TapeNode& node) {
  return std::countr_zero(static_cast<uint64_t>(node.attr(kFourierAxes)));
}

// Sums and copies are each other's adjoints.
Tensor grad_collective(const Tensor& g, const TapeNode& node) {
  const auto zeros = [&] {
    return ops::full(node.input_dims(0), Scalar::Int(0), node.input_dtype(0), g.device());
  };
  const auto call = [&](Collective kind, const Tensor& x) {
    Attrs attrs(node.attrs.begin(), node.attrs.end());
    attrs[kCollectiveKind] = static_cast<int64_t>(kind);
    return Apply(OpId::k_collective, {&x}, attrs);
  };
  switch (KindOfCollective(node.attrs)) {
    case Collective::kReduceScatter:
      return call(Collective::kAllGather, g);
    case Collective::kAllGather:
      return call(Collective::kReduceScatter, g);
    case Collective::kBroadcast:
      return call(Collective::kReduce, g);
    case Collective::kReduce:
      return call(Collective::kBroadcast, g);
    case Collective::kSend:
      return call(Collective::kRecv, zeros());
    case Collective::kRecv: {
      const Tensor sent = call(Collective::kSend, g);
      return sent.ok() ? zeros() : sent;
    }
    case Collective::kBarrier:
      return zeros();
    default:
      return call(KindOfCollective(node.attrs), g);
  }
}

Tensor grad_fft_c2c(const Tensor& g, const TapeNode& node) {
  return Apply(OpId::k_fft_c2c, {&g}, OtherSign(node, 0));
}

// fft_c2r adds the conjugates of a half, which here are not in the result.
Tensor grad_fft_r2c(const Tensor& g, const TapeNode& node) {
  const int axis = FourierAxis(node);
  const int64_t n = node.input_dims(0)[axis];
  if (g.dims()[axis] != n / 2 + 1)
    return ops::real(Apply(OpId::k_fft_c2c, {&g}, OtherSign(node, 0)));
  const Tensor once = g / times_in_whole(g, axis, n);
  return Apply(OpId::k_fft_c2r, {&once}, OtherSign(node, n));
}

Tensor grad_fft_c2r(const Tensor& g, const TapeNode& node) {
  const int axis = FourierAxis(node);
  const int64_t n = g.dims()[axis];
  const Tensor half = Apply(OpId::k_fft_r2c, {&g}, OtherSign(node, n / 2 + 1));
  return half * times_in_whole(half, axis, n);
}

// The same structure with other operands.
Tensor Sparse(OpId op, const Tensor& a, const Tensor& structure, const Tensor& b,
              const TapeNode& node, bool transposed) {
  Attrs attrs(node.attrs.begin(), node.attrs.end());
  attrs[kSparseTransposed] = transposed;
  return Apply(op, {&a, &structure, &b}, attrs);
}

// y[row] += value * x[column]: a value's gradient is the product of the rows that it joined.
Tensor grad_sparse_values(const Tensor& g, const Tensor& structure, const TapeNode& node) {
  const Tensor x = ops::conj(node.saved[2]);
  const bool transposed = node.attr(kSparseTransposed) != 0;
  return Sparse(OpId::k_sparse_sample, transposed ? x : g, structure, transposed ? g : x, node,
                false);
}

Tensor grad_sparse_dense(const Tensor& g, const Tensor& values, const Tensor& structure,
                         const TapeNode& node) {
  return Sparse(OpId::k_sparse_matmul, ops::conj(values), structure, g, node,
                node.attr(kSparseTransposed) == 0);
}

// Of a sample's operand: g, as values, times the other one.
Tensor grad_sparse_rows(const Tensor& g, const Tensor& structure, const Tensor& other,
                        const TapeNode& node, bool transposed) {
  return Sparse(OpId::k_sparse_matmul, g, structure, ops::conj(other), node, transposed);
}

// attend(q, k, v): see core/functions/attention.h. The op makes the gradients of all three inputs
// at once.
Tensor grad_attend(const Tensor& g, const Tensor& y, const TapeNode& node, int input,
                   Tensor* shared) {
  const auto& [q, k, v] = node.saved;
  if (!shared->defined()) *shared = ops::attend_gradients(q, k, v, y, g, node.attr(0) != 0);
  int64_t start = 0;
  for (int i = 0; i < input; ++i) start += node.inputs[i].shape->size;
  return ops::part_of_flat(*shared, start, node.input_dims(input));
}

// Which elements of a kernel's axis meet every stride-th position of the image, from `phase` on:
// `count` of them from `first`, `step` apart, `dilation` outputs apart; the first meets the output
// `shift` on from the position over the stride.
struct Taps {
  Taps(const TapeNode& node, int axis, int64_t phase, int64_t kernel_size) {
    const int64_t stride = node.attr(kConvStride + axis), apart = node.attr(kConvDilation + axis);
    const int64_t at = phase + node.attr(kConvPadding + 2 * axis);
    const int64_t common = std::gcd(stride, apart);
    step = stride / common, dilation = apart / common;
    while (first < std::min(step, kernel_size) && (at - apart * first) % stride != 0) ++first;
    if (first < std::min(step, kernel_size)) count = (kernel_size - 1 - first) / step + 1;
    shift = (at - apart * first) / stride;
  }
  int64_t first = 0, step, count = 0, dilation, shift;
};

// The gradient of a convolution to its image, at every stride-th position from `phases` on: the
// convolution of the outputs' gradient with what of the kernel meets them, flipped, its last
// axes exchanged.
Tensor GradImagePhase(const Tensor& g, const Tensor& kernel, const TapeNode& node,
                      const std::array<int64_t, 2>& phases, Dims dims) {
  DimVec flipped = WholeSlice(kernel.dims());
  DimVec attrs(kConvAttrs, 1);
  for (int axis = 0; axis < 2; ++axis) {
    const Taps taps(node, axis, phases[size_t(axis)], kernel.dims()[axis]);
    if (taps.count == 0) return ops::full(dims, Scalar::Float(0), g.dtype(), g.device());
    flipped[3 * axis] = taps.first + taps.step * (taps.count - 1);
    flipped[3 * axis + 1] = -taps.step;
    flipped[3 * axis + 2] = taps.count;
    attrs[kConvDilation + axis] = taps.dilation;
    attrs[kConvPadding + 2 * axis] = taps.dilation * (taps.count - 1) - taps.shift;
    attrs[kConvPadding + 2 * axis + 1] = dims[1 + axis] - g.dims()[1 + axis] + taps.shift;
  }
  const Tensor w = ops::permute_dims(ops::slice(kernel, flipped), {0, 1, 3, 2});
  return Apply(OpId::k_conv2d, {&g, &w}, attrs);
}

// The same where the windows of the image are apart: one product has the gradients of all of them,
// put side by side.
Tensor GradImageWindows(const Tensor& g, const Tensor& kernel, const TapeNode& node) {
  const Dims dims = node.input_dims(0), outputs = g.dims(), k = kernel.dims();
  const int64_t down = node.attr(kConvStride), across = node.attr(kConvStride + 1);
  const Tensor weights = ops::reshape(kernel, {k[0] * k[1] * k[2], k[3]});
  Tensor windows = ops::reshape(ops::matmul(Stacked(g), Transposed(weights)),
                                {outputs[0], outputs[1], outputs[2], k[0], k[1], k[2]});
  if (k[0] != down || k[1] != across) {
    windows = ops::pad(windows, {0, 0, 0, 0, 0, 0, 0, down - k[0], 0, across - k[1], 0, 0},
                       Scalar::Float(0));
  }
  const DimVec all = {dims[0], outputs[1] * down, outputs[2] * across, dims[3]};
  Tensor image = ops::reshape(ops::permute_dims(windows, {0, 1, 3, 2, 4, 5}), all);
  DimVec beyond(8, 0), kept = WholeSlice(all);
  for (int axis = 0; axis < 2; ++axis) {
    const int64_t before = node.attr(kConvPadding + 2 * axis);
    beyond[3 + 2 * axis] = std::max<int64_t>(before + dims[1 + axis] - all[1 + axis], 0);
    kept[3 + 3 * axis] = before;
    kept[5 + 3 * axis] = dims[1 + axis];
  }
  if (beyond[3] + beyond[5] > 0) image = ops::pad(image, beyond, Scalar::Float(0));
  return ops::slice(image, kept);
}

// The gradient of a convolution to its image: by phases of the strides, put side by side.
Tensor grad_conv_image(const Tensor& g, const Tensor& kernel, const TapeNode& node) {
  const Dims dims = node.input_dims(0);
  if (g.size() == 0 || dims[3] == 0)
    return ops::full(dims, Scalar::Float(0), g.dtype(), g.device());
  const int64_t down = node.attr(kConvStride), across = node.attr(kConvStride + 1);
  if (kernel.dims()[0] <= down && kernel.dims()[1] <= across && down * across > 1 &&
      node.attr(kConvDilation) == 1 && node.attr(kConvDilation + 1) == 1)
    return GradImageWindows(g, kernel, node);
  const DimVec part = {dims[0], (dims[1] + down - 1) / down, (dims[2] + across - 1) / across,
                       dims[3]};
  std::vector<Tensor> lines;
  for (int64_t i = 0; i < down; ++i) {
    std::vector<Tensor> columns;
    for (int64_t j = 0; j < across; ++j) {
      columns.push_back(GradImagePhase(g, kernel, node, {i, j}, part));
      if (!columns.back().ok()) return columns.back();
    }
    lines.push_back(across == 1 ? columns[0] : ops::concat(columns, 3));
  }
  if (down == 1 && across == 1) return lines[0];
  DimVec whole = {part[0], part[1] * down, part[2] * across, part[3]};
  const Tensor all = ops::reshape(down == 1 ? lines[0] : ops::concat(lines, 2), whole);
  DimVec kept = WholeSlice(whole);
  kept[5] = dims[1], kept[8] = dims[2];
  return ops::slice(all, kept);
}

// The same to its kernel, and of that gradient to the outputs'.
Tensor grad_conv_weights(const Tensor& g, const Tensor& image, const TapeNode& node) {
  DimVec attrs(node.attrs.begin(), node.attrs.end());
  attrs.insert(attrs.end(), {node.input_dims(1)[0], node.input_dims(1)[1]});
  return Apply(OpId::k_conv2d_weights, {&image, &g}, attrs);
}
Tensor grad_conv_outputs(const Tensor& g, const Tensor& image, const TapeNode& node) {
  return Apply(OpId::k_conv2d, {&image, &g}, {node.attrs.data(), kConvAttrs});
}

// One function per row: the expression for the asked input.
#define NOGRAD Tensor()
#define GRAD_1(e0) return e0;
#define GRAD_2(e0, e1)       \
  if (input == 0) return e0; \
  return e1;
#define GRAD_3(e0, e1, e2)   \
  if (input == 0) return e0; \
  if (input == 1) return e1; \
  return e2;
#define GRAD_PICK(a1, a2, a3, name, ...) name
#define GRAD(...) GRAD_PICK(__VA_ARGS__, GRAD_3, GRAD_2, GRAD_1)(__VA_ARGS__)
#define FZ_OP(name, klass, arity, types, result, forward, saves, gradient, ...)               \
  Tensor Rule_##name([[maybe_unused]] int input, [[maybe_unused]] const Tensor& g,            \
                     [[maybe_unused]] const Tensor& a, [[maybe_unused]] const Tensor& b,      \
                     [[maybe_unused]] const Tensor& y, [[maybe_unused]] const TapeNode& node, \
                     [[maybe_unused]] Tensor* shared) {                                       \
    gradient;                                                                                 \
    return Tensor();                                                                          \
  }
#include "core/ops.def"

using Rule = Tensor (*)(int, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                        const TapeNode&, Tensor*);
constexpr Rule kRules[] = {
#define FZ_OP(name, ...) Rule_##name,
#include "core/ops.def"
};

}  // namespace

Tensor ApplyRule(const TapeNode& node, int input, const Tensor& g, const Tensor& output,
                 Tensor* shared) {
  return kRules[static_cast<int>(node.op)](input, g, node.saved[0], node.saved[1], output, node,
                                           shared);
}

}  // namespace frazil::autograd
