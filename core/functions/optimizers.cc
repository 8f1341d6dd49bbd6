// Optimizer updates as composites: new values are computed first, then the cells are set.
#include "core/functions/composite.h"

namespace frazil::ops {
namespace {

// Gives a cell its new value; a leaf stays a leaf.
void Store(Tensor* cell, const Tensor& value) {
  value.ok() ? cell->SetValue(value.value_ref()) : void(*cell = value);
}

Tensor NumberOf(DType dtype, double v) { return scalar(Scalar::Float(v), dtype); }

}  // namespace

SgdNumbers::SgdNumbers(DType dtype, const Tensor& lr, double momentum, double weight_decay)
    : rate(astype(lr, dtype)),
      momentum(NumberOf(dtype, momentum)),
      decay(NumberOf(dtype, weight_decay)) {}

void sgd_step(Tensor* parameter, const Tensor& gradient, Tensor* velocity, double lr,
              double momentum, double weight_decay) {
  const DType dtype = parameter->ok() ? parameter->dtype() : DType::kF64;
  sgd_step(parameter, gradient, velocity,
           SgdNumbers(dtype, NumberOf(dtype, lr), momentum, weight_decay));
}

void sgd_step(Tensor* parameter, const Tensor& gradient, Tensor* velocity, const SgdNumbers& n) {
  const Tensor p = parameter->Detach(), g = gradient.Detach(), v = velocity->Detach();
  Tensor out[2];
  ApplyComposite(
      {static_cast<uint32_t>(CompositeId::k_sgd_step),
       {&p, &g, &v, &n.rate, &n.momentum, &n.decay},
       {}},
      [&](absl::Span<Tensor> y) {
        y[1] = v * n.momentum + (g + p * n.decay);
        y[0] = p - y[1] * n.rate;
      },
      out);
  Store(parameter, out[0]);
  Store(velocity, out[1]);
}

AdamNumbers::AdamNumbers(DType dtype, const Tensor& rate, const Tensor& root, double beta1,
                         double beta2, double eps, double weight_decay)
    : rate(astype(rate, dtype)),
      root(astype(root, dtype)),
      b1(NumberOf(dtype, beta1)),
      b2(NumberOf(dtype, beta2)),
      c1(NumberOf(dtype, 1 - beta1)),
      c2(NumberOf(dtype, 1 - beta2)),
      eps(NumberOf(dtype, eps)),
      decay(NumberOf(dtype, weight_decay)) {}

void adam_step(Tensor* parameter, const Tensor& gradient, Tensor* m, Tensor* v,
               const AdamNumbers& n) {
  const Tensor p = parameter->Detach(), g0 = gradient.Detach(), m0 = m->Detach(), v0 = v->Detach();
  Tensor out[3];
  ApplyComposite(
      {static_cast<uint32_t>(CompositeId::k_adam_step),
       {&p, &g0, &m0, &v0, &n.rate, &n.root, &n.b1, &n.b2, &n.c1, &n.c2, &n.eps, &n.decay},
       {}},
      [&](absl::Span<Tensor> y) {
        const Tensor g = g0 + p * n.decay;
        y[1] = m0 * n.b1 + g * n.c1;
        y[2] = v0 * n.b2 + g * g * n.c2;
        y[0] = p - y[1] * n.rate / (sqrt(y[2]) / n.root + n.eps);
      },
      out);
  Store(parameter, out[0]);
  Store(m, out[1]);
  Store(v, out[2]);
}

}  // namespace frazil::ops
