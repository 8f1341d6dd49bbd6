// What ops make of elements, as instructions. Called by what writes kernels of elements: BodyWriter
// (body.h) and the writer of loops over small arrays (scalar_loop.h).
// Invariant: results are rounded to the op's dtype before they are used.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "jit/graph/graph.h"
#include "jit/kir/builder.h"

namespace frazil::jit {

// The type arithmetic on `dtype` happens in: f32 for 16-bit floats, i32 or u32 for small integers.
DType ComputeType(DType dtype);

// A value as computed with, and as stored; either may be missing until asked for.
struct Pair {
  kir::V wide, narrow;
};
inline bool Has(kir::V v) { return v.id != kir::kNone; }
kir::V Widen(kir::V v);
// An op's result `v` rounded to `dtype`; the wide form is missing if the types differ.
Pair RoundTo(DType dtype, kir::V v);

// An elementwise op but copy, of widened operands.
Pair Elementwise(const Node& node, absl::Span<kir::V> operands);

// What reduction `op` reduces: `v`, widened, or the number that a bool is.
kir::V Reducible(OpId op, kir::V v);
// A reduction of an operand of `rank` axes over few elements, as the lanes of core/SEMANTICS.md
// combine them: element j is in lane j mod L, and lanes without an element hold what changes
// nothing.
Pair Reduced(const Node& node, int rank, const std::vector<kir::V>& values);

}  // namespace frazil::jit
