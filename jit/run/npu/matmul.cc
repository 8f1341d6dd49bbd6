#include "jit/run/npu/matmul.h"

#include <algorithm>
#include <optional>

#include "core/str.h"
#include "jit/emit/npu/gemm.h"
#include "jit/run/npu/kernel.h"

namespace frazil::jit {
namespace {

StatusOr<npu::Program> EmitProduct(const GemmArgs& args,
                                   absl::Span<const std::array<int64_t, 3>> batches,
                                   const npu::Preset& preset, const std::string& origin,
                                   const npu::Epilogue* epilogue = nullptr) {
  const auto type = npu::MatrixTypeOf(args.dtype);
  if (!type)
    return NotImplementedError("[npu] matmul of ", ShortName(args.dtype),
                               ": the matrix unit has f32, f16, bf16, i8 and u8.");
  return npu::EmitGemm(
      args, batches, preset, npu::ChooseBlocks(preset, *type, args.m, args.n, args.k),
      OptionsFor(epilogue ? "matmul_" + epilogue->kernel->name : "matmul", origin), epilogue);
}

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
      NpuDevice::Get().CountCpu(cpu_->text(), origin_, refusal, buffers_);
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
  int64_t bytes() const override { return int64_t(sizeof(*this)) + program_.bytes(); }
  std::string refusal() const override {
    std::string why;
    MakeProgram(&why);
    return why;
  }

 private:
  std::shared_ptr<const NpuProgram> MakeProgram(std::string* refusal) const {
    return program_.Get(
        [&](const npu::Preset& preset) { return EmitProduct(args_, offsets_, preset, origin_); },
        refusal);
  }

  const std::string origin_;
  const std::unique_ptr<const LibraryCall> cpu_;
  GemmArgs args_;
  std::vector<std::array<int64_t, 3>> offsets_;  // of each batch
  std::vector<NpuBuffer> buffers_;               // without data
  ProgramFor program_;
};

// The kernel over [m, n], whatever axes lowering joined; nullopt if its axes are others.
struct OverMatrix {
  kir::Kernel kernel;
  std::vector<int64_t> strides;

  static std::optional<OverMatrix> From(const Launch& launch, int64_t m, int64_t n) {
    OverMatrix out{launch.kernel, launch.strides};
    kir::Kernel& k = out.kernel;
    if (k.has_loop || k.chunked) return std::nullopt;
    if (k.rank == 2 && launch.extents[0] == m && launch.extents[1] == n) return out;
    if (k.rank != 1 || launch.extents[0] != m * n) return std::nullopt;
    k.rank = 2;
    out.strides.clear();
    for (size_t b = 0; b < k.buffers.size(); ++b) {
      k.buffers[b].strides.insert(k.buffers[b].strides.begin(), kir::Stride::kAny);
      out.strides.insert(out.strides.end(), {launch.strides[b] * n, launch.strides[b]});
    }
    return out;
  }
};

class NpuProductWithEpilogue : public DeviceKernel {
 public:
  NpuProductWithEpilogue(OverMatrix over, const Launch& next, int product, const GemmArgs& args,
                         std::unique_ptr<const LibraryCall> cpu, std::string origin)
      : over_(std::move(over)),
        extents_{args.m, args.n},
        product_(product),
        args_(args),
        cpu_(std::move(cpu)),
        after_(next, origin),
        origin_(std::move(origin)) {
    const int64_t item = SizeOf(args.dtype);
    const auto reach = [&](int64_t rows, int64_t cols, const MatrixRef& m) {
      return NpuBuffer{nullptr, 0,
                       ((rows - 1) * m.row_stride + (cols - 1) * m.col_stride + 1) * item, false};
    };
    buffers_ = {reach(args.m, args.k, args.a), reach(args.k, args.n, args.b)};
    for (size_t b = 0; b < over_.kernel.buffers.size(); ++b) {
      if (int(b) != product) buffers_.push_back(after_.buffer(int(b)));
    }
  }

  Status Run(const kir::KernelArgs& args) const override {
    std::string refusal;
    const auto program = MakeProgram(&refusal);
    if (!program) return RunApart(args, refusal);
    std::vector<NpuBuffer> buffers = buffers_;
    for (size_t b = 0; b < buffers.size(); ++b)
      buffers[b].data = static_cast<char*>(args.buffers[b]);
    return NpuDevice::Get().Launch(program, buffers, {args.scalars, over_.kernel.scalars.size()},
                                   origin_);
  }
  std::string text() const override { return StrCat("npu matmul ", over_.kernel.name); }
  int64_t bytes() const override {
    return int64_t(sizeof(*this)) + program_.bytes() + after_.bytes();
  }
  std::string refusal() const override {
    std::string why;
    MakeProgram(&why);
    return why;
  }

