#include "jit/lower/lower.h"

#include <algorithm>
#include <optional>

#include "core/check.h"
#include "core/cost.h"
#include "core/str.h"
#include "jit/lower/body.h"
#include "jit/lower/forward.h"
#include "jit/lower/philox.h"
#include "jit/lower/scalar_loop.h"
#include "jit/lower/transposed_copy.h"

namespace frazil::jit {
namespace {

using kir::V;

constexpr size_t kMaxName = 60;
constexpr int64_t kMinTurned = 4096;  // elements that are turned for a kernel

// The ops in order, for dumps and profilers.
std::string NameOf(const Graph& graph, const std::vector<int32_t>& nodes) {
  std::string name = "k";
  for (int32_t id : nodes) {
    if (graph.nodes[id].view) continue;
    StrAppend(&name, "_", Info(graph.nodes[id].op).name);
    if (name.size() > kMaxName) break;
  }
  return name;
}

class Lowering {
 public:
  Lowering(const Graph& graph, const Group& group) : graph_(graph), group_(group) {}

  StatusOr<LoweredGroup> Run() {
    if (group_.kind == Group::Kind::kLibrary)
      return RuntimeError("[lower] a library call has no kernel.");
    const int32_t first = group_.nodes[0];
    if (group_.kind == Group::Kind::kScalars) {
      result_.launches.push_back(LowerScalarLoop(graph_, group_));
    } else if (node(first).op == OpId::k_concat) {
      LowerConcat(first);
    } else if (node(first).op == OpId::k_pad &&
               (StandsAlone(node(first)) || PadsElements(node(first)))) {
      LowerPad(first);
    } else if (node(first).op == OpId::k_random_bits) {
      LowerRandomBits(first);
    } else if (std::optional<Launch> transposed = TransposedCopy()) {
      result_.launches.push_back(*std::move(transposed));
    } else {
      FZ_RETURN_IF_ERROR(LowerSpace());
    }
    for (const Launch& launch : result_.launches) FZ_RETURN_IF_ERROR(kir::Verify(launch.kernel));
    return std::move(result_);
  }

 private:
  const Node& node(int32_t id) const { return graph_.nodes[id]; }

  static Axes AxesOf(const Space& space) {
    return {space.extents, space.pinned,    space.parallel, space.loop, space.has_loop,
            space.chunked, space.long_rows, space.lanes,    space.down, !space.unrolled.empty()};
  }

  std::optional<Launch> TransposedCopy() const {
    const int32_t only = group_.nodes[0];
    if (group_.nodes.size() != 1 || node(only).op != OpId::k_copy) return {};
    return LowerTransposedCopy(graph_, only);
  }

  Status LowerSpace() {
    std::vector<int32_t> computing;
    for (int32_t id : group_.nodes) {
      if (!node(id).view) computing.push_back(id);
    }
    std::optional<Space> space = Analyse(graph_, computing, group_.outputs);
    if (!space)
      return RuntimeError("[lower] the group of ", NameOf(graph_, group_.nodes), " is no kernel.");
    if (node(group_.outputs[0]).layout->size == 0) {
      bool empty = true;
      for (int32_t id : group_.outputs) empty &= node(id).layout->size == 0;
      if (empty) return absl::OkStatus();
    }
    MakeRuns(&*space);
    TurnReads(&*space);
    KernelMaker maker(NameOf(space->GraphOf(graph_), space->nodes), AxesOf(*space));
    BodyWriter body(graph_, *space, &maker);
    if (!space->chunked) {
      maker.ChooseAxes();
      body.Write();
      result_.launches.push_back(maker.Finish(space->Time()));
      return absl::OkStatus();
    }
    const std::vector<BodyWriter::LoopedReduce> reduces = body.LoopedReduces();
    std::vector<Partial> partials;
    std::vector<int> buffers;
    for (const auto& reduce : reduces) {
      partials.push_back(
          MakePartial(*space, AccumulatorOf(reduce.id), Chunks(space->extents, space->loop)));
      buffers.push_back(AddPartial(partials.back(), true, &maker));
    }
    body.SetPartials(std::move(buffers));
    maker.ChooseAxes();
    body.Write();
    result_.launches.push_back(maker.Finish(space->Time()));
    for (size_t i = 0; i < reduces.size(); ++i) Combine(*space, reduces[i], partials[i]);
    return absl::OkStatus();
  }

  // --- reductions over axes that are not one run in memory: their operand is copied first
  // ----------------------

