// The forward expressions of core/ops.def over kir::V. Called by jit/lower for every elementwise
// op. Invariant: operands are in their compute type (f32 f64 i32 i64 u32 u64; bool for ops on
// bits); the caller rounds narrow results. Adding a row to ops.def needs nothing here unless it
// uses a new helper.
#pragma once

#include "core/op.h"
#include "jit/kir/builder.h"

namespace frazil::jit {

// `op` of class kElementwise on the operands it has.
kir::V Forward(OpId op, kir::V a, kir::V b, kir::V c);

// What a kReduce op reduces with.
kir::ReduceKind ReduceKindOf(OpId op);

// Helpers the table names, also used by tests.
kir::V FloorDiv(kir::V a, kir::V b);  // rounded down; integers: x // 0 is 0
kir::V FloorMod(kir::V a, kir::V b);  // the divisor's sign; integers: x % 0 is 0
kir::V SignBit(kir::V a);             // of numbers, zeros and NaN alike
kir::V Power(kir::V a, kir::V b);  // integers wrap; a negative exponent truncates the exact result

}  // namespace frazil::jit
