// Steps of a plan as one CUDA graph: launched by one call, updated where pointers have changed.
// Made by the backend. Invariant: as those of StepGroup; the first runs, and whatever the driver
// refuses, go step by step; one thread at a time has the graph, others go step by step.
#pragma once

#include <mutex>

#include "jit/run/cuda/kernel.h"
#include "jit/run/step.h"

namespace frazil::jit {

class CudaGraph : public StepGroup {
 public:
  CudaGraph(gpu::Device* device, Steps steps, std::vector<std::vector<int32_t>> dependencies);
  ~CudaGraph() override;

  static bool MayJoin(const Step& step);

  Status Run(char* const* slots, absl::Span<Value* const> inputs) const override;
  std::string text() const override { return StrCat("graph of ", StepGroup::text()); }
  // The driver holds about a page for each node.
  int64_t bytes() const override { return StepGroup::bytes() + 4096 * int64_t(steps().size()); }

 private:
  // One step in the graph: a node a phase of a kernel, or one that holds what a library launches.
  struct Launched {
    std::vector<gpu::CUgraphNode> nodes;
    const CudaVersion* version = nullptr;
    std::vector<uint8_t> words;   // kernel: its parameter as launched
    std::vector<char*> pointers;  // library: of all that it uses
  };

  Status RunApart(char* const* slots, absl::Span<Value* const> inputs) const;
  // False: a text that these pointers ask for is still being compiled, the steps go one by one.
  StatusOr<bool> Build(char* const* slots, absl::Span<Value* const> inputs) const;
  StatusOr<bool> Update(char* const* slots, absl::Span<Value* const> inputs) const;
  Status AddKernel(const KernelStep& step, const StepArgs& args,
                   absl::Span<const gpu::CUgraphNode> after, Launched* out) const;
  Status AddLibrary(const Step& step, char* const* slots, absl::Span<Value* const> inputs,
                    absl::Span<const gpu::CUgraphNode> after, Launched* out) const;
  StatusOr<bool> UpdateKernel(const KernelStep& step, const StepArgs& args,
                              Launched* launched) const;
  Status UpdateLibrary(const Step& step, char* const* slots, absl::Span<Value* const> inputs,
                       Launched* launched) const;
  StatusOr<gpu::CUgraph> Capture(const Step& step, char* const* slots,
                                 absl::Span<Value* const> inputs) const;
  void Drop() const;
  Status Check(gpu::CUresult result, std::string_view what) const {
    return gpu::DriverStatus(result, "cuda", what);
  }

  gpu::Device* const device_;
  std::vector<const KernelStep*> kernels_;  // of each step; null for what a library launches
  const std::vector<std::vector<int32_t>> dependencies_;
  const gpu::LaunchNameRef name_;
  mutable std::mutex mutex_;
  mutable int runs_ = 0;
  mutable int refusals_ = 0;  // by the driver; after a few the steps stay apart
  mutable gpu::CUgraph graph_ = nullptr;
  mutable gpu::CUgraphExec exec_ = nullptr;
  mutable std::vector<Launched> launched_;
};

}  // namespace frazil::jit