  void MakeRuns(Space* space) {
    for (SpaceRead& read : space->reads) {
      if (!read.varies || IsOneRun(space->extents, read.strides, space->loop)) continue;
      const DType dtype = node(node(read.node).operands[read.operand]).dtype;
      std::vector<int> order = space->parallel;
      order.insert(space->lanes == 64 && !space->down ? order.end() : order.begin(),
                   space->loop.begin(), space->loop.end());
      std::vector<int64_t> dense(space->extents.size(), 0);
      int64_t step = 1;
      for (size_t i = order.size(); i-- > 0;) {
        if (read.strides[order[i]] == 0 && !IsLoop(*space, order[i])) continue;
        dense[order[i]] = step;
        step *= space->extents[order[i]];
      }
      const int32_t temporary = NewTemporary(step * SizeOf(dtype));
      Axes axes{.extents = space->extents};
      for (int a : order) {
        if (dense[a] != 0) axes.parallel.push_back(a);
      }
      Copy(std::move(axes), dtype, read.base, read.offset, read.strides, temporary, 0, dense);
      read.base = temporary;
      read.offset = 0;
      read.strides = dense;
    }
  }

  static bool IsLoop(const Space& space, int axis) {
    return std::find(space.loop.begin(), space.loop.end(), axis) != space.loop.end();
  }

  int32_t NewTemporary(int64_t bytes) {
    result_.temporary_bytes.push_back(bytes);
    return -int32_t(result_.temporary_bytes.size());
  }

  void Copy(Axes axes, DType dtype, int32_t from, int64_t from_offset,
            const std::vector<int64_t>& from_strides, int32_t to, int64_t to_offset,
            const std::vector<int64_t>& to_strides) {
    double bytes = double(SizeOf(dtype));
    for (int a : axes.parallel) bytes *= double(axes.extents[a]);
    KernelMaker maker("k_copy", std::move(axes));
    const bool immediate = from >= 0 && node(from).immediate;
    const int in = immediate ? -1 : maker.AddBuffer(from, dtype, false, from_offset, from_strides);
    const int out = maker.AddBuffer(to, dtype, true, to_offset, to_strides);
    maker.ChooseAxes();
    maker.builder().Store(out, immediate ? maker.Param(from, dtype) : maker.builder().Load(in));
    result_.launches.push_back(maker.Finish(cost::Copy(bytes)));
  }

  // --- what an elementwise kernel would read across its rows: it is turned first
  // ----------------------------------------------------------------------------------------

  void TurnReads(Space* space) {
    if (space->has_loop || space->repeat || !space->unrolled.empty() ||
        !(node(space->nodes[0]).device == Device()))
      return;
    for (const int32_t id : space->nodes) {
      if (!node(id).view && !IsPointwise(node(id).op)) return;
    }
    struct Copied {
      int32_t base;
      int64_t offset;
      std::vector<int64_t> strides;
      int32_t temporary;
      std::vector<int64_t> dense;
    };
    std::vector<Copied> copied;
    for (SpaceRead& read : space->reads) {
      if (read.base < 0 || node(read.base).immediate) continue;
      CopyAcross copy{node(node(read.node).operands[read.operand]).dtype, read.base, read.offset};
      std::vector<int64_t> dense(space->extents.size(), 0);
      int64_t size = 1;
      for (size_t i = space->parallel.size(); i-- > 0;) {
        const int axis = space->parallel[i];
        if (read.strides[axis] == 0) continue;
        copy.extents.insert(copy.extents.begin(), space->extents[axis]);
        copy.strides.insert(copy.strides.begin(), read.strides[axis]);
        dense[axis] = size;
        size *= space->extents[axis];
      }
      if (size < kMinTurned) continue;
      const auto same = std::find_if(copied.begin(), copied.end(), [&](const Copied& c) {
        return c.base == read.base && c.offset == read.offset && c.strides == read.strides;
      });
      if (same != copied.end()) {
        read.base = same->temporary;
        read.strides = same->dense;
      } else {
        copy.to = -int32_t(result_.temporary_bytes.size()) - 1;
        std::optional<Launch> launch = LowerTransposedCopy(copy);
        if (!launch) continue;
        result_.launches.push_back(*std::move(launch));
        copied.push_back(
            {read.base, read.offset, read.strides, NewTemporary(size * SizeOf(copy.dtype)), dense});
        read.base = copy.to;
        read.strides = std::move(dense);
      }
      read.offset = 0;
    }
  }

  // --- long reductions
  // ----------------------------------------------------------------------------------------

  // What the launches of a long reduction leave: one value per chunk and point of the space.
  struct Partial {
    int32_t temporary = 0;
    DType dtype = DType::kF32;
    int64_t chunks = 0;
    int64_t chunk_stride = 0;
    std::vector<int64_t> strides;  // per space axis
  };