 private:
  std::shared_ptr<const NpuProgram> MakeProgram(std::string* refusal) const {
    return program_.Get(
        [&](const npu::Preset& preset) {
          const npu::Epilogue epilogue{&over_.kernel, {extents_, over_.strides}, product_};
          return EmitProduct(args_, {{{0, 0, 0}}}, preset, origin_, &epilogue);
        },
        refusal);
  }

  // One after the other, where the preset has changed and they are one no more.
  Status RunApart(const kir::KernelArgs& args, const std::string& refusal) const {
    FZ_ASSIGN_OR_RETURN(const StorageRef product,
                        Allocate(size_t(args_.m * args_.n) * size_t(SizeOf(args_.dtype))));
    char* const operands[] = {static_cast<char*>(args.buffers[0]),
                              static_cast<char*>(args.buffers[1])};
    FZ_RETURN_IF_ERROR(cpu_->Run(operands, product->data));
    NpuDevice::Get().CountCpu(cpu_->text(), origin_, refusal, {buffers_.data(), 2});
    std::vector<void*> buffers(args.buffers + 2, args.buffers + buffers_.size());
    buffers.insert(buffers.begin() + product_, product->data);
    return after_.Run({buffers.data(), after_.extents(), after_.strides(), args.scalars});
  }

  const OverMatrix over_;
  const std::vector<int64_t> extents_;
  const int product_;
  const GemmArgs args_;
  const std::unique_ptr<const LibraryCall> cpu_;
  const NpuKernel after_;
  const std::string origin_;
  std::vector<NpuBuffer> buffers_;  // a, b, the others; without data
  ProgramFor program_;
};

}  // namespace

StatusOr<ProductWithEpilogue> JoinNpuEpilogue(const Graph& graph, int32_t id, const Launch& next,
                                              int product, const std::string& origin) {
  const Node& node = graph.nodes[id];
  const Layout *a = graph.nodes[node.operands[0]].layout, *b = graph.nodes[node.operands[1]].layout;
  if (node.layout->rank != 2) return NotImplementedError("[npu] batches of products stay apart.");
  const GemmArgs args{node.dtype,
                      a->extents[0],
                      b->extents[1],
                      a->extents[1],
                      {nullptr, a->strides_[0], a->strides_[1]},
                      {nullptr, b->strides_[0], b->strides_[1]},
                      {nullptr, b->extents[1], 1}};
  std::optional<OverMatrix> over = OverMatrix::From(next, args.m, args.n);
  if (!over) return NotImplementedError("[npu] the kernel has other axes than the product.");
  const int64_t item = SizeOf(node.dtype);
  if ((args.m > 1 && over->strides[2 * product] != args.n * item) ||
      (args.n > 1 && over->strides[2 * product + 1] != item))
    return NotImplementedError("[npu] the kernel reads the product in another order.");
  ProductWithEpilogue out;
  out.launch = next;
  out.launch.buffers.erase(out.launch.buffers.begin() + product);
  for (int i : {1, 0}) {
    const int32_t operand = node.operands[i];
    out.launch.buffers.insert(out.launch.buffers.begin(),
                              {BaseOf(graph, operand), OffsetInBase(graph, operand)});
  }
  FZ_ASSIGN_OR_RETURN(std::unique_ptr<const LibraryCall> cpu,
                      MakeLibraryCall(graph, id, Precision::kDefault));
  out.kernel = std::make_unique<const NpuProductWithEpilogue>(*std::move(over), next, product, args,
                                                              std::move(cpu), origin);
  if (std::string why = out.kernel->refusal(); !why.empty()) return NotImplementedError(why);
  return out;
}

std::unique_ptr<const LibraryCall> MakeNpuMatmul(const Graph& graph, int32_t id,
                                                 const std::string& origin,
                                                 std::unique_ptr<const LibraryCall> cpu) {
  const Node& node = graph.nodes[id];
  return std::make_unique<const NpuMatmul>(graph.nodes[node.operands[0]].layout,
                                           graph.nodes[node.operands[1]].layout, node.layout,
                                           node.dtype, origin, std::move(cpu));
}

}  // namespace frazil::jit
