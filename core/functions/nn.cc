// Activations, normalisation and losses. Formulas avoid overflow; each is one composite.
#include <algorithm>
#include <cmath>

#include "core/functions/composite.h"
#include "core/infer.h"
#include "core/tuned.h"

namespace frazil::ops {
namespace {

Tensor Elementwise(CompositeId id, const Tensor& x, Tensor (*body)(const Tensor&)) {
  const Tensor f = AsFloat(x);
  return f.ok() ? Composite(id, {&f}, {}, [&] { return body(f); }) : f;
}

// exp(x - max) and the shift's axis checks; the shift is a constant for the gradient.
Tensor Shifted(const Tensor& x, int64_t axis) {
  Axes axes;
  axes.emplace({axis});
  return x - max(x.Detach(), axes, true);
}

Axes One(int64_t axis) {
  Axes axes;
  axes.emplace({axis});
  return axes;
}

Tensor LogSoftmaxBody(const Tensor& x, int64_t axis) {
  const Tensor shifted = Shifted(x, axis);
  return shifted - log(sum(exp(shifted), One(axis), true));
}

Tensor SoftmaxBody(const Tensor& x, int64_t axis) {
  const Tensor e = exp(Shifted(x, axis));
  return e / sum(e, One(axis), true);
}

Tensor SiluBody(const Tensor& x) { return x * sigmoid(x); }

Tensor GeluBody(const Tensor& x, bool tanh_approximation) {
  if (!tanh_approximation) return x * 0.5 * (erf(x * M_SQRT1_2) + 1.0);
  const Tensor inner = (x + x * x * x * 0.044715) * 0.7978845608028654;
  return x * 0.5 * (tanh(inner) + 1.0);
}

Tensor LayerNormBody(const Tensor& x, const Tensor* weight, const Tensor* bias, const Tensor& eps) {
  const Tensor centred = x - mean(x, One(-1), true);
  const Tensor variance = mean(centred * centred, One(-1), true);
  Tensor out = centred / sqrt(variance + eps);
  if (weight) out = out * *weight;
  if (bias) out = out + *bias;
  return out;
}

}  // namespace

BodyOfOperands FindBody(CompositeId id) {
  using Operands = absl::Span<const Tensor>;
  switch (id) {
    case CompositeId::k_silu:
      return [](Operands x, AttrSpan) { return SiluBody(x[0]); };
    case CompositeId::k_gelu:
      return [](Operands x, AttrSpan attrs) { return GeluBody(x[0], attrs[0] != 0); };
    case CompositeId::k_softmax:
      return [](Operands x, AttrSpan attrs) { return SoftmaxBody(x[0], attrs[0]); };
    case CompositeId::k_log_softmax:
      return [](Operands x, AttrSpan attrs) { return LogSoftmaxBody(x[0], attrs[0]); };
    case CompositeId::k_layer_norm:
      return [](Operands x, AttrSpan attrs) {
        const Tensor* const weight = attrs[0] & 1 ? &x[2] : nullptr;
        const Tensor* const bias = attrs[0] & 2 ? &x.back() : nullptr;
        return LayerNormBody(x[0], weight, bias, x[1]);
      };
    default:
      return nullptr;
  }
}

bool TakesMuch(const CompositeCall& call) {
  return std::any_of(call.inputs.begin(), call.inputs.end(), [](const Tensor* t) {
    return t->ok() && t->size() * SizeOf(t->dtype()) >= tuned::kMuchOfComposite;
  });
}

Tensor relu(const Tensor& x) {
  if (!x.ok()) return x;
  const Tensor f = x;
  return Composite(CompositeId::k_relu, {&f}, {}, [&] {
    const Arg zero = IsFloat(f.dtype()) ? Arg(0.0) : Arg(0);
    return where(less_equal(f, zero), zero, f);  // NaN stays NaN; the gradient at 0 is 0
  });
}

Tensor silu(const Tensor& x) { return Elementwise(CompositeId::k_silu, x, SiluBody); }

Tensor softplus(const Tensor& x) {
  return Elementwise(CompositeId::k_softplus, x,
                     [](const Tensor& f) { return maximum(f, 0.0) + log1p(exp(-abs(f))); });
}

Tensor log_sigmoid(const Tensor& x) {
  return Elementwise(CompositeId::k_log_sigmoid, x,
                     [](const Tensor& f) { return minimum(f, 0.0) - log1p(exp(-abs(f))); });
}

Tensor gelu(const Tensor& x, std::string_view approximate) {
  const bool tanh_approximation = approximate == "tanh";
  if (!tanh_approximation && approximate != "none") {
    return ValueError("[gelu] approximate must be \"none\" or \"tanh\", got \"",
                      std::string(approximate), "\".");
  }
  const Tensor f = AsFloat(x);
  if (!f.ok()) return f;
  const int64_t attr = tanh_approximation;
  return Composite(CompositeId::k_gelu, {&f}, {&attr, 1},
                   [&] { return GeluBody(f, tanh_approximation); });
}

Tensor softmax(const Tensor& x, int64_t axis) {
  const Tensor f = AsFloat(x);
  if (!f.ok()) return f;
  return Composite(CompositeId::k_softmax, {&f}, {&axis, 1}, [&] { return SoftmaxBody(f, axis); });
}

Tensor log_softmax(const Tensor& x, int64_t axis) {
  const Tensor f = AsFloat(x);
  if (!f.ok()) return f;
  return Composite(CompositeId::k_log_softmax, {&f}, {&axis, 1},
                   [&] { return LogSoftmaxBody(f, axis); });
}

Tensor layer_norm(const Tensor& x, const Tensor* weight, const Tensor* bias, double eps) {
  const Tensor f = AsFloat(x);
  if (!f.ok()) return f;
  if (f.rank() == 0)
    return ValueError("[layer_norm] needs at least one axis, got ", Describe(x), ".");
  for (const Tensor* p : {weight, bias}) {
    if (p && p->ok() && !(p->rank() == 1 && p->size() == f.layout()->dim(-1))) {
      return ValueError("[layer_norm] weight and bias must have shape [", f.layout()->dim(-1),
                        "], got ", Describe(*p), " for ", Describe(x), ".");
    }
  }
  if (IsHalf(f.dtype())) {  // squares and sums may be too large for 16 bits
    const Tensor w = weight ? astype(*weight, DType::kF32) : Tensor();
    const Tensor b = bias ? astype(*bias, DType::kF32) : Tensor();
    const Tensor wide =
        layer_norm(astype(f, DType::kF32), weight ? &w : nullptr, bias ? &b : nullptr, eps);
    return astype(wide, f.dtype());
  }
  const Tensor e = Number(eps, f);
  const Tensor w = weight ? *weight : Tensor(), b = bias ? *bias : Tensor();
  const auto body = [&] { return LayerNormBody(f, weight ? &w : nullptr, bias ? &b : nullptr, e); };
  const int64_t attr = (weight ? 1 : 0) | (bias ? 2 : 0);
  if (weight && bias)
    return Composite(CompositeId::k_layer_norm, {&f, &e, &w, &b}, {&attr, 1}, body);
  if (weight || bias)
    return Composite(CompositeId::k_layer_norm, {&f, &e, weight ? &w : &b}, {&attr, 1}, body);
  return Composite(CompositeId::k_layer_norm, {&f, &e}, {&attr, 1}, body);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& labels) {
  const Tensor f = AsFloat(logits);
  if (!f.ok()) return f;
  if (!labels.ok()) return labels;
  if (!IsInt(labels.dtype()))
    return TypeError("[cross_entropy] labels must be integers, got ", Describe(labels), ".");
  const bool matches = f.rank() >= 1 && Dense(f.dims().first(f.rank() - 1)) == labels.shape();
  if (!matches) {
    return ValueError(
        "[cross_entropy] labels must have the shape of logits without the last axis: logits are ",
        Describe(logits), ", labels are ", Describe(labels), ".");
  }
  const int64_t classes = f.layout()->dim(-1);
  const Tensor wide = astype(to_device(labels, f.device()), DType::kI64);
  if (Status bad = CheckIndexRange("cross_entropy", wide, {0, classes},
                                   [] { return std::string("classes"); })
                       .status();
      !bad.ok())
    return bad;
  const Tensor flat = reshape(f, {-1, classes});
  const Tensor rows = reshape(wide, {-1, 1});
  if (!flat.ok()) return flat;
  return Composite(CompositeId::k_cross_entropy, {&flat, &rows}, {}, [&] {
    const Tensor logp = LogSoftmaxBody(flat, -1);
    const Tensor hit = equal(iota(classes, DType::kI64, flat.device()), rows);
    return -mean(sum(where(hit, logp, 0.0), One(-1), false));
  });
}

Tensor mse_loss(const Tensor& a, const Tensor& b) {
  if (!a.ok()) return a;
  if (!b.ok()) return b;
  const Tensor x = a, y = b;
  return Composite(CompositeId::k_mse_loss, {&x, &y}, {}, [&] {
    const Tensor d = x - y;
    return mean(d * d);
  });
}

}  // namespace frazil::ops