  static int64_t Chunks(const std::vector<int64_t>& extents, const std::vector<int>& loop) {
    int64_t n = 1;
    for (int a : loop) n *= extents[a];
    return (n + kir::kChunk - 1) / kir::kChunk;
  }

  DType AccumulatorOf(int32_t id) const {
    const kir::ReduceKind kind = ReduceKindOf(node(id).op);
    const bool logical = kind == kir::ReduceKind::kAnd || kind == kir::ReduceKind::kOr;
    return IsBool(node(id).dtype) && !logical ? DType::kI32 : ComputeType(node(id).dtype);
  }

  // Chunks lie next to each other where the next launch runs along them, otherwise points do.
  Partial MakePartial(const Space& space, DType dtype, int64_t chunks) {
    Partial p{0, dtype, chunks, 1, std::vector<int64_t>(space.extents.size(), 0)};
    const bool chunks_inside = (space.lanes == 64 && !space.down) || space.parallel.empty();
    int64_t step = chunks_inside ? chunks : 1;
    for (size_t i = space.parallel.size(); i-- > 0;) {
      p.strides[space.parallel[i]] = step;
      step *= space.extents[space.parallel[i]];
    }
    if (!chunks_inside) {
      p.chunk_stride = step;
      step *= chunks;
    }
    p.temporary = NewTemporary(step * SizeOf(dtype));
    return p;
  }

  static int AddPartial(const Partial& p, bool out, KernelMaker* maker) {
    return maker->AddBuffer(p.temporary, p.dtype, out, 0, p.strides, p.chunk_stride);
  }

  // Reduces the chunks of `id` by the same rule, as often as it takes.
  void Combine(const Space& space, const BodyWriter::LoopedReduce& reduce, Partial from) {
    const int32_t id = reduce.id;
    Axes axes{.extents = space.extents,
              .parallel = space.parallel,
              .has_loop = true,
              .lanes = space.lanes,
              .down = space.down};
    axes.loop = {int(axes.extents.size())};
    axes.extents.push_back(from.chunks);
    axes.chunked = from.chunks > kir::kChunk;
    const kir::ReduceKind kind = ReduceKindOf(node(id).op);
    const bool laned =
        IsFloat(from.dtype) && (kind == kir::ReduceKind::kSum || kind == kir::ReduceKind::kProd);
    if (!laned) axes.lanes = 0;
    KernelMaker maker(StrCat("k_", Info(node(id).op).name, "_chunks"), axes);
    std::vector<int64_t> strides = from.strides;
    strides.push_back(from.chunk_stride);
    const int in = maker.AddBuffer(from.temporary, from.dtype, false, 0, std::move(strides));
    Partial to;
    if (axes.chunked) to = MakePartial(space, from.dtype, Chunks(axes.extents, axes.loop));
    std::vector<int64_t> dense = space.DenseStrides(graph_, id);
    int64_t offset = 0;
    for (int a : space.unrolled) offset += reduce.at[a] * dense[a];
    const int out = axes.chunked
                        ? AddPartial(to, true, &maker)
                        : maker.AddBuffer(id, node(id).dtype, true, offset, std::move(dense));
    maker.ChooseAxes();
    kir::Builder& b = maker.builder();
    b.Loop();
    const V sum = b.Reduce(kind, b.Load(in), laned ? axes.lanes : 0);
    b.End();
    b.Store(out, axes.chunked ? sum : RoundTo(node(id).dtype, sum).narrow);
    const double bytes = double(from.chunks * node(id).layout->size) * SizeOf(from.dtype);
    result_.launches.push_back(maker.Finish(cost::Copy(bytes)));
    if (axes.chunked) Combine(space, reduce, std::move(to));
  }

  // --- ops with kernels of their own
  // --------------------------------------------------------------------------

  // Each input is copied to its slice.
  static std::vector<int64_t> DenseStridesOf(const Layout& layout) {
    std::vector<int64_t> dense(layout.rank, 0);
    int64_t step = 1;
    for (int i = layout.rank - 1; i >= 0; --i) {
      dense[i] = step;
      step *= layout.extents[i];
    }
    return dense;
  }

