#include "jit/lower/transposed_copy.h"

#include <vector>

#include "core/cost.h"
#include "jit/lower/maker.h"

namespace frazil::jit {
namespace {

constexpr int64_t kSide = 16;

}  // namespace

std::optional<Launch> LowerTransposedCopy(const Graph& graph, int32_t id) {
  const Node& n = graph.nodes[id];
  const Layout& from = *graph.nodes[n.operands[0]].layout;
  const int rank = n.layout->rank, last = rank - 1;
  if (!(n.device == Device()) || SizeOf(n.dtype) != 4 || rank < 2 || from.rank != rank) return {};
  int together = -1;  // the axis along which the operand's elements are neighbours
  for (int i = 0; i < last; ++i) {
    if (from.extents[i] > 1 && from.strides_[i] == 1) together = i;
  }
  if (together < 0 || from.extents[together] % kSide != 0 || from.extents[together] == 0) return {};
  if (n.layout->extents[last] < kSide || from.strides_[last] < kSide) return {};
  const int32_t base = BaseOf(graph, n.operands[0]);
  const int64_t offset = ElementsInBase(graph, n.operands[0]);
  if (graph.nodes[base].immediate) return {};

  Axes axes{.extents = {n.layout->extents, n.layout->extents + rank}, .unrolled = true};
  axes.extents[together] /= kSide;
  std::vector<int64_t> in(rank), out(rank);
  int64_t dense = 1, apart = 0;
  for (int i = last; i >= 0; --i) {
    in[i] = from.strides_[i] * (i == together ? kSide : 1);
    out[i] = dense * (i == together ? kSide : 1);
    if (i == together) apart = dense;
    dense *= n.layout->extents[i];
  }
  for (int i = 0; i < rank; ++i) {
    if (axes.extents[i] != 1) axes.parallel.push_back(i);
  }
  KernelMaker maker("k_copy_transposed", std::move(axes));
  const int read = maker.AddBuffer(base, n.dtype, false, offset, in);
  std::vector<int> written;
  for (int64_t c = 0; c < kSide; ++c)
    written.push_back(maker.AddBuffer(id, n.dtype, true, c * apart, out));
  maker.ChooseAxes();
  kir::Builder& b = maker.builder();
  std::vector<kir::V> columns;
  for (int64_t c = 0; c < kSide; ++c)
    columns.push_back(b.Load(read, c ? b.ConstBits(DType::kI64, uint64_t(c)) : kir::V{}));
  for (int64_t c = 0; c < kSide; ++c) b.Store(written[size_t(c)], columns[size_t(c)]);
  return maker.Finish(cost::Copy(double(n.layout->size * SizeOf(n.dtype))));
}

}  // namespace frazil::jit
