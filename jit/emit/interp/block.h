// The inner loops of the interpreter: one instruction over the elements of one block. Called by
// interp.cc. Invariant: no knowledge of the kernel, only of types and arrays; the arithmetic is
// kernels/semantics.h.
#pragma once

#include <cstring>

#include "core/check.h"
#include "core/dtype.h"
#include "jit/kir/kir.h"

namespace frazil::jit::interp {

// An instruction's operands and result as arrays of n elements.
struct Arrays {
  const void* a;
  const void* b;
  const void* c;
  void* out;
  int n;
};

// neg ... select, cast, bitcast: everything without side effects. `from` is the type of the first
// operand.
void Compute(const kir::Inst& inst, DType from, const Arrays& arrays);

// The accumulators of one reduce: `lanes` rows of n elements.
void StartReduce(const kir::Inst& inst, void* lanes, int n);
// across == 0: element i of x is one of n independent reductions, at place `at` of its loop;
// otherwise x holds n elements of one reduction, at places at, at + 1, ...
void AddToReduce(const kir::Inst& inst, void* lanes, const void* x, int64_t at, int n, bool across);
// Combines the lanes into out[0 .. n).
void FinishReduce(const kir::Inst& inst, void* lanes, void* out, int64_t count, int n);

inline int LanesOf(const kir::Inst& inst) { return inst.lanes ? inst.lanes : 1; }

}  // namespace frazil::jit::interp
