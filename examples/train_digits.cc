// Trains the network of train_digits.py in C++, on the file that the Python example writes:
//   train_digits digits.fzt
#include <chrono>
#include <cstdio>

#include "bindings/cpp/frazil.h"

namespace fz = frazil;

struct Params {
  fz::Tensor w1, b1, w2, b2;
};

// Tells frazil which tensors a Params holds.
template <typename F>
void ForEachTensor(Params& p, F&& visit) {
  visit(p.w1), visit(p.b1), visit(p.w2), visit(p.b2);
}

fz::Tensor Forward(const Params& p, const fz::Tensor& x) {
  return fz::matmul(fz::relu(fz::matmul(x, p.w1) + p.b1), p.w2) + p.b2;
}

int main(int argc, char** argv) try {
  const auto file = fz::load(argc > 1 ? argv[1] : "digits.fzt");
  const fz::Tensor x = fz::get(file, "x_train"), labels = fz::get(file, "y_train");
  Params params{fz::get(file, "w1"), fz::get(file, "b1"), fz::get(file, "w2"), fz::get(file, "b2")};

  Params velocity = params;
  ForEachTensor(velocity, [](fz::Tensor& v) { v = v * 0.0; });

  auto loss = [](const Params& p, const fz::Tensor& x, const fz::Tensor& t) {
    return fz::cross_entropy(Forward(p, x), t);
  };
  // Traced: the body runs at every call, its kernels are recorded once, fused, and replayed.
  auto step = fz::jit::trace(
      [&](const fz::Tensor& x, const fz::Tensor& t) {
        auto [value, grads] = fz::value_and_grad(loss)(params, x, t);
        fz::sgd_step(params.w1, grads.w1, velocity.w1, 0.1, 0.9);
        fz::sgd_step(params.b1, grads.b1, velocity.b1, 0.1, 0.9);
        fz::sgd_step(params.w2, grads.w2, velocity.w2, 0.1, 0.9);
        fz::sgd_step(params.b2, grads.b2, velocity.b2, 0.1, 0.9);
        return value;
      },
      "step");

  constexpr int64_t kBatch = 64;
  const int64_t n = x.dims()[0];
  const auto start = std::chrono::steady_clock::now();
  int steps = 0;
  fz::Tensor value;
  for (int epoch = 0; epoch < 60; ++epoch) {
    for (int64_t at = 0; at + kBatch <= n; at += kBatch, ++steps) {
      value = step(fz::rows(x, at, at + kBatch), fz::rows(labels, at, at + kBatch));
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  const fz::Tensor guess = fz::argmax(Forward(params, fz::get(file, "x_test")), fz::Axes{{-1}});
  const double accuracy =
      fz::item(fz::mean(fz::astype(fz::equal(guess, fz::get(file, "y_test")), fz::DType::kF32)));
  std::printf("C++: %d steps, %.0f steps/s, loss %.6f, test accuracy %.4f\n%s", steps,
              steps / seconds.count(), fz::item(value), accuracy, step.explain().c_str());
  return accuracy >= 0.97 ? 0 : 1;
} catch (const fz::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
