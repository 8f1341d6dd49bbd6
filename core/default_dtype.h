// What Python floats on their own become, and what is made without a dtype: float32 or float64
// (fz.default_dtype). Set for the process, or for a thread while a block runs; read by creation
// and by promotion of numbers among themselves (core/promote.h), a part of the keys of promised
// calls (tracer/promise_key.h). Invariant: an op never asks; its dtype is decided before Apply.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/dtype.h"
#include "core/threads/tls.h"

#pragma GCC visibility push(default)
namespace frazil {

extern std::atomic<DType> g_default_float;
extern FZ_HOT_TLS int8_t t_default_float;  // this thread's own, a DType; -1: the process's

inline DType DefaultFloat() {
  return t_default_float >= 0 ? static_cast<DType>(t_default_float)
                              : g_default_float.load(std::memory_order_relaxed);
}

}  // namespace frazil
#pragma GCC visibility pop
