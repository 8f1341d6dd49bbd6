// Steps of a plan before memory is assigned. Made and emitted by the planner
// (jit/plan/plan_builder.cc). Invariant: a step uses exactly the memories it names, in the order
// of its launch's buffers or, of a library step, operands and then the result.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "jit/run/device_kernel.h"
#include "jit/run/loop_step.h"
#include "jit/run/touch.h"

namespace frazil::jit {

// A product and the kernel that is all that reads it, as one step: WithoutProduct's launch.
struct ProductWithEpilogue {
  Launch launch;
  std::unique_ptr<const DeviceKernel> kernel;
};

// A step before memory is assigned.
struct PendingStep {
  int32_t node = -1;  // that the step computes, or one of them
  Device device;
  // Whole memories, as the launch's buffers; of a call: operands, then the result.
  std::vector<Touch> touches;
  // A generated kernel, a call of a library, a product and its kernel already one, or a loop whose
  // pointers still have memories for slots. What is emitted is taken out of it.
  std::variant<Launch, std::unique_ptr<const LibraryCall>, ProductWithEpilogue,
               std::unique_ptr<LoopStep>>
      what;

  // For reports, filled where one is wanted: the nodes that it computes; whether an earlier step of
  // their kernel was told of them; of a loop, what the steps of its body are made of.
  std::vector<int32_t> nodes = {};
  bool again = false;
  std::vector<std::vector<tracer::StepPart>> body = {};

  // Null for any other kind.
  const Launch* kernel() const { return std::get_if<Launch>(&what); }
  const LibraryCall* call() const {
    const auto* const call = std::get_if<std::unique_ptr<const LibraryCall>>(&what);
    return call ? call->get() : nullptr;
  }
};

// The launch of a product, matmul node `id`, and of what reads it as buffer number `product`, as
// one: its buffers are the product's operands and then the others.
Launch WithoutProduct(const Graph& graph, int32_t id, Launch reader, int product);

// On a device a product and the one kernel that reads it become one step where they can (on the CPU
// kernels follow a product instead: epilogue.h).
void MergeWithReaders(const Graph& graph, Precision precision, std::vector<PendingStep>* pending);

// The user's line ("train.py:12") of a node, or empty.
std::string OriginOf(const Graph& graph, int32_t node);

}  // namespace frazil::jit
