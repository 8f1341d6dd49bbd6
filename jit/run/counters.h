// How much this thread has run. Called by plans and read by the bindings for their figures.
// Invariant: counts only; nothing depends on it.
#pragma once

#include <cstdint>

#include "core/threads/tls.h"

namespace frazil::jit {

// Kernel launches and library calls of this thread's plans, eager ones included.
extern FZ_HOT_TLS int64_t t_kernels_run;
inline int64_t& KernelsRun() { return t_kernels_run; }

}  // namespace frazil::jit
