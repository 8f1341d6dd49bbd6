#include "jit/lower/transposed_copy.h"

#include <vector>

#include "core/cost.h"
#include "jit/lower/maker.h"

namespace frazil::jit {
namespace {

constexpr int64_t kSide = 16;

// The axes of a copy: those that both sides walk as one are one.
struct Turned {
  std::vector<int64_t> extents, from, to;

  explicit Turned(const Layout& layout) {
    int64_t dense = 1;
    for (int i = layout.rank - 1; i >= 0; --i) {
      const int64_t extent = layout.extents[i];
      if (extent == 1) continue;
      if (!extents.empty() && layout.strides_[i] == from[0] * extents[0]) {
        extents[0] *= extent;
      } else {
        extents.insert(extents.begin(), extent);
        from.insert(from.begin(), layout.strides_[i]);
        to.insert(to.begin(), dense);
      }
      dense *= extent;
    }
  }
  int rank() const { return int(extents.size()); }
};

}  // namespace

std::optional<Launch> LowerTransposedCopy(const Graph& graph, int32_t id) {
  const Node& n = graph.nodes[id];
  if (!(n.device == Device()) || SizeOf(n.dtype) != 4 || n.layout->size == 0) return {};
  const Turned axes_of(*graph.nodes[n.operands[0]].layout);
  const auto& [extents, from, to] = axes_of;
  const int last = axes_of.rank() - 1;
  int together = -1;  // the axis along which the operand's elements are neighbours
  for (int i = 0; i < last; ++i) {
    if (from[i] == 1) together = i;
  }
  if (together < 0 || from[last] < kSide) return {};
  const int32_t base = BaseOf(graph, n.operands[0]);
  const int64_t offset = ElementsInBase(graph, n.operands[0]);
  if (graph.nodes[base].immediate) return {};
  const bool squares = extents[together] % kSide == 0 && extents[last] >= kSide;
  if (!squares && extents[last] * 2 > extents[together]) return {};

  Axes axes{.extents = extents, .unrolled = squares};
  std::vector<int64_t> in = from, out = to;
  if (squares) {
    axes.extents[together] /= kSide;
    in[together] *= kSide;
    out[together] *= kSide;
  }
  for (int i = 0; i <= last; ++i) {
    if (axes.extents[i] != 1 && (squares || i != together)) axes.parallel.push_back(i);
  }
  if (!squares) axes.parallel.push_back(together);  // read in runs, though written apart
  KernelMaker maker(squares ? "k_copy_transposed" : "k_copy_apart", std::move(axes));
  const int read = maker.AddBuffer(base, n.dtype, false, offset, in);
  std::vector<int> written;
  for (int64_t c = 0; c < (squares ? kSide : 1); ++c)
    written.push_back(maker.AddBuffer(id, n.dtype, true, c * to[together], out));
  maker.ChooseAxes();
  kir::Builder& b = maker.builder();
  std::vector<kir::V> columns;
  for (size_t c = 0; c < written.size(); ++c)
    columns.push_back(b.Load(read, c ? b.ConstBits(DType::kI64, uint64_t(c)) : kir::V{}));
  for (size_t c = 0; c < written.size(); ++c) b.Store(written[c], columns[c]);
  return maker.Finish(cost::Copy(double(n.layout->size * SizeOf(n.dtype))));
}

}  // namespace frazil::jit
