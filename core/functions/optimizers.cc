// Optimizer updates as composites: new values are computed first, then the cells are set.
#include "core/functions/composite.h"

namespace frazil::ops {
namespace {

// Gives a cell its new value; a leaf stays a leaf.
void Store(Tensor* cell, const Tensor& value) {
  value.ok() ? cell->SetValue(value.value_ref()) : void(*cell = value);
}

}  // namespace

void sgd_step(Tensor* parameter, const Tensor& gradient, Tensor* velocity, double lr,
              double momentum, double weight_decay) {
  const Tensor p = parameter->Detach(), g = gradient.Detach(), v = velocity->Detach();
  const Tensor rate = Number(lr, p), m = Number(momentum, p), decay = Number(weight_decay, p);
  Tensor out[2];
  ApplyComposite(
      {static_cast<uint32_t>(CompositeId::k_sgd_step), {&p, &g, &v, &rate, &m, &decay}, {}},
      [&](absl::Span<Tensor> y) {
        y[1] = v * m + (g + p * decay);
        y[0] = p - y[1] * rate;
      },
      out);
  Store(parameter, out[0]);
  Store(velocity, out[1]);
}

void adam_step(Tensor* parameter, const Tensor& gradient, Tensor* m, Tensor* v, const Tensor& rate,
               const Tensor& root, double beta1, double beta2, double eps, double weight_decay) {
  const Tensor p = parameter->Detach(), g0 = gradient.Detach(), m0 = m->Detach(), v0 = v->Detach();
  const Tensor b1 = Number(beta1, p), b2 = Number(beta2, p), c1 = Number(1 - beta1, p),
               c2 = Number(1 - beta2, p);
  const Tensor e = Number(eps, p), decay = Number(weight_decay, p);
  Tensor out[3];
  ApplyComposite(
      {static_cast<uint32_t>(CompositeId::k_adam_step),
       {&p, &g0, &m0, &v0, &rate, &root, &b1, &b2, &c1, &c2, &e, &decay},
       {}},
      [&](absl::Span<Tensor> y) {
        const Tensor g = g0 + p * decay;
        y[1] = m0 * b1 + g * c1;
        y[2] = v0 * b2 + g * g * c2;
        y[0] = p - y[1] * rate / (sqrt(y[2]) / root + e);
      },
      out);
  Store(parameter, out[0]);
  Store(m, out[1]);
  Store(v, out[2]);
}

}  // namespace frazil::ops
