// Running one op now: the eager door behind core::Apply, and the same for the tracer when it falls
// back. Invariant: the bits are those of a plan that holds the op, because it is a plan of one op;
// calls are cached by op, attributes and operand metadata, never by data, and keys are compared in
// full.
#pragma once

#include "core/apply.h"
#include "core/bounded_cache.h"

namespace frazil::jit {

// The interpreter that runs every op at once.
Door* EagerDoor();

// Plans of eager calls that are kept; evicting down to the bounds, or an eighth of all.
CacheStats EagerStats();
void ShrinkEager(bool more);

// The result of one op on ready or deferred values (deferred ones are read first). Views share
// memory. Bit i of `reusable`: inputs[i]'s memory may be overwritten if nothing but the caller
// holds it, who then drops the value (x += y: the cell's old value).
StatusOr<ValueRef> RunOp(OpId op, absl::Span<Value* const> inputs, AttrSpan attrs,
                         uint64_t reusable = 0);

// While one lives, eager elementwise ops and put of this thread may write over the memory of
// `spent`, the content of a cell that their result replaces (x += y, x[i] = y), if nothing but the
// cell holds it and dtype and shape stay. Callers see to it that no gradient is recorded: the tape
// would keep the operand.
class OverwriteScope {
 public:
  explicit OverwriteScope(const Value* spent);
  ~OverwriteScope();
  OverwriteScope(const OverwriteScope&) = delete;
  OverwriteScope& operator=(const OverwriteScope&) = delete;
};

}  // namespace frazil::jit
