// Steps of a plan before memory is assigned. Made and emitted by the planner
// (jit/plan/plan_builder.cc). Invariant: a step uses exactly the memories it names, in the order
// of its launch's buffers or, of a library step, operands and then the result.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/run/device_kernel.h"
#include "jit/run/steps.h"
#include "jit/run/touch.h"

namespace frazil::jit {

// A loop of steps before memory is assigned: its schedule, and where its slots will lie.
struct PendingLoop {
  struct Place {
    int32_t memory = -1;
    int64_t offset = 0;  // bytes
  };
  struct Slot {  // as LoopSlot (jit/run/loop_step.h)
    Place first, even, odd;
    int64_t step = 0;
    std::vector<Place> list = {};
    std::vector<int32_t> numbers = {};
  };
  int64_t times = 0;
  Schedule body;
  std::vector<Slot> slots;
};

// A step before memory is assigned.
struct PendingStep {
  Launch launch;                            // kernel steps
  std::unique_ptr<const LibraryCall> call;  // library steps, until they are emitted
  bool library = false;                     // was one, or a part of it was
  int32_t node = -1;                        // that the step computes, or one of them
  Device device;
  std::unique_ptr<const DeviceKernel> with_epilogue;  // a product and its kernel, already one
  std::unique_ptr<PendingLoop> loop;                  // until it is emitted
  // Whole memories, as the launch's buffers; library: operands, then the result.
  std::vector<Touch> touches;
};

// On a device a product and the one kernel that reads it become one step where they can (on the CPU
// kernels follow a product instead: epilogue.h).
void MergeWithReaders(const Graph& graph, Precision precision, std::vector<PendingStep>* pending);

// The user's line ("train.py:12") of a node, or empty.
std::string OriginOf(const Graph& graph, int32_t node);

}  // namespace frazil::jit