  // Copies value `from`, repeated if its strides say so, into a part of `to`.
  void CopyPart(int32_t from, const Layout& shape, const std::vector<int64_t>& strides, int32_t to,
                int64_t to_offset, bool in_runs = false) {
    int64_t offset = ElementsInBase(graph_, from);
    Axes axes{.extents = {shape.extents, shape.extents + shape.rank}};
    std::vector<int64_t> in = strides, out = DenseStridesOf(*node(to).layout);
    if (IsComplex(node(to).dtype)) {  // the parts are one more axis
      offset *= 2;
      to_offset *= 2;
      for (std::vector<int64_t>* s : {&in, &out}) {
        for (int64_t& stride : *s) stride *= 2;
        s->push_back(1);
      }
      axes.extents.push_back(2);
    }
    for (int i = 0; i < int(axes.extents.size()); ++i) {
      if (axes.extents[i] != 1) axes.parallel.push_back(i);
    }
    if (in_runs) {  // what is read in runs is read so, though written apart
      const auto run = std::find_if(axes.parallel.begin(), axes.parallel.end(),
                                    [&](int a) { return in[a] == 1; });
      if (run != axes.parallel.end()) std::rotate(run, run + 1, axes.parallel.end());
    }
    Copy(std::move(axes), PartOf(node(to).dtype), BaseOf(graph_, from), offset, in, to, to_offset,
         out);
  }

  void LowerConcat(int32_t id) {
    const Node& n = node(id);
    const int64_t axis = n.attrs[0];
    const int64_t step = DenseStridesOf(*n.layout)[axis];
    int64_t start = 0;
    for (int32_t x : n.operands) {
      const Layout& in = *node(x).layout;
      if (in.size > 0) CopyPart(x, in, {in.strides_, in.strides_ + in.rank}, id, start * step);
      start += in.extents[axis];
    }
  }

  // Whether rows are one element each and padding, as in the gradient of every second element: they
  // are so short that filling all and copying what is no padding takes less time.
  bool PadsElements(const Node& n) const {
    const int last = n.layout->rank - 1;
    return group_.nodes.size() == 1 && n.device == Device() && last >= 0 &&
           n.layout->extents[last] > 1 && node(n.operands[0]).layout->extents[last] == 1;
  }

  // The constant everywhere, then the operand over it: without predicates.
  void LowerPad(int32_t id) {
    const Node& n = node(id);
    const Layout& in = *node(n.operands[0]).layout;
    const std::vector<int64_t> dense = DenseStridesOf(*n.layout);
    if (n.layout->size == 0) return;
    CopyPart(n.operands[1], *n.layout, std::vector<int64_t>(dense.size(), 0), id, 0);
    int64_t offset = 0;
    for (int i = 0; i < in.rank; ++i) offset += n.attrs[2 * i] * dense[i];
    if (in.size > 0) {
      CopyPart(n.operands[0], in, {in.strides_, in.strides_ + in.rank}, id, offset,
               PadsElements(n));
    }
  }

  // One block of four words at a point.
  void LowerRandomBits(int32_t id) {
    const Node& n = node(id);
    if (n.layout->size == 0) return;
    const int64_t blocks = (n.layout->size + 3) / 4;
    const int64_t offset = ElementsInBase(graph_, n.operands[0]);
    const int32_t base = BaseOf(graph_, n.operands[0]);
    const Layout* state = node(n.operands[0]).layout;
    KernelMaker maker("k_random_bits", {.extents = {blocks}, .pinned = {true}, .parallel = {0}});
    int64_t next = 0;
    for (int i = 0; i < state->rank; ++i) next += state->extents[i] == 2 ? state->strides_[i] : 0;
    const int key = maker.AddBuffer(base, DType::kU64, false, offset, {0});
    const int counter = maker.AddBuffer(base, DType::kU64, false, offset + next, {0});
    int out[4];
    for (int k = 0; k < 4; ++k) out[k] = maker.AddBuffer(id, DType::kU32, true, k, {4});
    maker.ChooseAxes();
    kir::Builder& b = maker.builder();
    const V block = b.Index(0);
    std::array<V, 4> words = Philox(b.Load(key), b.Load(counter) + b.Cast(DType::kU64, block));
    const V first = block * kir::K(block, 4), size = maker.Literal(n.layout->size);
    for (int k = 0; k < 4; ++k) {
      b.Store(out[k], words[k], {}, k == 0 ? V{} : first + kir::K(first, k) < size);
    }
    const double time = cost::Elements(double(n.layout->size), cost::Slots(n.op, n.dtype), 4);
    result_.launches.push_back(maker.Finish(time));
  }

  const Graph& graph_;
  const Group& group_;
  LoweredGroup result_;
};

}  // namespace

StatusOr<LoweredGroup> Lower(const Graph& graph, const Group& group) {
  return Lowering(graph, group).Run();
}

}  // namespace frazil::jit
