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
  int64_t size;

  explicit Turned(const CopyAcross& copy) {
    int64_t dense = 1;
    for (size_t i = copy.extents.size(); i-- > 0;) {
      const int64_t extent = copy.extents[i];
      if (extent == 1) continue;
      if (!extents.empty() && copy.strides[i] == from[0] * extents[0]) {
        extents[0] *= extent;
      } else {
        extents.insert(extents.begin(), extent);
        from.insert(from.begin(), copy.strides[i]);
        to.insert(to.begin(), dense);
      }
      dense *= extent;
    }
    size = dense;
  }
  int rank() const { return int(extents.size()); }
};

}  // namespace

std::optional<Launch> LowerTransposedCopy(const Graph& graph, int32_t id) {
  const Node& n = graph.nodes[id];
  const int32_t base = BaseOf(graph, n.operands[0]);
  if (!(n.device == Device()) || graph.nodes[base].immediate) return {};
  const Layout& from = *graph.nodes[n.operands[0]].layout;
  return LowerTransposedCopy({n.dtype,
                              base,
                              ElementsInBase(graph, n.operands[0]),
                              {from.extents, from.extents + from.rank},
                              {from.strides_, from.strides_ + from.rank},
                              id});
}

std::optional<Launch> LowerTransposedCopy(const CopyAcross& copy) {
  const Turned axes_of(copy);
  if (SizeOf(copy.dtype) != 4 || axes_of.size == 0) return {};
  const auto& [extents, from, to, size] = axes_of;
  const int last = axes_of.rank() - 1;
  int together = -1;  // the axis along which the operand's elements are neighbours
  for (int i = 0; i < last; ++i) {
    if (from[i] == 1) together = i;
  }
  if (together < 0 || from[last] < kSide) return {};
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
  const int read = maker.AddBuffer(copy.from, copy.dtype, false, copy.offset, in);
  std::vector<int> written;
  for (int64_t c = 0; c < (squares ? kSide : 1); ++c)
    written.push_back(maker.AddBuffer(copy.to, copy.dtype, true, c * to[together], out));
  maker.ChooseAxes();
  kir::Builder& b = maker.builder();
  std::vector<kir::V> columns;
  for (size_t c = 0; c < written.size(); ++c)
    columns.push_back(b.Load(read, c ? b.ConstBits(DType::kI64, uint64_t(c)) : kir::V{}));
  for (size_t c = 0; c < written.size(); ++c) b.Store(written[c], columns[c]);
  return maker.Finish(cost::Copy(double(size * SizeOf(copy.dtype))));
}

}  // namespace frazil::jit
