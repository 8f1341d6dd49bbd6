// Follows the path of lorenz.py in C++:
//   lorenz [ROUNDS [RESULTS.fzt]]
#include <cstdlib>

#include "examples/forms.h"

namespace fz = frazil;

constexpr int kSteps = 1000;
constexpr double kH = 0.005;

fz::Tensor Slope(const fz::Tensor& state) {
  const fz::Tensor x = fz::rows(state, 0, 1), y = fz::rows(state, 1, 2), z = fz::rows(state, 2, 3);
  return fz::concat({10 * (y - x), x * (28 - z) - y, x * y - 8.0 / 3 * z});
}

fz::Tensor Rk4(const fz::Tensor& state, double h) {
  const fz::Tensor k1 = Slope(state);
  const fz::Tensor k2 = Slope(state + h / 2 * k1);
  const fz::Tensor k3 = Slope(state + h / 2 * k2);
  const fz::Tensor k4 = Slope(state + h * k3);
  return state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
}

fz::Tensor Simulate(fz::Tensor state) {
  for (int i = 0; i < kSteps; ++i) state = Rk4(state, kH);
  return state;
}

// Goes on with `run` from where it was, and returns where that leads.
template <typename Run>
Form Following(const char* name, Run run) {
  return {name, [run, state = fz::tensor<float>({1, 1, 1}, {3})]() mutable {
            state = run(state);
            return std::vector<fz::Tensor>{state};
          }};
}

int main(int argc, char** argv) try {
  const bool same =
      Compare({Following("eager", Simulate), Following("traced", fz::jit::trace(Simulate)),
               Following("pure", fz::jit::trace(Simulate, fz::jit::pure))},
              kSteps, argc > 1 ? std::atoi(argv[1]) : 30, argc > 2 ? argv[2] : nullptr);
  return same ? 0 : 1;
} catch (const fz::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
