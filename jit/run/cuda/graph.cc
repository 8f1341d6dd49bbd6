#include "jit/run/cuda/graph.h"

#include <algorithm>

#include "core/threads/at_fork.h"
#include "core/tuned.h"

namespace frazil::jit {
namespace {

// Graphs that the driver refused before no more are tried.
constexpr int kMostRefusals = 3;

// Null for what is not one generated kernel.
const KernelStep* KernelOf(const Step& step) {
  const auto* const kernel = dynamic_cast<const KernelStep*>(&step);
  return kernel && dynamic_cast<const CudaKernel*>(kernel->device.get()) ? kernel : nullptr;
}

const CudaKernel& CudaKernelOf(const KernelStep& step) {
  return static_cast<const CudaKernel&>(*step.device);
}

std::vector<char*> PointersOf(const Step& step, char* const* slots) {
  std::vector<char*> out;
  for (const Pointer& p : step.touches()) out.push_back(slots[p.slot] + p.offset);
  return out;
}

// What a node of a kernel is launched with; `params` must outlive its use.
gpu::KernelNodeParams ParamsOf(gpu::CUfunction function, const cuda::CudaGrid& grid, void** params,
                               gpu::CUcontext context) {
  return {function, grid.grid,         1,      1,       grid.block, 1,
          1,        grid.shared_bytes, params, nullptr, nullptr,    context};
}

}  // namespace

CudaGraph::CudaGraph(gpu::Device* device, Steps all, std::vector<std::vector<int32_t>> dependencies)
    : StepGroup(std::move(all)),
      device_(device),
      dependencies_(std::move(dependencies)),
      name_(std::make_shared<const gpu::LaunchName>(gpu::LaunchName{text(), {}})) {
  for (const auto& step : steps()) kernels_.push_back(KernelOf(*step));
}

CudaGraph::~CudaGraph() { Drop(); }

bool CudaGraph::MayJoin(const Step& step) {
  return KernelOf(step) ? GetGenericUse() != GenericUse::kAlways : step.capturable();
}

Status CudaGraph::Run(char* const* slots, absl::Span<Value* const> inputs) const {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || refusals_ >= kMostRefusals || runs_ < tuned::kRunsApart) {
    if (lock) ++runs_;
    return RunApart(slots, inputs);
  }
  FZ_RETURN_IF_ERROR(device_->Enter());
  const StatusOr<bool> ready = exec_ ? Update(slots, inputs) : Build(slots, inputs);
  // A library that copies an operand of this one run leaves the graph as it is.
  if (!ready.ok() && !(exec_ && KindOf(ready.status()) == ErrorKind::kNotImplemented)) {
    Drop();
    ++refusals_;
  }
  if (!ready.ok() || !*ready) {
    lock.unlock();
    return RunApart(slots, inputs);
  }
  return device_->Launched(device_->driver().GraphLaunch(exec_, device_->stream()), name_);
}

Status CudaGraph::RunApart(char* const* slots, absl::Span<Value* const> inputs) const {
  for (const auto& step : steps()) FZ_RETURN_IF_ERROR(step->Run(slots, inputs));
  return absl::OkStatus();
}

StatusOr<bool> CudaGraph::Build(char* const* slots, absl::Span<Value* const> inputs) const {
  for (const KernelStep* kernel : kernels_) {
    if (!kernel) continue;
    const StepArgs args(*kernel, slots, inputs);
    FZ_ASSIGN_OR_RETURN(const CudaVersion* version,
                        CudaKernelOf(*kernel).VersionFor(args.buffers.begin()));
    if (!version->compiled()) return false;
  }
  const gpu::DriverTable& driver = device_->driver();
  FZ_RETURN_IF_ERROR(Check(driver.GraphCreate(&graph_, 0), "no graph"));
  launched_.resize(steps().size());
  for (size_t i = 0; i < steps().size(); ++i) {
    std::vector<gpu::CUgraphNode> after;
    for (const int32_t earlier : dependencies_[i]) {
      // An empty kernel has no node: what it waits for is waited for.
      std::vector<int32_t> wait{earlier};
      while (!wait.empty()) {
        const int32_t step = wait.back();
        wait.pop_back();
        const auto& nodes = launched_[step].nodes;
        if (!nodes.empty()) {
          if (!std::count(after.begin(), after.end(), nodes.back())) after.push_back(nodes.back());
        } else {
          wait.insert(wait.end(), dependencies_[step].begin(), dependencies_[step].end());
        }
      }
    }
    if (const KernelStep* kernel = kernels_[i]) {
      FZ_RETURN_IF_ERROR(
          AddKernel(*kernel, StepArgs(*kernel, slots, inputs), after, &launched_[i]));
    } else {
      FZ_RETURN_IF_ERROR(AddLibrary(*steps()[i], slots, inputs, after, &launched_[i]));
    }
  }
  FZ_RETURN_IF_ERROR(Check(driver.GraphInstantiate(&exec_, graph_, 0), "no executable graph"));
  return true;
}

