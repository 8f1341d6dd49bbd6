// Trains the network of train_digits.py in C++, on the file that demo.py writes:
//   train_digits DIGITS.fzt [EPOCHS [RESULTS.fzt]]
#include <cstdlib>

#include "examples/forms.h"

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
  const fz::Tensor hidden = fz::relu(fz::matmul(x, fz::matrix_transpose(p.w1)) + p.b1);
  return fz::matmul(hidden, fz::matrix_transpose(p.w2)) + p.b2;
}

fz::Tensor Loss(const Params& p, const fz::Tensor& x, const fz::Tensor& labels) {
  return fz::cross_entropy(Forward(p, x), labels);
}

// Gradient descent with momentum; replaces what both structs hold.
fz::Tensor TrainStep(Params& p, Params& velocity, const fz::Tensor& x, const fz::Tensor& labels) {
  auto [loss, grads] = fz::value_and_grad(Loss)(p, x, labels);
  fz::sgd_step(p.w1, grads.w1, velocity.w1, 0.1, 0.9);
  fz::sgd_step(p.b1, grads.b1, velocity.b1, 0.1, 0.9);
  fz::sgd_step(p.w2, grads.w2, velocity.w2, 0.1, 0.9);
  fz::sgd_step(p.b2, grads.b2, velocity.b2, 0.1, 0.9);
  return loss;
}

struct Trainer {
  static constexpr int64_t kBatch = 64;

  fz::Tensor x, labels;
  Params params, velocity;

  explicit Trainer(const fz::NamedTensors& file)
      : x(fz::get(file, "x_train")),
        labels(fz::get(file, "y_train")),
        params{fz::get(file, "w1"), fz::get(file, "b1"), fz::get(file, "w2"), fz::get(file, "b2")},
        velocity(params) {
    ForEachTensor(velocity, [](fz::Tensor& v) { v = v * 0.0; });
  }
  int steps() const { return int(x.dims()[0] / kBatch); }

  // The last loss of an epoch, and the parameters.
  template <typename Step>
  std::vector<fz::Tensor> Epoch(Step& step) {
    fz::Tensor loss;
    for (int64_t i = 0; i < steps(); ++i) {
      const int64_t from = i * kBatch, to = from + kBatch;
      loss = step(params, velocity, fz::rows(x, from, to), fz::rows(labels, from, to));
    }
    return {loss, params.w1, params.b1, params.w2, params.b2};
  }
};

int main(int argc, char** argv) try {
  const auto file = fz::load(argc > 1 ? argv[1] : "digits.fzt");
  Trainer first(file), second(file), third(file);
  auto eager = TrainStep;
  auto traced = fz::jit::trace(TrainStep, "train_step");
  auto promised = fz::jit::trace(TrainStep, fz::jit::pure, "train_step");
  const bool same =
      Compare({{"eager", [&] { return first.Epoch(eager); }},
               {"traced", [&] { return second.Epoch(traced); }},
               {"pure", [&] { return third.Epoch(promised); }}},
              first.steps(), argc > 2 ? std::atoi(argv[2]) : 60, argc > 3 ? argv[3] : nullptr);
  const fz::Tensor guess =
      fz::argmax(Forward(third.params, fz::get(file, "x_test")), fz::Axes{{-1}});
  const double right =
      fz::item(fz::mean(fz::astype(fz::equal(guess, fz::get(file, "y_test")), fz::DType::kF32)));
  std::printf("%.1f%% of the test images are read right.\n", 100 * right);
  return same ? 0 : 1;
} catch (const fz::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
