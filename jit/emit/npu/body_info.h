// What the emitter of kernels knows of a kernel's instructions before it cuts tiles: types, shapes,
// lifetimes. Called by the emitter of kernels. Invariant: true for every tile size.
#pragma once

#include <vector>

#include "jit/emit/npu/space_plan.h"
#include "jit/emit/npu/vectors.h"

namespace frazil::npu {

struct InstInfo {
  Type type = kF32;
  Shape shape;
  bool uniform = false;  // constants and parameters
  bool in_loop = false;
  int region = -1;            // number of the loop it is in
  kir::Id root = kir::kNone;  // the value whose memory it is (bitcasts, casts that change no bit)
  kir::Id last_use = -1;      // of a root: the instruction after which it may be freed
  bool as_it_is = false;      // of a store: the value's memory has the shape that is written
};

struct BodyInfo {
  std::vector<InstInfo> insts;
  int regions = 0;
};

// The NPU's type for a value, or nullopt.
std::optional<Type> TypeOf(DType dtype);

// NotImplementedError names the instruction that the NPU does not have. `kernel` is legalised.
StatusOr<BodyInfo> Analyse(const kir::Kernel& kernel, const SpacePlan& plan);

// The shape in which a store writes: along which axes the output moves.
Shape StoreShape(const SpacePlan& plan, const kir::Inst& store, bool in_loop);

}  // namespace frazil::npu
