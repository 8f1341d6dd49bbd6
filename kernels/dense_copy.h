// The elements of an array in row-major order, without gaps. Called by kernels whose result begins
// as a copy of an operand, and by those that read dense data only. Invariant: bytes move, nothing
// else; threads share the work.
#pragma once

#include "core/layout.h"

namespace frazil {

// `item`: bytes of an element; `from`: the first element of `layout`, in the CPU's memory.
void CopyDense(const Layout& layout, int64_t item, const char* from, char* to);

}  // namespace frazil
