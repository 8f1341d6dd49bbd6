// A program with ops of its own: eager, traced, in gradients and vmaps.
#include <cstdio>
#include <cstring>

#include "own/ops.h"

namespace fz = frazil;

int main() {
  const fz::Tensor x = fz::tensor<float>({-1, 0, 0.5, 2}, {4});
  const auto f = [](const fz::Tensor& v) { return own::host_erf(v * 0.5f) * 3; };
  auto traced = fz::jit::trace(f);
  const std::vector<float> eager = fz::to_vector<float>(f(x));
  for (int i = 0; i < 4; ++i) {
    const std::vector<float> got = fz::to_vector<float>(traced(x));
    if (got.size() != 4 || std::memcmp(got.data(), eager.data(), 4 * sizeof(float)) != 0) return 1;
  }
  if (traced.stats().replayed != 3) return 2;

  const std::vector<float> slope = own::Slope(x);
  for (size_t i = 0; i < 4; ++i) {
    const double v = fz::to_vector<float>(x)[i];
    if (std::abs(slope[i] - 2 / std::sqrt(std::acos(-1)) * std::exp(-v * v)) > 1e-6) return 3;
  }

  const auto sums = [](const fz::Tensor& m) {
    const std::vector<fz::Tensor> both = own::row_sums.results({m});
    return std::pair(both[0], both[1]);
  };
  const auto [rows, counts] = fz::vmap(sums)(fz::ones({2, 3, 5}));
  if (fz::to_vector<float>(rows) != std::vector<float>(6, 5)) return 4;
  if (fz::to_vector<int64_t>(counts) != std::vector<int64_t>(2, 5)) return 5;
  try {
    fz::grad([&](const fz::Tensor& m) { return fz::sum(sums(m).first); })(fz::ones({3, 5}));
    return 6;
  } catch (const fz::Error& error) {
    std::printf("%s\n", error.what());
  }
  return 0;
}
