#include "npu/machine.h"

#include <cstring>

namespace frazil::npu {

bool Machine::On(const Issue& issue, bool taken, Fault* fault) {
  if (issue.queue == kS || Info(issue.op).cost == CostClass::kFlag) {
    // SLD was checked by the scalar unit, and has taken effect.
    if (!observer_) return true;
    return AccessesOf(issue, &accesses_, fault) && observer_->Before(issue, accesses_, fault);
  }
  if (!AccessesOf(issue, &accesses_, fault) || !CheckAccesses(issue, accesses_, preset_, fault))
    return false;
  Pointers p;
  for (const Access& access : accesses_) {
    char* at = memory_.Resolve(access, fault);
    if (!at) return false;
    p.at[access.operand] = at;
    p.stride[access.operand] = access.stride;
  }
  if (observer_ && !observer_->Before(issue, accesses_, fault)) return false;
  switch (Info(issue.op).cost) {
    case CostClass::kMove:
      return tags_.On(issue, fault) && Move(issue, p);
    case CostClass::kMatrix:
      return tags_.On(issue, fault) && Multiply(issue, p, &scratch_);
    case CostClass::kDrain:
      return tags_.On(issue, fault) && Drain(issue, p);
    case CostClass::kVector:
      return Vector(issue, p, &scratch_, fault);
    default:
      fault->code = FaultCode::kSimInternal;
      fault->detail = "an instruction of no unit";
      return false;
  }
}

uint32_t Machine::LoadUb(void* machine, uint64_t offset) {
  uint32_t value;
  std::memcpy(&value, static_cast<Machine*>(machine)->memory_.Local(kUB, offset + 4) + offset, 4);
  return value;
}

}  // namespace frazil::npu
