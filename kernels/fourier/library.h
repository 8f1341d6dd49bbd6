// Where the transforms are. They are a fourth of all code, and few programs that are shipped
// transform: in programs that link frazil's archives they are linked with the rest (linked.cc);
// beside libfrazil.so they are a library of their own, opened at the first transform (opened.cc).
// Called by fourier.cc.
#pragma once

#include "core/status.h"
#include "kernels/fourier/fourier.h"

namespace frazil {

// Throws std::bad_alloc.
using FourierRun = void (*)(const FourierArgs& args);

// By which vectors. Error: the library cannot be opened.
StatusOr<FourierRun> FindFourier(bool avx512, bool avx2);

// The name by which the library's one function is looked up, `FourierOf`.
inline constexpr char kFourierOf[] = "frz_fourier_of";

}  // namespace frazil

extern "C" __attribute__((visibility("default"))) frazil::FourierRun frz_fourier_of(bool avx512,
                                                                                    bool avx2);
