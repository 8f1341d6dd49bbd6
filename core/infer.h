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

// One number of the CPU, perhaps repeated, also no times: it goes with operands on any device.
bool IsNumber(const Operand& o);

StatusOr<Inferred> Infer(OpId op, absl::Span<const Operand> inputs, AttrSpan attrs);
StatusOr<Inferred> Infer(const OpCall& call);

// Checks that need data (take, put: index ranges). Makes the operands it looks at ready.
Status CheckData(const OpCall& call);

// What stands for a value where all of its elements are asked about at once: itself, but in a batch.
ValueRef Behind(ValueRef value);
// Whether one of `indices` (i32 or i64) is negative; IndexError naming the first outside of
// `range`, as one of range.high `of` what. Makes them ready.
StatusOr<bool> CheckIndexRange(std::string_view op, const Tensor& indices, IndexRange range,
                               absl::FunctionRef<std::string()> of);
// "elements along axis 0 of f32[5]"
std::string ElementsAlong(const Tensor& x, int64_t axis);

}  // namespace frazil
