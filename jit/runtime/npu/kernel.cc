#include <algorithm>
#include <mutex>

#include "core/str.h"
#include "jit/emit/npu/emit.h"
#include "jit/emit/npu/gemm.h"
#include "jit/runtime/device_kernel.h"
#include "jit/runtime/kernel_cache.h"
#include "jit/runtime/launch.h"
#include "jit/runtime/npu/device.h"

namespace frazil::jit {
namespace {

// "train.py:12" in its parts.
npu::EmitOptions OptionsFor(const std::string& op, const std::string& origin) {
  npu::EmitOptions options;
  options.op = op;
  const size_t colon = origin.rfind(':');
  options.file = origin.substr(0, colon);
  if (colon != std::string::npos) options.line = atoi(origin.c_str() + colon + 1);
  return options;
}

// The program for the device's present preset, or why there is none.
class ProgramFor {
 public:
  // emit: StatusOr<npu::Program>(const npu::Preset&)
  template <typename Emit>
  std::shared_ptr<const npu::Program> Get(Emit emit, std::string* refusal) const {
    NpuDevice& device = NpuDevice::Get();
    const int64_t generation = device.generation();
    std::lock_guard lock(mutex_);
    if (generation_ != generation) {
      auto program = emit(device.preset());
      generation_ = generation;
      program_ = program.ok() ? std::make_shared<const npu::Program>(*std::move(program)) : nullptr;
      refusal_ = program.ok() ? ""
                              : std::string(program.status().message().data(),
                                            program.status().message().size());
    }
    *refusal = refusal_;
    return program_;
  }

 private:
  mutable std::mutex mutex_;
  mutable int64_t generation_ = -1;
  mutable std::shared_ptr<const npu::Program> program_;
  mutable std::string refusal_;
};

class NpuKernel : public DeviceKernel {
 public:
  NpuKernel(const Launch& launch, const std::string& origin)
      : kernel_(launch.kernel),
        extents_(launch.extents),
        strides_(launch.strides),
        rows_(launch.rows),
        cols_(launch.cols),
        work_(launch.work),
        origin_(origin) {
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) buffers_.push_back(Reach(int(b)));
  }

  Status Run(const kir::KernelArgs& args) const override {
    std::string refusal;
    const auto program = MakeProgram(&refusal);
    if (!program) return RunOnCpu(args, refusal);
    std::vector<NpuBuffer> buffers = buffers_;
    for (size_t b = 0; b < buffers.size(); ++b)
      buffers[b].data = static_cast<char*>(args.buffers[b]);
    return NpuDevice::Get().Launch(program, buffers, {args.scalars, kernel_.scalars.size()},
                                   origin_);
  }

  std::string text() const override { return StrCat("npu ", kernel_.name); }
  std::string refusal() const override {
    std::string why;
    MakeProgram(&why);
    return why;
  }

 private:
  std::shared_ptr<const npu::Program> MakeProgram(std::string* refusal) const {
    return program_.Get(
        [&](const npu::Preset& preset) {
          return npu::EmitKernel(kernel_, {extents_, strides_}, preset,
                                 OptionsFor(kernel_.name, origin_));
        },
        refusal);
  }

  // The bytes of a buffer that the launch touches.
  NpuBuffer Reach(int b) const {
    NpuBuffer reach{nullptr, 0, SizeOf(kernel_.buffers[b].dtype), kernel_.buffers[b].out};
    for (int axis = 0; axis < kernel_.axes(); ++axis) {
      const int64_t step = strides_[b * kernel_.axes() + axis] * (extents_[axis] - 1);
      (step < 0 ? reach.low : reach.high) += step;
    }
    // In chunks the loop's index runs on: the chunk axis moves only what says so by its stride.
    return reach;
  }

  Status RunOnCpu(const kir::KernelArgs& args, const std::string& refusal) const {
    FZ_ASSIGN_OR_RETURN(const std::shared_ptr<const Compiled> code, GetKernel(kernel_));
    RunLaunch(*code, args, rows_, cols_, work_);
    int64_t bytes = 0;
    for (const NpuBuffer& b : buffers_) bytes += b.high - b.low;
    NpuDevice::Get().CountCpu(kernel_.name, origin_, refusal, bytes);
    return absl::OkStatus();
  }

