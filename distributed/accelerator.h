// What carries collectives of a device's tensors from process to process without MPI: NCCL between
// GPUs (jit/run/cuda/collective.h). Registered once by the layer that knows the device; asked by
// distributed/world.cc whether the world may use it, and by distributed/collectives.cc where there
// is no MPI: then tensors of the CPU's memory travel through the device's.
//
// Invariant: a world uses it on all ranks or on none.
#pragma once

#include "distributed/collectives.h"

namespace frazil::distributed {

class Accelerator {
 public:
  virtual ~Accelerator() = default;
  // OK, or why it cannot be used here.
  virtual Status Check() const = 0;
  // x and out lie in the CPU's memory.
  virtual Status Run(const CollectiveCall& call, const char* x, char* out) const = 0;
  // Whoever uses what was started, and not waited for, has to wait for it.
  virtual void Drain() const = 0;
  // The world ends well: first what was queued, then, when all ranks have come to it, the rest.
  virtual void Finish() const = 0;
  virtual void Close() const = 0;
};

// Lives for ever.
void RegisterAccelerator(const Accelerator* accelerator);
// What this world uses, or null.
const Accelerator* TheAccelerator();

}  // namespace frazil::distributed
