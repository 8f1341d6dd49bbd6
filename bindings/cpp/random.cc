#include "bindings/cpp/random.h"

#include <random>

#include "tracer/learning.h"

namespace frazil::random {

Generator::Generator(uint64_t seed) : state_(ops::random_state(seed)) {
  Initialize();
  ThrowIf(state_.status());
}

void Generator::seed(uint64_t seed) {
  const Tensor fresh = Checked(ops::random_state(seed), "random.seed");
  tracer::Learning::Write(&state_);
  state_.SetValue(fresh.value_ref());
}

Tensor Generator::get_state() const {
  return Checked(Apply(OpId::k_copy, {&state_}), "random.get_state");
}

void Generator::set_state(const Tensor& state) {
  if (state.dtype() != state_.dtype() || state.dims() != state_.dims()) {
    Throw(TypeError("[random.set_state] needs a tensor of get_state, ", Describe(state_), ", got ",
                    Describe(state), "."));
  }
  const Tensor fresh = Checked(Apply(OpId::k_copy, {&state}), "random.set_state");
  tracer::Learning::Write(&state_);
  state_.SetValue(fresh.value_ref());
}

Tensor Generator::Drawn(Tensor drawn, std::string_view op) {
  tracer::Learning::Write(&state_);
  return Checked(std::move(drawn), op);
}

Tensor Generator::uniform(const Shape& shape, DType dtype) {
  return Drawn(ops::random_uniform(&state_, shape, dtype), "random.uniform");
}

Tensor Generator::normal(const Shape& shape, DType dtype) {
  return Drawn(ops::random_normal(&state_, shape, dtype), "random.normal");
}

Tensor Generator::integers(int64_t low, int64_t high, const Shape& shape, DType dtype) {
  return Drawn(ops::random_integers(&state_, low, high, shape, dtype), "random.integers");
}

Tensor Generator::categorical(const Tensor& logits, std::optional<Shape> shape, int64_t axis) {
  return Drawn(ops::Generator(&state_).categorical(logits, std::move(shape), axis),
               "random.categorical");
}

Tensor Generator::choice(const Tensor& x, const Shape& shape, bool replace, const Tensor* p,
                         int64_t axis) {
  return Drawn(ops::Generator(&state_).choice(x, shape, replace, p, axis), "random.choice");
}

Tensor Generator::permutation(const Tensor& x, int64_t axis) {
  return Drawn(ops::Generator(&state_).permutation(x, axis), "random.permutation");
}

Generator& DefaultGenerator() {
  static Generator* const generator = [] {
    std::random_device device;
    return new Generator(uint64_t{device()} << 32 | device());
  }();
  return *generator;
}

}  // namespace frazil::random
