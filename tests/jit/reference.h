// A second, naive meaning of the kernel IR: one element at a time, in long double and 128-bit
// integers, sharing no code with jit/. Used to test the interpreter. Invariant: written from
// ops.def and kir.h, never from the interpreter.
#pragma once

#include <memory>

#include "jit/emit/emitter.h"

namespace frazil::jit {

// The result bits of one instruction on operand bits; `from` is the type of operand a.
uint64_t ReferenceOp(const kir::Inst& inst, DType from, uint64_t a, uint64_t b, uint64_t c);

// Kernels without calls.
std::unique_ptr<Emitter> NewReference();

}  // namespace frazil::jit
