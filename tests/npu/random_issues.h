// Random instruction streams that keep the flag rules, and random machines: material for the
// properties of the cycle model.
#pragma once

#include <random>
#include <vector>

#include "npu/timing.h"

namespace frazil::npu {

struct RandomStream {
  std::vector<Issue> issues;
  std::vector<bool> taken;  // of branches
};
RandomStream MakeRandomStream(std::mt19937_64* rng, int length);

// A preset with other latencies, rates and depths.
Preset MakeRandomPreset(std::mt19937_64* rng);

}  // namespace frazil::npu