Status CudaGraph::AddKernel(const KernelStep& step, const StepArgs& args,
                            absl::Span<const gpu::CUgraphNode> after, Launched* out) const {
  const CudaKernel& kernel = CudaKernelOf(step);
  FZ_ASSIGN_OR_RETURN(out->version, kernel.VersionFor(args.buffers.begin()));
  const cuda::CudaGrid grid = cuda::LaunchShape(out->version->source(), kernel.extents());
  out->words = cuda::PackArgs(out->version->source(), args.For(step));
  if (grid.grid == 0) return absl::OkStatus();
  FZ_ASSIGN_OR_RETURN(const auto functions, out->version->Functions());
  void* params[] = {out->words.data()};
  std::vector<gpu::CUgraphNode> wait(after.begin(), after.end());
  for (const gpu::CUfunction function : functions) {
    gpu::CUgraphNode node = nullptr;
    const gpu::KernelNodeParams node_params = ParamsOf(function, grid, params, device_->context());
    FZ_RETURN_IF_ERROR(Check(
        device_->driver().GraphAddKernelNode(&node, graph_, wait.data(), wait.size(), &node_params),
        "no node of a kernel"));
    out->nodes.push_back(node);
    wait = {node};
  }
  return absl::OkStatus();
}

Status CudaGraph::AddLibrary(const Step& step, char* const* slots, absl::Span<Value* const> inputs,
                             absl::Span<const gpu::CUgraphNode> after, Launched* out) const {
  out->pointers = PointersOf(step, slots);
  FZ_ASSIGN_OR_RETURN(const gpu::CUgraph child, Capture(step, slots, inputs));
  gpu::CUgraphNode node = nullptr;
  const gpu::CUresult result =
      device_->driver().GraphAddChildGraphNode(&node, graph_, after.data(), after.size(), child);
  device_->driver().GraphDestroy(child);  // the node has a copy
  out->nodes = {node};
  return Check(result, "no node of a library");
}

StatusOr<gpu::CUgraph> CudaGraph::Capture(const Step& step, char* const* slots,
                                          absl::Span<Value* const> inputs) const {
  return device_->Capture([&] { return step.Run(slots, inputs); });
}

StatusOr<bool> CudaGraph::Update(char* const* slots, absl::Span<Value* const> inputs) const {
  for (size_t i = 0; i < steps().size(); ++i) {
    if (const KernelStep* kernel = kernels_[i]) {
      FZ_ASSIGN_OR_RETURN(const bool ready,
                          UpdateKernel(*kernel, StepArgs(*kernel, slots, inputs), &launched_[i]));
      if (!ready) return false;
    } else {
      FZ_RETURN_IF_ERROR(UpdateLibrary(*steps()[i], slots, inputs, &launched_[i]));
    }
  }
  return true;
}

StatusOr<bool> CudaGraph::UpdateKernel(const KernelStep& step, const StepArgs& args,
                                       Launched* launched) const {
  if (launched->nodes.empty()) return true;
  const CudaKernel& kernel = CudaKernelOf(step);
  FZ_ASSIGN_OR_RETURN(const CudaVersion* version, kernel.VersionFor(args.buffers.begin()));
  std::vector<uint8_t> words = cuda::PackArgs(version->source(), args.For(step));
  if (version == launched->version && words == launched->words) return true;
  if (!version->compiled()) return false;
  const cuda::CudaGrid grid = cuda::LaunchShape(version->source(), kernel.extents());
  FZ_ASSIGN_OR_RETURN(const auto functions, version->Functions());
  void* params[] = {words.data()};
  for (size_t phase = 0; phase < functions.size(); ++phase) {
    const gpu::KernelNodeParams node_params =
        ParamsOf(functions[phase], grid, params, device_->context());
    FZ_RETURN_IF_ERROR(Check(
        device_->driver().GraphExecKernelNodeSetParams(exec_, launched->nodes[phase], &node_params),
        "a node of a kernel does not change"));
  }
  launched->version = version;
  launched->words = std::move(words);
  return true;
}

Status CudaGraph::UpdateLibrary(const Step& step, char* const* slots,
                                absl::Span<Value* const> inputs, Launched* launched) const {
  std::vector<char*> pointers = PointersOf(step, slots);
  if (pointers == launched->pointers) return absl::OkStatus();
  FZ_ASSIGN_OR_RETURN(const gpu::CUgraph child, Capture(step, slots, inputs));
  const gpu::CUresult result =
      device_->driver().GraphExecChildGraphNodeSetParams(exec_, launched->nodes[0], child);
  device_->driver().GraphDestroy(child);
  FZ_RETURN_IF_ERROR(Check(result, "a node of a library does not change"));
  launched->pointers = std::move(pointers);
  return absl::OkStatus();
}

void CudaGraph::Drop() const {
  if ((!exec_ && !graph_) || !device_->Enter().ok()) return;
  // The driver keeps what is still running.
  if (exec_) device_->driver().GraphExecDestroy(exec_);
  if (graph_) device_->driver().GraphDestroy(graph_);
  exec_ = nullptr;
  graph_ = nullptr;
  launched_.clear();
}

}  // namespace frazil::jit
