// The functions of cublaslt.def as the fake cuBLASLt exports them, and the first line of each.
// Used by cublaslt*.cc.
#pragma once

#include "jit/cuda/types.h"
#include "tests/cuda/fake/recorder.h"

namespace fake {

using namespace frazil::cuda;

extern "C" {
#define FZ_CUBLASLT(symbol, name, result, parameters) \
  __attribute__((visibility("default"))) result symbol parameters;
#include "jit/cuda/cublaslt.def"
#undef FZ_CUBLASLT
}

}  // namespace fake

// Returns the error that a test asked for.
#define FAKE_LT(name, ...) \
  if (const int error = Recorder::Get().Call(#name, Arguments(__VA_ARGS__))) return error
