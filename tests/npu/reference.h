// The machine of npu/timing.h once more, stepped cycle by cycle: the measure of the event
// model. Called by tests only. Invariant: shares no code with the model; costs are computed from
// the specification with whole numbers, bytes are compared one by one, L2 is a list.
#pragma once

#include <vector>

#include "npu/timing.h"

namespace frazil::npu {

struct ReferenceTimes {
  struct Instruction {
    int64_t dispatch = 0, start = 0, done = 0;
  };
  std::vector<Instruction> instructions;  // of the list
  int64_t cycles = 0;
};

// `taken`: branches, by position in the list.
ReferenceTimes StepByCycle(const std::vector<Issue>& issues, const std::vector<bool>& taken,
                           const Preset& preset, const CycleOptions& options);

}  // namespace frazil::npu
