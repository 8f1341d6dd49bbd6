#include "jit/run/npu/matmul.h"

#include <algorithm>
#include <optional>

#include "core/str.h"
#include "jit/emit/npu/gemm.h"
#include "jit/library/product_shape.h"
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

// The bytes of a batch of matrices [rows, columns] around the first element.
NpuBuffer ReachOf(const ProductShape& shape, int64_t ProductShape::Batch::*apart, int64_t rows,
                  int64_t columns, const MatrixRef& matrix, int64_t item) {
  NpuBuffer reach{nullptr, 0, item, false};
  const auto walk = [&](int64_t extent, int64_t stride) {
    const int64_t bytes = std::max<int64_t>(extent - 1, 0) * stride * item;
    (bytes < 0 ? reach.low : reach.high) += bytes;
  };
  for (const ProductShape::Batch& axis : shape.batch) walk(axis.extent, axis.*apart);
  walk(rows, matrix.row_stride);
  walk(columns, matrix.col_stride);
  return reach;
}

// Of a and b, without data.
std::vector<NpuBuffer> OperandsOf(const ProductShape& s, DType dtype) {
  const int64_t item = SizeOf(dtype);
  return {ReachOf(s, &ProductShape::Batch::a, s.m, s.k, s.a, item),
          ReachOf(s, &ProductShape::Batch::b, s.k, s.n, s.b, item)};
}

class NpuMatmul : public LibraryCall {
 public:
  NpuMatmul(const ProductShape& shape, DType dtype, std::string origin,
            std::unique_ptr<const LibraryCall> cpu)
      : origin_(std::move(origin)),
        cpu_(std::move(cpu)),
        args_(shape.Args(dtype)),
        buffers_(OperandsOf(shape, dtype)) {
    const int64_t item = SizeOf(dtype), batches = shape.batches();
    for (int64_t i = 0; i < batches; ++i) {
      const gemm::BatchPlace at = shape.PlaceOf(i);
      offsets_.push_back({at.a * item, at.b * item, at.c * item});
    }
    buffers_.push_back({nullptr, 0, batches * args_.m * args_.n * item, true});
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
  const GemmArgs args_;
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
  NpuProductWithEpilogue(OverMatrix over, const Launch& next, int product,
                         const ProductShape& shape, DType dtype,
                         std::unique_ptr<const LibraryCall> cpu, std::string origin)
      : over_(std::move(over)),
        extents_{shape.m, shape.n},
        product_(product),
        args_(shape.Args(dtype)),
        cpu_(std::move(cpu)),
        after_(next, origin),
        origin_(std::move(origin)),
        buffers_(OperandsOf(shape, dtype)) {
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

StatusOr<std::unique_ptr<const DeviceKernel>> JoinNpuEpilogue(const Graph& graph, int32_t id,
                                                              const Launch& next, int product,
                                                              const std::string& origin) {
  const Node& node = graph.nodes[id];
  if (node.layout->rank != 2) return NotImplementedError("[npu] batches of products stay apart.");
  const ProductShape shape = ProductShape::Of(graph, id);
  std::optional<OverMatrix> over = OverMatrix::From(next, shape.m, shape.n);
  if (!over) return NotImplementedError("[npu] the kernel has other axes than the product.");
  const int64_t item = SizeOf(node.dtype);
  if ((shape.m > 1 && over->strides[2 * product] != shape.n * item) ||
      (shape.n > 1 && over->strides[2 * product + 1] != item))
    return NotImplementedError("[npu] the kernel reads the product in another order.");
  FZ_ASSIGN_OR_RETURN(std::unique_ptr<const LibraryCall> cpu,
                      MakeLibraryCall(graph, id, Precision::kDefault));
  auto kernel = std::make_unique<const NpuProductWithEpilogue>(
      *std::move(over), next, product, shape, node.dtype, std::move(cpu), origin);
  if (std::string why = kernel->refusal(); !why.empty()) return NotImplementedError(why);
  return kernel;
}

std::unique_ptr<const LibraryCall> MakeNpuMatmul(const Graph& graph, int32_t id,
                                                 const std::string& origin,
                                                 std::unique_ptr<const LibraryCall> cpu) {
  return std::make_unique<const NpuMatmul>(ProductShape::Of(graph, id), graph.nodes[id].dtype,
                                           origin, std::move(cpu));
}

}  // namespace frazil::jit
