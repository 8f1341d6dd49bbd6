// Sums of arrays element by element, as the op `add` computes them (kernels/semantics.h). Called by
// distributed/collectives.cc. Invariant: out[i] = a[i] + b[i], rounded once, for every dtype.
#pragma once

#include "core/dtype.h"

namespace frazil::distributed {

// `out` may be `a` or `b`.
void Add(DType dtype, int64_t count, const char* a, const char* b, char* out);

}  // namespace frazil::distributed
