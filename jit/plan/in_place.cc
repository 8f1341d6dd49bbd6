#include "jit/plan/in_place.h"

namespace frazil::jit {
namespace {

// Each point of the space reads the element that it writes, and no other; no point reads what
// another writes, as those of a chunked loop would that share a value beside it.
bool SameAddresses(const Launch& launch, int a, int b, bool teams) {
  const kir::Buffer &x = launch.kernel.buffers[a], &y = launch.kernel.buffers[b];
  if (SizeOf(x.dtype) != SizeOf(y.dtype) || launch.buffers[a].offset != launch.buffers[b].offset)
    return false;
  const int axes = launch.kernel.axes();
  for (int axis = 0; axis < axes; ++axis) {
    if (launch.extents[axis] < 2) continue;
    const int64_t stride = launch.strides[a * axes + axis];
    if (stride != launch.strides[b * axes + axis]) return false;
    if (stride == 0 && (teams || axis < launch.kernel.rank)) return false;
  }
  return true;
}

}  // namespace

bool MayOverwrite(const Launch& launch, int out, bool teams, absl::FunctionRef<bool(int)> shares) {
  const int count = static_cast<int>(launch.kernel.buffers.size());
  for (int b = 0; b < count; ++b) {
    if (shares(b) && (launch.kernel.buffers[b].out || !SameAddresses(launch, b, out, teams)))
      return false;
  }
  bool written = false;
  for (const kir::Inst& inst : launch.kernel.body) {
    if (inst.op == kir::Op::kBarrier) return false;
    if (inst.op == kir::Op::kStore && static_cast<int>(inst.imm) == out) {
      if (inst.b != kir::kNone) return false;
      written = true;
    }
    if (inst.op == kir::Op::kLoad && shares(static_cast<int>(inst.imm))) {
      if (inst.a != kir::kNone || written) return false;
    }
  }
  return true;
}

}  // namespace frazil::jit
