// Fourier transforms, by ducc0. Called by jit/library/fourier.cc. Invariant: the result depends on
// the arguments and on the vectors that the processor has, never on the number of threads: the work
// is always shared out among as many parts (ducc0_custom_lowlevel_threading.h).
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "core/status.h"

namespace frazil {

struct FourierArgs {
  // Of a real array: its transform, or the first half of it, n / 2 + 1 points of n, which tells the
  // rest; and a real array of such a half.
  enum class Form : uint8_t { kComplex, kFromReal, kHalfFromReal, kToReal };
  Form form;
  bool wide;                       // float64 and complex128, else float32 and complex64
  bool forward;                    // by exp(-2 pi i j k / n), else without the minus
  double scale;                    // times this
  absl::Span<const int64_t> dims;  // of the transform: of halves the whole; none is 0
  uint64_t axes;                   // a bit mask; one axis, where real numbers take part
  const char* x;                   // dense
  char* out;                       // dense, elsewhere
};

// Error: the library of transforms is not there. Throws std::bad_alloc.
Status Fourier(const FourierArgs& args);

}  // namespace frazil
