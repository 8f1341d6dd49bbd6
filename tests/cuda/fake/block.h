// Runs the grids of a text compiled for the host, each block's threads as fibers between barriers.
// Called by the fake driver and by tests that compare text with the interpreter. Invariants: blocks
// run one after another in the calling thread; a thread that never waits costs no switch; a fault
// in a kernel, or threads that wait for each other forever, come back as a message.
#pragma once

#include <cstdint>
#include <string>

#include "tests/cuda/fake/fault.h"
#include "tests/cuda/fake/shim_abi.h"

namespace fake {

struct Grid {
  uint3 blocks{1, 1, 1}, threads{1, 1, 1};
  unsigned shared_bytes = 0;
  // Bit 0: blocks from last to first. Bit 1: threads of even blocks from last to first, bit 2: of
  // odd blocks. What a kernel computes may not depend on it.
  unsigned order = 0;
};

// One grid at a time in a process. `params` are pointers to the parameters.
GridResult RunGrid(const FzImage& image, const FzEntry& entry, const Grid& grid,
                   void* const* params);

// Null if the image has no such kernel.
const FzEntry* FindEntry(const FzImage& image, const std::string& name);

}  // namespace fake