  const kir::Kernel kernel_;
  const std::vector<int64_t> extents_, strides_;
  const int64_t rows_, cols_, work_;
  const std::string origin_;
  std::vector<NpuBuffer> buffers_;  // without data
  ProgramFor program_;
};

class NpuMatmul : public LibraryCall {
 public:
  NpuMatmul(const Layout* a, const Layout* b, const Layout* c, DType dtype, std::string origin,
            std::unique_ptr<const LibraryCall> cpu)
      : origin_(std::move(origin)), cpu_(std::move(cpu)) {
    const int r = c->rank;
    args_ = {dtype,
             c->extents[r - 2],
             c->extents[r - 1],
             a->extents[r - 1],
             {nullptr, a->strides_[r - 2], a->strides_[r - 1]},
             {nullptr, b->strides_[r - 2], b->strides_[r - 1]},
             {nullptr, c->extents[r - 1], 1}};
    const int64_t item = SizeOf(dtype), out = args_.m * args_.n * item;
    int64_t batches = 1;
    for (int i = 0; i < r - 2; ++i) batches *= c->extents[i];
    for (int64_t i = 0; i < batches; ++i) {
      std::array<int64_t, 3> offsets{0, 0, i * out};
      int64_t rest = i;
      for (int axis = r - 3; axis >= 0; --axis) {
        const int64_t at = rest % c->extents[axis];
        rest /= c->extents[axis];
        if (a->extents[axis] > 1) offsets[0] += at * a->strides_[axis] * item;
        if (b->extents[axis] > 1) offsets[1] += at * b->strides_[axis] * item;
      }
      offsets_.push_back(offsets);
    }
    const Layout* layouts[] = {a, b, c};
    for (int i = 0; i < 3; ++i) {
      NpuBuffer reach{nullptr, 0, item, i == 2};
      for (int axis = 0; axis < r; ++axis) {
        if (layouts[i]->extents[axis] < 1) continue;
        const int64_t step = layouts[i]->strides_[axis] * (layouts[i]->extents[axis] - 1) * item;
        (step < 0 ? reach.low : reach.high) += step;
      }
      if (i == 2) reach.high = std::max<int64_t>(batches * out, 0);
      buffers_.push_back(reach);
    }
  }

  Status Run(absl::Span<char* const> operands, char* result) const override {
    std::string refusal;
    const auto program = MakeProgram(&refusal);
    if (!program) {
      int64_t bytes = 0;
      for (const NpuBuffer& b : buffers_) bytes += b.high - b.low;
      NpuDevice::Get().CountCpu(cpu_->text(), origin_, refusal, bytes);
      return cpu_->Run(operands, result);
    }
    std::vector<NpuBuffer> buffers = buffers_;
    buffers[0].data = operands[0];
    buffers[1].data = operands[1];
    buffers[2].data = result;
    return NpuDevice::Get().Launch(program, buffers, {}, origin_);
  }

  int64_t work() const override { return cpu_->work(); }
  std::string text() const override { return StrCat("npu ", cpu_->text()); }
  std::string refusal() const override {
    std::string why;
    MakeProgram(&why);
    return why;
  }

 private:
  std::shared_ptr<const npu::Program> MakeProgram(std::string* refusal) const {
    return program_.Get(
        [&](const npu::Preset& preset) -> StatusOr<npu::Program> {
          const auto type = npu::MatrixTypeOf(args_.dtype);
          if (!type)
            return NotImplementedError("[npu] matmul of ", ShortName(args_.dtype),
                                       ": the matrix unit has f32, f16, bf16, i8 and u8.");
          return npu::EmitGemm(args_, offsets_, preset,
                               npu::ChooseBlocks(preset, *type, args_.m, args_.n, args_.k),
                               OptionsFor("matmul", origin_));
        },
        refusal);
  }

  const std::string origin_;
  const std::unique_ptr<const LibraryCall> cpu_;
  GemmArgs args_;
  std::vector<std::array<int64_t, 3>> offsets_;  // of each batch
  std::vector<NpuBuffer> buffers_;               // without data
  ProgramFor program_;
};

}  // namespace

StatusOr<std::unique_ptr<const DeviceKernel>> MakeDeviceKernel(Device device, const Launch& launch,
                                                               const std::string& origin) {
  if (device.kind() != DeviceKind::kNpu)
    return NotImplementedError("[compile] no kernels for ", Name(device), " yet.");
  return std::make_unique<const NpuKernel>(launch, origin);
}

StatusOr<std::unique_ptr<const LibraryCall>> MakeDeviceMatmul(
    const Graph& graph, int32_t id, const std::string& origin,
    std::unique_ptr<const LibraryCall> cpu) {
  const Node& node = graph.nodes[id];
  if (node.device.kind() != DeviceKind::kNpu)
    return NotImplementedError("[matmul] no kernels for ", Name(node.device), " yet.");
  return std::make_unique<const NpuMatmul>(graph.nodes[node.operands[0]].layout,
                                           graph.nodes[node.operands[1]].layout, node.layout,
                                           node.dtype, origin, std::move(cpu));
}

}  // namespace frazil::jit
