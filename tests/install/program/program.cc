// A program outside of the tree: a traced training step has the bits of the eager one.
#include <frazil/frazil.h>

#include <cstdio>
#include <cstring>

#include "core/tensor.h"  // another library's, which is on the path, too

namespace fz = frazil;

std::vector<float> Train(auto step) {
  fz::Tensor w = fz::tensor<float>({0.5, -0.25, 1, 2, -1, 0.125}, {3, 2});
  const fz::Tensor x = fz::astype(fz::reshape(fz::arange(12), {4, 3}), fz::DType::kF32) / 7;
  for (int i = 0; i < 4; ++i) w = step(w, x);
  return fz::to_vector<float>(w);
}

int main() {
  static_assert(another::kTensor == 1);
  const auto loss = [](const fz::Tensor& w, const fz::Tensor& x) {
    return fz::sum(fz::tanh(fz::matmul(x, w)) * 0.5);
  };
  const auto step = [&](const fz::Tensor& w, const fz::Tensor& x) {
    return w - fz::grad(loss)(w, x) * 0.1;
  };
  const std::vector<float> eager = Train(step);
  auto traced = fz::jit::trace(step);
  auto pure = fz::jit::trace(step, fz::jit::pure);
  for (const auto& got : {Train(traced), Train(pure)}) {
    if (got.size() != 6 || std::memcmp(got.data(), eager.data(), 6 * sizeof(float)) != 0) return 1;
  }
  if (traced.stats().replayed != 3) return 2;
  try {
    fz::reshape(fz::ones({2, 3}), {4});
    return 3;
  } catch (const fz::Error& error) {
    if (error.kind() != fz::ErrorKind::kValue) return 4;
    std::printf("%s\n", error.what());
  }
  return 0;
}
