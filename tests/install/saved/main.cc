// A program outside of the tree that runs a saved one: main FILE.frz
#include <frazil/frazil.h>

#include <cstdio>

namespace fz = frazil;

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  auto golden = fz::jit::load(argv[1]);
  if (golden.input_types() != std::vector<std::string>{"f32[batch,4]", "i64[3]"}) return 2;
  const fz::Tensor x = fz::ones({6, 4}), i = fz::tensor<int64_t>({0, 5, -1}, {3});
  const fz::Tensor first = golden.call({x, i})[0];
  for (int k = 0; k < 4; ++k) {
    const auto again = golden.call({{"i", i}, {"x", x}});
    if (!fz::array_equal(first, again[0]) || fz::item(again[1]) != k + 2) return 3;
  }
  // Its state, put back: the call counts go on from there.
  auto state = golden.state();
  golden.call({x, i});
  golden.set_state(state);
  if (fz::item(golden.call({x, i})[1]) != 6) return 4;
  try {
    golden(x);
    return 5;
  } catch (const fz::Error& error) {
    std::printf("%s\n", error.what());
  }
  return 0;
}
