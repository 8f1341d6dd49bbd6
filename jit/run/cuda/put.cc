#include "jit/run/cuda/put.h"

#include <algorithm>

#include "core/cost.h"
#include "core/str.h"
#include "jit/emit/cuda/put_text.h"
#include "jit/run/cuda/strided.h"

namespace frazil::jit {
namespace {

void Fill(const Axes& axes, cuda::PutAxes* out) {
  out->count = 0;
  for (const Axis& axis : axes) {
    if (axis.extent == 1) continue;
    out->extents[out->count] = axis.extent;
    out->strides[out->count++] = axis.stride;
  }
}

class CudaPut : public LibraryCall {
 public:
  CudaPut(gpu::Device* device, const Layout* x, const Layout* indices, const Layout* updates,
          int axis, int64_t extent, const cuda::PutShape& shape, const std::string& origin)
      : copy_(device, static_cast<int>(frazil::SizeOf(shape.dtype)), AxesOf(x, 0, x->rank), origin),
        x_dense_(x->dense),
        text_(StrCat("cuda ", shape.add ? "put_add " : "put_set ", ShortName(shape.dtype), " axis ",
                     axis, " of ", ToString(x->dims()))) {
    if (x->size == 0 || updates->size == 0) return;
    const int after = axis + indices->rank;
    const Axes outer = AxesOf(updates, 0, axis), inner = AxesOf(updates, after, updates->rank);
    Fill(Merged(outer), &args_.outer);
    Fill(Merged(inner), &args_.inner);
    Fill(AxesOf(updates, axis, after), &args_.position);
    int used = 0;  // as Fill leaves out axes
    for (int i = 0; i < indices->rank; ++i) {
      if (indices->extents[i] != 1) args_.index_strides[used++] = indices->strides_[i];
    }
    args_.positions = indices->size;
    args_.width = SizeOf(inner);
    args_.columns = SizeOf(outer) * args_.width;
    args_.extent = extent;
    const int64_t column_warps = (args_.columns + 31) / 32;
    const int64_t ranges = std::clamp<int64_t>(
        tuned::kPutWarps * device->info().multiprocessors / column_warps, 1, args_.extent);
    args_.range_rows = (args_.extent + ranges - 1) / ranges;
    args_.ranges = (args_.extent + args_.range_rows - 1) / args_.range_rows;
    constexpr int64_t kBlockWarps = cuda::kPutThreads / 32;
    blocks_ = (column_warps * args_.ranges + kBlockWarps - 1) / kBlockWarps;
    entry_ = std::make_unique<const CudaEntry>(device, cuda::PutEntry(shape), cuda::PutText(shape),
                                               origin);
  }

  Status Run(absl::Span<char* const> operands, char* result) const override {
    if (!(x_dense_ && operands[0] == result)) FZ_RETURN_IF_ERROR(copy_.Run(operands[0], result));
    if (!entry_) return absl::OkStatus();
    cuda::PutArgs args = args_;
    args.out = result;
    args.indices = operands[1];
    args.updates = operands[2];
    return entry_->Launch(blocks_, cuda::kPutThreads, &args);
  }
  bool in_place() const override { return true; }
  bool capturable() const override { return true; }
  int64_t work() const override { return 2 * cost::kGpuLaunch; }
  std::string text() const override { return text_; }
  int64_t bytes() const override { return int64_t{sizeof(*this)}; }

 private:
  const StridedCopy copy_;
  const bool x_dense_;
  const std::string text_;
  cuda::PutArgs args_{};  // without pointers
  int64_t blocks_ = 0;
  std::unique_ptr<const CudaEntry> entry_;  // null: there are no updates
};

}  // namespace

StatusOr<std::unique_ptr<const LibraryCall>> MakeCudaPut(const Graph& graph, int32_t id,
                                                         const std::string& origin) {
  const Node& node = graph.nodes[id];
  const auto operand = [&](int i) -> const Node& { return graph.nodes[node.operands[i]]; };
  FZ_ASSIGN_OR_RETURN(gpu::Device * device, gpu::Device::Get(node.device.index()));
  const cuda::PutShape shape{node.dtype, node.attrs[1] != 0, operand(1).dtype == DType::kI64};
  const int axis = static_cast<int>(node.attrs[0]);
  int64_t extent = 1;
  for (int64_t a = axis; a < axis + node.attrs[2]; ++a) extent *= node.layout->extents[a];
  return std::make_unique<const CudaPut>(device, operand(0).layout, operand(1).layout,
                                         operand(2).layout, axis, extent, shape, origin);
}

}  // namespace frazil::jit
