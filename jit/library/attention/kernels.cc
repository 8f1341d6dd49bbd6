#include "jit/library/attention/kernels.h"

#include <cmath>

#include "core/str.h"
#include "jit/kir/builder.h"
#include "kernels/fn.h"

namespace frazil::jit {
namespace {

using kir::Buffer;
using kir::Builder;
using kir::Kernel;
using kir::ReduceKind;
using kir::Stride;
using kir::V;

constexpr Stride kZero = Stride::kZero, kOne = Stride::kOne, kAny = Stride::kAny;

V Exp(Builder& b, V x) { return b.Call(static_cast<int>(Fn::kExp), x); }

// What scores are taken from: the maximum, but nothing where no score is above -inf, so that their
// weights are 0.
V Shift(V maximum) { return select(maximum == K(maximum, -INFINITY), K(maximum, 0), maximum); }

}  // namespace

StatusOr<PlaneKernel> PlaneKernel::Make(const Kernel& kernel) {
  PlaneKernel out;
  FZ_ASSIGN_OR_RETURN(out.code_, GetKernel(kernel));
  out.looped_ = kernel.has_loop;
  return out;
}

Kernel MaximumKernel(DType t) {
  Kernel k{.name = "attention_maximum", .rank = 1, .has_loop = true};
  k.buffers = {{"s", t, false, {kOne, kAny}},
               {"m", t, false, {kOne, kZero}},
               {"m2", t, true, {kOne, kZero}}};
  Builder b(&k);
  const V before = b.Load(1);
  b.Loop();
  const V largest = b.Reduce(ReduceKind::kMax, b.Load(0), 0);
  b.End();
  b.Store(2, max(before, largest));
  return k;
}

Kernel FactorKernel(DType t) {
  Kernel k{.name = "attention_factor", .rank = 2};
  k.buffers = {
      {"m", t, false, {kAny, kOne}}, {"m2", t, false, {kAny, kOne}}, {"f", t, true, {kAny, kOne}}};
  Builder b(&k);
  b.Store(2, Exp(b, b.Load(0) - Shift(b.Load(1))));
  return k;
}

Kernel WeightsKernel(DType t) {
  Kernel k{.name = "attention_weights", .rank = 1, .has_loop = true};
  k.buffers = {{"s", t, false, {kOne, kAny}},  {"m", t, false, {kOne, kZero}},
               {"l", t, false, {kOne, kZero}}, {"f", t, false, {kOne, kZero}},
               {"p", t, true, {kOne, kAny}},   {"l2", t, true, {kOne, kZero}}};
  Builder b(&k);
  const V shift = Shift(b.Load(1));
  b.Loop();
  const V weight = Exp(b, b.Load(0) - shift);
  b.Store(4, weight);
  const V added = b.Reduce(ReduceKind::kSum, weight, 8);
  b.End();
  b.Store(5, b.Load(2) * b.Load(3) + added);
  return k;
}

Kernel EndKernel(DType t) {
  Kernel k{.name = "attention_end", .rank = 2};
  k.buffers = {{"m", t, false, {kAny, kOne}},
               {"l", t, false, {kAny, kOne}},
               {"lse", t, true, {kAny, kOne}},
               {"f", t, true, {kAny, kOne}}};
  Builder b(&k);
  const V maximum = b.Load(0), sum = b.Load(1);
  b.Store(2, maximum + b.Call(static_cast<int>(Fn::kLog), sum));
  b.Store(3, select(sum == K(sum, 0), K(sum, 0), K(sum, 1) / sum));
  return k;
}

Kernel ResultsKernel(DType t) {
  Kernel k{.name = "attention_results", .rank = 2};
  k.buffers = {
      {"o", t, false, {kAny, kOne}}, {"f", t, false, {kAny, kZero}}, {"o2", t, true, {kAny, kOne}}};
  Builder b(&k);
  const V factor = b.Load(1);
  b.Store(2, select(factor == K(factor, 0), K(factor, 0), b.Load(0) * factor));
  return k;
}

Kernel GradientsKernel(DType t) {
  Kernel k{.name = "attention_gradients", .rank = 2};
  k.buffers = {{"s", t, false, {kAny, kOne}},    {"dp", t, false, {kAny, kOne}},
               {"lse", t, false, {kAny, kZero}}, {"delta", t, false, {kAny, kZero}},
               {"p", t, true, {kAny, kOne}},     {"ds", t, true, {kAny, kOne}}};
  Builder b(&k);
  const V weight = Exp(b, b.Load(0) - Shift(b.Load(2)));
  const V gradient = weight * (b.Load(1) - b.Load(3));
  b.Store(4, weight);
  b.Store(5, gradient);
  return k;
}

}  // namespace frazil::jit
