// The transforms for each set of instructions, in variants/*.cc. Called by choose.cc there,
// and by their tests. Invariant: one runs only where the processor has its instructions.
#pragma once

#include "kernels/fourier/fourier.h"

namespace frazil_fourier_avx512 {
void Run(const frazil::FourierArgs& args);
}
namespace frazil_fourier_avx2 {
void Run(const frazil::FourierArgs& args);
}
namespace frazil_fourier_plain {
void Run(const frazil::FourierArgs& args);
}
