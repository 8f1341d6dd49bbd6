// Shapes, dtypes and views of results, and every error an op can raise from metadata.
// Called by the eager door on a cache miss, by recorders, loaders and graph builders.
// Invariant: depends on the call's dtypes, layouts, devices and attributes alone, so a matched call
// needs none of it.
#pragma once

#include "core/apply.h"

namespace frazil {

// Metadata of one operand.
struct Operand {
  DType dtype;
  Device device;
  const Layout* layout;
};

StatusOr<Inferred> Infer(OpId op, absl::Span<const Operand> inputs, AttrSpan attrs);
StatusOr<Inferred> Infer(const OpCall& call);

// Checks that need data (take, put: index ranges). Makes the operands it looks at ready.
Status CheckData(const OpCall& call);

// IndexError naming the first of `indices` (i32 or i64) outside [0, n). Makes them ready.
Status CheckIndexRange(std::string_view op, const Tensor& indices, int64_t n, std::string_view of);

}  // namespace frazil
