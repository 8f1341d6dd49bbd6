// What a call for one example is for all of them: ops on wholes (batch/batch.h). Called by the
// batch door, at the door outside of it. Invariant: the result is a whole, or an error; what
// inference refuses has been refused for one example before.
#pragma once

#include "core/apply.h"

namespace frazil::batch {

struct Operand {
  Tensor t;
  bool batched;                                    // t is a whole
  int rank() const { return t.rank() - batched; }  // of one example
};

using Operands = absl::Span<const Operand>;

// `rank`: of one example's result.
Tensor WholeOf(OpId op, Operands in, AttrSpan attrs, int rank, int64_t size);

// -- Shared by rules.

// The operand as a whole, one example's axes aligned to the right of `rank` axes; `repeat`: what is
// not batched is spread over all examples.
Tensor Aligned(const Operand& x, int rank, int64_t size, bool repeat);
// All examples' arrays, whether or not they differ.
Tensor Spread(const Operand& x, int64_t size);
Tensor MoveAxis(const Tensor& x, int from, int to);

// batch/product_rules.cc
Tensor WholeMatmul(const Operand& a, const Operand& b, int64_t size);
Tensor WholeConv(OpId op, Operands in, AttrSpan attrs, int64_t size);
Tensor WholeAttention(OpId op, Operands in, AttrSpan attrs, int64_t size);
// batch/index_rules.cc
Tensor WholeTake(Operands in, AttrSpan attrs, int64_t size);
Tensor WholePut(Operands in, AttrSpan attrs, int64_t size);

}  // namespace frazil::batch
