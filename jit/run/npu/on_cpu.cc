#include "jit/run/npu/on_cpu.h"

#include "core/str.h"
#include "jit/run/npu/device.h"

namespace frazil::jit {
namespace {

class NpuOnCpu : public LibraryCall {
 public:
  NpuOnCpu(std::string name, std::string origin, std::vector<NpuBuffer> buffers,
           std::unique_ptr<const LibraryCall> cpu)
      : name_(std::move(name)),
        origin_(std::move(origin)),
        buffers_(std::move(buffers)),
        cpu_(std::move(cpu)) {}

  Status Run(absl::Span<char* const> operands, char* result) const override {
    NpuDevice::Get().CountCpu(cpu_->text(), origin_, refusal(), buffers_);
    return cpu_->Run(operands, result);
  }
  int64_t work() const override { return cpu_->work(); }
  std::string text() const override { return StrCat("npu ", cpu_->text()); }
  int64_t bytes() const override { return int64_t(sizeof(*this)) + cpu_->bytes(); }
  std::string refusal() const override {
    return StrCat("[npu] ", name_, ": the NPU has no program for it.");
  }

 private:
  const std::string name_, origin_;
  const std::vector<NpuBuffer> buffers_;  // without data
  const std::unique_ptr<const LibraryCall> cpu_;
};

}  // namespace

std::unique_ptr<const LibraryCall> MakeNpuOnCpu(const Graph& graph, int32_t id,
                                                const std::string& origin,
                                                std::unique_ptr<const LibraryCall> cpu) {
  const Node& node = graph.nodes[id];
  std::vector<NpuBuffer> buffers;
  const auto add = [&](const Node& value, bool writable) {
    const int64_t bytes = value.layout->size * SizeOf(value.dtype);
    buffers.push_back({nullptr, 0, bytes, writable});
  };
  for (const int32_t operand : node.operands) add(graph.nodes[operand], false);
  add(node, true);
  return std::make_unique<const NpuOnCpu>(std::string(Info(node.op).name), origin,
                                          std::move(buffers), std::move(cpu));
}

}  // namespace frazil::jit
