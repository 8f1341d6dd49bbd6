// Random tensors: streams of numbers that are the same in eager and traced code, as in Python's
// frazil.random. Part of frazil.h.
//
//     fz::random::Generator g(7);
//     fz::Tensor x = g.gamma(2.0, 1.0, {.shape = {{3, 4}}});
//
// Invariants: as in frazil.h; a generator is a stream, used by one thread at a time, and so is the
// default one, which the functions draw from.
#pragma once

#include <string>
#include <vector>

#include "bindings/cpp/error.h"
#include "bindings/cpp/functions.h"
#include "core/functions/distributions.h"

#pragma GCC visibility push(default)
namespace frazil::random {

using ops::DrawOptions;
using ops::Given;

class Generator {
 public:
  explicit Generator(uint64_t seed);
  void seed(uint64_t seed);  // starts the stream again
  // Where the stream is, a copy; puts it there again. frazil::Error if it is of another form.
  Tensor get_state() const;
  void set_state(const Tensor& state);
  const Tensor& state() const { return state_; }

  // Uniform in [0, 1); normal with mean 0 and variance 1; uniform integers from low to below high.
  Tensor uniform(const Shape& shape = {}, DType dtype = DType::kF32);
  Tensor normal(const Shape& shape = {}, DType dtype = DType::kF32);
  Tensor integers(int64_t low, int64_t high, const Shape& shape = {}, DType dtype = DType::kI64);
  // Positions along an axis with probabilities softmax(logits).
  Tensor categorical(const Tensor& logits, std::optional<Shape> shape = {}, int64_t axis = -1);
  // Elements along an axis, with probabilities p if they are given; x in random order.
  Tensor choice(const Tensor& x, const Shape& shape = {}, bool replace = true,
                const Tensor* p = nullptr, int64_t axis = 0);
  Tensor permutation(const Tensor& x, int64_t axis = 0);
  // The rows of core/functions/distributions.def.
#define FZ_DISTRIBUTION(name, parameters, arguments, ...) \
  Tensor name parameters { return Drawn(ops::Generator(&state_).name arguments, "random." #name); }
#include "core/functions/distributions.def"

 private:
  Tensor Drawn(Tensor drawn, std::string_view op);

  Tensor state_;
};

// What the functions below draw from; its seed is random until seed() is called.
Generator& DefaultGenerator();

inline void seed(uint64_t seed) { DefaultGenerator().seed(seed); }
inline Tensor get_state() { return DefaultGenerator().get_state(); }
inline void set_state(const Tensor& state) { DefaultGenerator().set_state(state); }
inline Tensor uniform(const Shape& shape = {}, DType dtype = DType::kF32) {
  return DefaultGenerator().uniform(shape, dtype);
}
inline Tensor normal(const Shape& shape = {}, DType dtype = DType::kF32) {
  return DefaultGenerator().normal(shape, dtype);
}
inline Tensor integers(int64_t low, int64_t high, const Shape& shape = {},
                       DType dtype = DType::kI64) {
  return DefaultGenerator().integers(low, high, shape, dtype);
}
inline Tensor categorical(const Tensor& logits, std::optional<Shape> shape = {},
                          int64_t axis = -1) {
  return DefaultGenerator().categorical(logits, std::move(shape), axis);
}
inline Tensor choice(const Tensor& x, const Shape& shape = {}, bool replace = true,
                     const Tensor* p = nullptr, int64_t axis = 0) {
  return DefaultGenerator().choice(x, shape, replace, p, axis);
}
inline Tensor permutation(const Tensor& x, int64_t axis = 0) {
  return DefaultGenerator().permutation(x, axis);
}
#define FZ_DISTRIBUTION(name, parameters, arguments, ...) \
  inline Tensor name parameters { return DefaultGenerator().name arguments; }
#include "core/functions/distributions.def"

}  // namespace frazil::random
#pragma GCC visibility pop
