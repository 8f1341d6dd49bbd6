// Steps of a plan before memory is assigned. Made and emitted by the planner
// (jit/plan/plan_builder.cc). Invariant: a step uses exactly the memories it names, in the order
// of its launch's buffers or, of a library step, operands and then the result.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "jit/run/device_kernel.h"
#include "jit/run/schedule.h"
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
  int32_t node = -1;  // that the step computes, or one of them
  Device device;
  // Whole memories, as the launch's buffers; of a call: operands, then the result.
  std::vector<Touch> touches;
  // A generated kernel, a call of a library, a product and its kernel already one, or a loop; what
  // is emitted is taken out of it.
  std::variant<Launch, std::unique_ptr<const LibraryCall>, ProductWithEpilogue, PendingLoop> what;

  // Null for any other kind.
  const Launch* kernel() const { return std::get_if<Launch>(&what); }
  const LibraryCall* call() const {
    const auto* const call = std::get_if<std::unique_ptr<const LibraryCall>>(&what);
    return call ? call->get() : nullptr;
  }
};

// On a device a product and the one kernel that reads it become one step where they can (on the CPU
// kernels follow a product instead: epilogue.h).
void MergeWithReaders(const Graph& graph, Precision precision, std::vector<PendingStep>* pending);

// The user's line ("train.py:12") of a node, or empty.
std::string OriginOf(const Graph& graph, int32_t node);

}  // namespace frazil::jit
