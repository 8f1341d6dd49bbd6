// A program outside of the tree that transforms: 0, and what is wrong if the library of transforms
// is not there.
#include <frazil/frazil.h>

#include <cstdio>

namespace fz = frazil;

int main() {
  try {
    const fz::Tensor x = fz::sin(fz::astype(fz::arange(12), fz::DType::kF32));
    const fz::Tensor back = fz::fft::irfft(fz::fft::rfft(x));
    return fz::allclose(back, x, 0, 1e-6) ? 0 : 1;
  } catch (const fz::Error& error) {
    std::printf("%s\n", error.what());
    return error.kind() == fz::ErrorKind::kRuntime ? 2 : 3;
  }
}
