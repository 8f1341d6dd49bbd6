#include "jit/graph/space.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/backend.h"
#include "core/check.h"
#include "core/cost.h"
#include "kernels/take.h"

namespace frazil::jit {
namespace {

constexpr int kMaxLoops = 8;
constexpr int64_t kMinTurned = 4096;       // elements of a copy that is a kernel of its own
constexpr int64_t kTurned = 16;            // of them that lie together in its operand, at least
constexpr int64_t kFewestColumnsDown = 8;  // that are summed row by row in 64 lanes each
constexpr int64_t kFewestRowsDown = 256;   // for which 64 lanes are set up and halved
constexpr int64_t kFewestRowsSummed = 16;  // the same where nothing is stored for each row
constexpr int64_t kMaxLongRow = 64 * kir::kChunk;  // what a block's partial results are made for

bool IsArg(OpId op) { return Has(op, traits::kIndex); }

int CostOf(const Node& node) { return cost::Instructions(node.op, node.dtype); }

class Analyser {
 public:
  Analyser(const Graph& graph, absl::Span<const int32_t> nodes, absl::Span<const int32_t> outputs,
           bool unroll, int narrow = -1)
      : graph_(graph), single_(nodes.size() == 1), unroll_(unroll), narrow_(narrow) {
    space_.nodes.assign(nodes.begin(), nodes.end());
    space_.outputs.assign(outputs.begin(), outputs.end());
  }
  explicit Analyser(std::shared_ptr<const LoopKernel> loop)
      : Analyser(loop->graph, loop->nodes, loop->outputs, false) {
    space_.repeat = std::move(loop);
  }

  std::optional<Space> Run() {
    const int most = space_.repeat ? tuned::kMaxLoopMembers : tuned::kMaxMembers;
    if (int(space_.nodes.size()) > most || !AddViews()) return std::nullopt;
    for (int32_t id : space_.nodes) {
      if (!AddAxes(id)) return std::nullopt;
    }
    TieReads();
    if (!Number() || !FindLoop() || !FindParallel()) return std::nullopt;
    AddReads();
    FindDown();
    FindPhases();
    if (!CheckChunks() || !CheckStores() || !CheckRuns()) return std::nullopt;
    if ((!single_ || unroll_) && !CheckLimits()) return std::nullopt;
    EstimateTime(graph_, &space_);
    return std::move(space_);
  }

 private:
  const Node& node(int32_t id) const { return graph_.nodes[id]; }
  bool IsMember(int32_t id) const { return space_.members.contains(id); }
  SpaceMember& member(int32_t id) { return space_.members.find(id)->second; }

  // Views between members become members.
  bool AddViews() {
    for (int32_t id : space_.nodes) space_.members[id];
    std::vector<int32_t> views;
    for (int32_t id : space_.nodes) {
      for (int32_t v : node(id).operands) {
        int32_t base = v;
        while (node(base).view) base = node(base).operands[0];
        if (!IsMember(base)) continue;
        for (; v != base; v = node(v).operands[0]) views.push_back(v);
      }
    }
    for (int32_t v : views) {
      if (space_.members.try_emplace(v).second) space_.nodes.push_back(v);
    }
    std::sort(space_.nodes.begin(), space_.nodes.end());
    return true;
  }

  int Fresh() {
    parent_.push_back(int(parent_.size()));
    return parent_.back();
  }
  std::vector<int> Fresh(int n) {
    std::vector<int> axes(n);
    for (int& a : axes) a = Fresh();
    return axes;
  }
  int Find(int a) {
    while (parent_[a] != a) a = parent_[a] = parent_[parent_[a]];
    return a;
  }
  void Unite(int a, int b) { parent_[Find(a)] = Find(b); }

  // The axes of a node's result, tied to those of its operands that are members. False: no axis
  // map.
  bool AddAxes(int32_t id) {
    const Node& n = node(id);
    const OpClass klass = Info(n.op).klass;
    SpaceMember m;
    if (n.view) {
      if (!AddView(n, &m)) return false;
    } else if (klass == OpClass::kReduce) {
      AddReduce(n, &m);
    } else {
      m.axes = Fresh(n.layout->rank);
      for (size_t k = 0; k < n.operands.size(); ++k) {
        if (!IsMember(n.operands[k])) continue;
        const std::vector<int>& from = member(n.operands[k]).axes;
        int shift = n.layout->rank - int(from.size());
        if (klass == OpClass::kTake) {
          if (k == 0) return false;  // gathered from memory
          shift = int(n.attrs[0]);
        } else if (klass == OpClass::kPad && k == 0) {
          return false;  // read at shifted places
        }
        for (size_t j = 0; j < from.size(); ++j) Unite(m.axes[j + shift], from[j]);
      }
    }
    member(id) = std::move(m);
    return true;
  }

  // Parts of the set that share no member may read the same values. What lies at one place of such
  // a value is met at one point: several reductions over the same data are one pass.
  void TieReads() {
    const auto count = space_.nodes.size();
    std::vector<size_t> part(count);
    std::iota(part.begin(), part.end(), size_t{0});
    const auto find = [&](size_t i) {
      while (part[i] != i) i = part[i] = part[part[i]];
      return i;
    };
    size_t parts = count;
    const auto tie = [&](size_t a, size_t b) {
      if (find(a) == find(b)) return false;
      part[find(a)] = find(b);
      --parts;
      return true;
    };
    for (size_t i = 0; i < count; ++i) {
      for (int32_t x : node(space_.nodes[i]).operands) {
        const auto at = std::lower_bound(space_.nodes.begin(), space_.nodes.end(), x);
        if (at != space_.nodes.end() && *at == x) tie(i, size_t(at - space_.nodes.begin()));
      }
    }
    if (parts == 1 || space_.repeat) return;
    absl::flat_hash_map<int32_t, std::pair<size_t, std::vector<int>>> seen;  // reader, axes
    for (size_t i = 0; i < count && parts > 1; ++i) {
      const Node& n = node(space_.nodes[i]);
      for (size_t k = 0; k < n.operands.size(); ++k) {
        const int32_t x = n.operands[k];
        if (n.view || IsMember(x) || node(x).layout->size <= 1) continue;
        std::vector<int> axes = AxesRead(space_.nodes[i], int(k));
        if (axes.empty()) continue;
        const auto [it, first] = seen.try_emplace(x, i, axes);
        if (first || !tie(i, it->second.first)) continue;
        for (size_t j = 0; j < axes.size(); ++j) {
          if (node(x).layout->extents[j] != 1) Unite(axes[j], it->second.second[j]);
        }
      }
    }
  }

  // The axis of each axis of operand k, which is read from memory; empty if places are not so
  // simple.
  std::vector<int> AxesRead(int32_t id, int k) {
    const Node& n = node(id);
    const SpaceMember& m = member(id);
    const int rank = node(n.operands[k]).layout->rank;
    switch (Info(n.op).klass) {
      case OpClass::kReduce:
        return m.domain;
      case OpClass::kElementwise:
      case OpClass::kCast:
        return {m.axes.end() - rank, m.axes.end()};
      case OpClass::kTake:
        if (k == 0) return {};
        return {m.axes.begin() + n.attrs[0], m.axes.begin() + n.attrs[0] + rank};
      default:
        return {};
    }
  }

  void AddReduce(const Node& n, SpaceMember* m) {
    const int32_t x = n.operands[0];
    m->domain = IsMember(x) ? member(x).axes : Fresh(node(x).layout->rank);
    for (size_t i = 0; i < m->domain.size(); ++i) {
      const bool reduced = n.attrs[0] >> i & 1;
      if (!reduced || n.attrs[1])
        m->axes.push_back(m->domain[i]);  // a kept axis of extent 1 stays with its loop
    }
  }

  bool AddView(const Node& n, SpaceMember* m) {
    const std::vector<int>& from = member(n.operands[0]).axes;
    const Layout* in = node(n.operands[0]).layout;
    if (n.op == OpId::k_permute_dims) {
      for (int64_t a : n.attrs) m->axes.push_back(from[a]);
      return true;
    }
    m->axes = Fresh(n.layout->rank);
    if (n.op == OpId::k_broadcast_to) {
      const int shift = n.layout->rank - in->rank;
      for (int j = 0; j < in->rank; ++j) Unite(m->axes[j + shift], from[j]);
      return true;
    }
    if (n.op != OpId::k_reshape) return false;
    int i = 0, j = 0;
    for (;; ++i, ++j) {  // the axes of extent other than 1 must be the same
      while (i < in->rank && in->extents[i] == 1) ++i;
      while (j < n.layout->rank && n.layout->extents[j] == 1) ++j;
      if (i == in->rank || j == n.layout->rank) return i == in->rank && j == n.layout->rank;
      if (in->extents[i] != n.layout->extents[j]) return false;
      Unite(m->axes[j], from[i]);
    }
  }

  // Loop axes reached by two routes (a mean whose axis was dropped and put back) become one: an
  // axis of a loop's extent that no reduction keeps and no value has beside the loop axis runs with
  // the loop.
  void JoinLoops() {
    std::vector<int> loops;
    for (int32_t id : space_.nodes) {
      if (Info(node(id).op).klass != OpClass::kReduce) continue;
      const Layout* in = node(node(id).operands[0]).layout;
      for (int i = 0; i < in->rank; ++i) {
        if ((node(id).attrs[0] >> i & 1) && in->extents[i] != 1)
          loops.push_back(member(id).domain[i]);
      }
    }
    for (int loop : loops) {
      for (size_t x = 0; x < parent_.size(); ++x) {
        if (Find(int(x)) != int(x) || Find(loop) == int(x)) continue;
        if (MayJoin(Find(loop), int(x))) Unite(int(x), loop);
      }
    }
  }

  bool MayJoin(int loop, int x) {
    int64_t extent_loop = 1, extent_x = 1;
    for (int32_t id : space_.nodes) {
      const SpaceMember& m = member(id);
      const Layout* in = m.domain.empty() ? nullptr : node(node(id).operands[0]).layout;
      bool has_loop = false, has_x = false;
      const auto look = [&](int axis, int64_t extent, bool kept) {
        if (extent == 1) return;
        if (Find(axis) == loop) has_loop = true, extent_loop = extent;
        if (Find(axis) == x) has_x = true, extent_x = kept ? -1 : extent;
      };
      for (size_t i = 0; i < m.domain.size(); ++i)
        look(m.domain[i], in->extents[i], !(node(id).attrs[0] >> i & 1));
      for (size_t i = 0; i < m.axes.size(); ++i)
        look(m.axes[i], node(id).layout->extents[i], !m.domain.empty());
      if (has_loop && has_x) return false;
      if (extent_x == -1) return false;
    }
    return extent_x != 1 && extent_x == extent_loop;
  }

  // Variables become numbered space axes with an extent each.
  bool Number() {
    JoinLoops();
    std::vector<int> number(parent_.size(), -1);
    const auto renumber = [&](std::vector<int>* axes, const Layout* layout) {
      uint64_t seen = 0;
      for (size_t i = 0; i < axes->size(); ++i) {
        int& a = (*axes)[i];
        int& n = number[Find(a)];
        if (n < 0) {
          n = int(space_.extents.size());
          space_.extents.push_back(1);
        }
        a = n;
        if (layout->extents[i] == 1) continue;
        if (space_.extents[n] != 1 && space_.extents[n] != layout->extents[i]) return false;
        space_.extents[n] = layout->extents[i];
        if (n >= 64 || (seen >> n & 1))
          return false;  // x + x.T of a member: two axes of a value became one
        seen |= uint64_t{1} << n;
      }
      return true;
    };
    for (int32_t id : space_.nodes) {
      SpaceMember& m = member(id);
      if (!m.domain.empty() && !renumber(&m.domain, node(node(id).operands[0]).layout))
        return false;
      if (!renumber(&m.axes, node(id).layout)) return false;
    }
    space_.pinned.assign(space_.extents.size(), false);
    return true;
  }

  // The space axes that a reduction runs over. The operand's own extent counts: one element is
  // reduced once, however long the axis is for others.
  std::vector<int> ReducedAxes(int32_t id) {
    const Layout* in = node(node(id).operands[0]).layout;
    const SpaceMember& m = member(id);
    std::vector<int> axes;
    for (size_t i = 0; i < m.domain.size(); ++i) {
      if ((node(id).attrs[0] >> i & 1) && in->extents[i] != 1) axes.push_back(m.domain[i]);
    }
    return axes;
  }

  int64_t Extent(absl::Span<const int> axes) const {
    int64_t n = 1;
    for (int a : axes) n *= space_.extents[a];
    return n;
  }

  // Chooses which short reductions are written out: all of them; and the narrow axis, if one is
  // given. False: none, or it is not worth it.
  bool FindUnrolled() {
    if (!kernels().computes_again) return false;
    if (narrow_ >= 0) space_.unrolled.push_back(narrow_);
    for (int32_t id : space_.nodes) {
      if (Info(node(id).op).klass != OpClass::kReduce) continue;
      const std::vector<int> axes = ReducedAxes(id);
      const int64_t n = Extent(axes);
      if (n == 0 || n > tuned::kMaxUnrolled) continue;
      SpaceMember& m = member(id);
      m.written_out = true;
      m.over = axes;
      for (int a : axes) {
        if (!space_.IsUnrolled(a)) space_.unrolled.push_back(a);
      }
    }
    if (space_.unrolled.empty()) return false;
    int64_t points = 1;
    for (size_t a = 0; a < space_.extents.size(); ++a) {
      if (!space_.IsUnrolled(int(a))) points *= space_.extents[a];
    }
    for (int32_t id : space_.nodes) {
      SpaceMember& m = member(id);
      for (size_t i = 0; i < m.axes.size(); ++i) {
        if (node(id).layout->extents[i] != 1 && space_.IsUnrolled(m.axes[i]))
          m.varies.push_back(m.axes[i]);
      }
    }
    return points >= tuned::kMinUnrolledPoints;
  }

  // A reduction that runs over the loop.
  bool IsLooped(int32_t id) {
    return Info(node(id).op).klass == OpClass::kReduce && !member(id).written_out;
  }

  bool FindLoop() {
    if (unroll_ && !FindUnrolled()) return false;
    for (int32_t id : space_.nodes) {
      if (!IsLooped(id)) continue;
      const Node& n = node(id);
      std::vector<int> loop = ReducedAxes(id);
      for (int a : loop) {
        if (space_.IsUnrolled(a)) return false;
      }
      if (space_.has_loop && loop != space_.loop) return false;
      space_.has_loop = true;
      space_.loop = std::move(loop);
      if (IsFloat(n.dtype) && (n.op == OpId::k_sum || n.op == OpId::k_prod)) {
        const int rank = int(member(id).domain.size());
        const int lanes = rank > 0 && (n.attrs[0] >> (rank - 1) & 1) ? 64 : 8;
        if (space_.lanes && space_.lanes != lanes) return false;
        space_.lanes = lanes;
      }
    }
    return true;
  }

  bool IsLoop(int axis) const {
    return std::find(space_.loop.begin(), space_.loop.end(), axis) != space_.loop.end();
  }
  bool IsParallel(int axis) const {
    return std::find(space_.parallel.begin(), space_.parallel.end(), axis) != space_.parallel.end();
  }

  // How many of the outputs have their elements next to each other along an axis.
  int64_t LieAlong(int axis) {
    return std::count_if(space_.outputs.begin(), space_.outputs.end(), [&](int32_t id) {
      const SpaceMember& m = member(id);
      for (int i = node(id).layout->rank; i-- > 0;) {
        if (node(id).layout->extents[i] != 1) return m.axes[i] == axis;
      }
      return false;
    });
  }

  // Every axis that is not the loop's, ordered as in the output that has most of them; of several
  // such, as most lie.
  bool FindParallel() {
    bool found = false;
    std::pair<size_t, int64_t> most;
    for (int32_t id : space_.outputs) {
      const Layout* layout = node(id).layout;
      const SpaceMember& m = member(id);
      std::vector<int> parallel;
      size_t axes = 0;
      for (int i = 0; i < layout->rank; ++i) {
        if (layout->extents[i] == 1 || space_.IsUnrolled(m.axes[i])) continue;
        ++axes;
        if (!IsLoop(m.axes[i])) parallel.push_back(m.axes[i]);
      }
      const std::pair now(axes, parallel.empty() ? 0 : LieAlong(parallel.back()));
      if (found && now <= most) continue;
      found = true;
      most = now;
      space_.parallel = std::move(parallel);
    }
    if (!found) return false;
    for (size_t a = 0; a < space_.extents.size(); ++a) {
      if (space_.extents[a] != 1 && !IsLoop(int(a)) && !IsParallel(int(a)) &&
          !space_.IsUnrolled(int(a)))
        return false;
    }
    return true;
  }

  void AddReads() {
    for (int32_t id : space_.nodes) {
      const Node& n = node(id);
      if (n.view) continue;
      if (n.op == OpId::k_iota && n.layout->size > 1) space_.pinned[member(id).axes[0]] = true;
      for (size_t k = 0; k < n.operands.size(); ++k) {
        if (!IsMember(n.operands[k])) AddRead(id, int(k));
      }
    }
  }

  void AddRead(int32_t id, int k) {
    const Node& n = node(id);
    SpaceRead read{id, k, n.operands[k]};
    const Layout* layout = node(read.base).layout;
    read.offset = ElementsInBase(graph_, read.base);
    read.base = BaseOf(graph_, read.base);
    read.strides.assign(space_.extents.size(), 0);
    const SpaceMember& m = member(id);
    const OpClass klass = Info(n.op).klass;
    for (int j = 0; j < layout->rank; ++j) {
      int at = j + n.layout->rank - layout->rank;
      if (klass == OpClass::kTake) {
        const int axis = int(n.attrs[0]), inner = node(n.operands[1]).layout->rank;
        if (k == 0 && j == axis) continue;  // the index says where
        at = k == 1 ? axis + j : j < axis ? j : j + inner - 1;
      }
      const int a = klass == OpClass::kReduce ? m.domain[j] : m.axes[at];
      if (layout->extents[j] != 1) read.strides[a] += layout->strides_[j];
      if (klass != OpClass::kPad || k != 0 || (n.attrs[2 * j] == 0 && n.attrs[2 * j + 1] == 0))
        continue;
      space_.pinned[a] = true;
      read.offset -= n.attrs[2 * j] * layout->strides_[j];
    }
    read.varies = std::any_of(space_.loop.begin(), space_.loop.end(),
                              [&](int a) { return read.strides[a] != 0; });
    space_.reads.push_back(std::move(read));
  }

  // What a loop of 64 lanes reads and stores may lie together along the columns: then they carry the vectors.
  void FindDown() {
    if (space_.lanes != 64 || space_.parallel.empty() || space_.loop.empty()) return;
    const int column = space_.parallel.back();
    const bool stores = std::any_of(space_.outputs.begin(), space_.outputs.end(),
                                    [&](int32_t id) { return HasLoopAxis(id); });
    if (!kernels().computes_again || space_.extents[column] < kFewestColumnsDown ||
        LoopExtent() < (stores ? kFewestRowsDown : kFewestRowsSummed))
      return;
    int along_loop = 0, along_space = 0;
    for (const SpaceRead& read : space_.reads) {
      if (!read.varies || node(read.base).immediate) continue;
      along_loop += read.strides[space_.loop.back()] == 1;
      along_space += read.strides[column] == 1;
    }
    for (const int32_t id : space_.outputs) {
      if (!HasLoopAxis(id)) continue;
      const std::vector<int64_t> strides = space_.DenseStrides(graph_, id);
      along_loop += strides[space_.loop.back()] == 1;
      along_space += strides[column] == 1;
    }
    space_.down = along_space > along_loop;
  }

  // When each value can be computed, and in which loops it is.
  void FindPhases() {
    size_t next = 0;  // reads lie in the order of their nodes
    for (int32_t id : space_.nodes) {
      const Node& n = node(id);
      SpaceMember& m = member(id);
      const OpClass klass = Info(n.op).klass;
      for (int32_t x : n.operands) {
        if (!IsMember(x)) continue;
        m.in_loop |= member(x).in_loop;
        m.phase = std::max(m.phase, member(x).phase);
      }
      for (; next < space_.reads.size() && space_.reads[next].node == id; ++next)
        m.in_loop |= space_.reads[next].varies;
      if (klass == OpClass::kIota) m.in_loop = n.layout->size > 1 && IsLoop(m.axes[0]);
      if (klass == OpClass::kPad) {
        for (size_t i = 0; i < m.axes.size(); ++i)
          m.in_loop |= space_.pinned[m.axes[i]] && IsLoop(m.axes[i]);
      }
      if (!IsLooped(id)) continue;
      m.in_loop = false;
      m.phase += IsArg(n.op) ? 2 : 1;
    }
    FindPasses();
  }

  void FindPasses() {
    absl::flat_hash_map<int32_t, uint64_t> needed;  // bit i: in loop i
    for (int32_t id : space_.outputs) {
      if (HasLoopAxis(id)) needed[id] |= uint64_t{1} << std::min(member(id).phase, 63);
    }
    for (auto it = space_.nodes.rbegin(); it != space_.nodes.rend(); ++it) {
      const Node& n = node(*it);
      SpaceMember& m = member(*it);
      uint64_t mask = needed[*it];
      if (IsLooped(*it)) {
        mask = (IsArg(n.op) ? uint64_t{3} : uint64_t{1})
               << std::min(m.phase - (IsArg(n.op) ? 2 : 1), 62);
      }
      space_.loops = std::max(space_.loops, 64 - std::countl_zero(mask));
      m.passes = std::max(1, std::popcount(mask));
      for (int32_t x : n.operands) {
        if (IsMember(x)) needed[x] |= mask;
      }
    }
  }

  bool HasLoopAxis(int32_t id) {
    const SpaceMember& m = member(id);
    for (size_t i = 0; i < m.axes.size(); ++i) {
      if (node(id).layout->extents[i] != 1 && IsLoop(m.axes[i])) return true;
    }
    return false;
  }

  int64_t LoopExtent() const {
    int64_t n = 1;
    for (int a : space_.loop) n *= space_.extents[a];
    return n;
  }

  // A long loop is cut: its reductions are finished by further launches, so nothing may use them
  // here.
  bool CheckChunks() {
    if (!space_.has_loop || LoopExtent() <= kir::kChunk) return true;
    bool arg = false;
    for (int32_t id : space_.nodes) arg |= IsArg(node(id).op) && IsLooped(id);
    if (arg) return space_.lanes == 0;
    bool several = false;  // what a loop reduces, another one needs
    for (int32_t id : space_.nodes) {
      several |= member(id).phase != (IsLooped(id) ? 1 : 0);
    }
    space_.chunked = !several;
    space_.long_rows = several && MayBeLong();
    return space_.chunked || space_.long_rows;
  }

  // A block of a GPU has a row of several chunks.
  bool MayBeLong() const {
    return kernels().long_rows && space_.lanes == 64 && LoopExtent() <= kMaxLongRow;
  }

  // A stored value, and a reduction, covers the space: nothing is written twice or reduced again.
  bool CheckStores() {
    const auto covers = [&](int32_t id) {
      size_t parallel = 0, loop = 0;
      const SpaceMember& m = member(id);
      for (size_t i = 0; i < m.axes.size(); ++i) {
        if (node(id).layout->extents[i] == 1) continue;
        parallel += IsParallel(m.axes[i]);
        loop += IsLoop(m.axes[i]);
      }
      return parallel == space_.parallel.size() && (loop == 0 || loop == space_.loop.size());
    };
    for (int32_t id : space_.outputs) {
      if (!covers(id)) return false;
      if (space_.has_loop && !HasLoopAxis(id) && member(id).in_loop) return false;
    }
    for (int32_t id : space_.nodes) {
      const Node& n = node(id);
      if (IsLooped(id) ? !covers(id)
                       : !n.view && CostAt(id) >= tuned::kCheapBroadcast && !MayRepeat(id)) {
        return false;
      }
    }
    return true;
  }

  // What is computed again along a broadcast axis: on the CPU that is a matter of time alone.
  bool MayRepeat(int32_t id) { return single_ || Covers(id) || kernels().computes_again; }

  // At all points of the unrolled axes.
  int CostAt(int32_t id) {
    const SpaceMember& m = member(id);
    const int cost = m.written_out && !IsArg(node(id).op) ? 1 : CostOf(node(id));
    return cost * int(Extent(m.varies) * Extent(m.over));
  }

  // Values beside the loop are computed once a row anyway.
  bool Covers(int32_t id) {
    size_t parallel = 0;
    const SpaceMember& m = member(id);
    for (size_t i = 0; i < m.axes.size(); ++i) {
      parallel += node(id).layout->extents[i] != 1 && IsParallel(m.axes[i]);
    }
    return parallel == space_.parallel.size();
  }

  bool CheckRuns() {
    if (space_.loop.size() < 2 || single_) return true;
    for (const SpaceRead& read : space_.reads) {
      if (read.varies && !IsOneRun(space_.extents, read.strides, space_.loop)) return false;
    }
    for (int32_t id : space_.outputs) {
      if (HasLoopAxis(id) &&
          !IsOneRun(space_.extents, space_.DenseStrides(graph_, id), space_.loop))
        return false;
    }
    return std::none_of(space_.loop.begin(), space_.loop.end(),
                        [&](int a) { return space_.pinned[a]; });
  }

  bool CheckLimits() {
    int repeated = 0;
    for (int32_t id : space_.nodes) {
      if (node(id).view) continue;
      const int cost = CostAt(id), passes = member(id).passes;
      space_.cost += cost * passes;
      repeated += cost * (passes - 1);
    }
    std::vector<std::tuple<int32_t, int64_t, std::vector<int64_t>>> buffers;
    for (const SpaceRead& read : space_.reads) {
      if (!node(read.base).immediate) buffers.emplace_back(read.base, read.offset, read.strides);
    }
    std::sort(buffers.begin(), buffers.end());
    buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
    int64_t pointers = 0;
    for (const auto& [base, offset, strides] : buffers) pointers += PointersFor(space_, strides);
    for (int32_t id : space_.outputs)
      pointers += PointersFor(space_, space_.DenseStrides(graph_, id)) *
                  (IsComplex(node(id).dtype) ? 2 : 1);
    const int most = space_.repeat ? tuned::kMaxLoopKernel
                     : unroll_     ? tuned::kMaxUnrolledKernel
                                   : tuned::kMaxKernel;
    const int64_t again =
        kernels().computes_again ? tuned::kMaxRepeated : tuned::kMaxRepeatedElsewhere;
    return space_.cost <= most && repeated <= again && space_.loops <= kMaxLoops &&
           pointers <= tuned::kMaxBuffers;
  }

  Backend::Kernels kernels() const { return BackendOf(node(space_.nodes[0]).device).kernels(); }

  const Graph& graph_;
  const bool single_;
  const bool unroll_;
  const int narrow_;  // an axis to be written out, or -1
  Space space_;
  std::vector<int> parent_;  // union-find over axis variables
};

}  // namespace

const SpaceRead* Space::FindRead(int32_t node, int operand) const {
  for (const SpaceRead& read : reads) {
    if (read.node == node && read.operand == operand) return &read;
  }
  return nullptr;
}

bool Space::IsUnrolled(int axis) const {
  return std::find(unrolled.begin(), unrolled.end(), axis) != unrolled.end();
}

std::vector<int64_t> Space::DenseStrides(const Graph& graph, int32_t node) const {
  const Layout* layout = graph.nodes[node].layout;
  const std::vector<int>& axes = members.find(node)->second.axes;
  std::vector<int64_t> strides(extents.size(), 0);
  int64_t step = 1;
  for (int i = layout->rank - 1; i >= 0; --i) {
    if (layout->extents[i] == 1) continue;
    strides[axes[i]] = step;
    step *= layout->extents[i];
  }
  return strides;
}

bool IsOneRun(const std::vector<int64_t>& extents, const std::vector<int64_t>& strides,
              absl::Span<const int> order) {
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    if (strides[order[i]] != strides[order[i + 1]] * extents[order[i + 1]]) return false;
  }
  return true;
}

std::optional<Space> Analyse(const Graph& graph, absl::Span<const int32_t> nodes,
                             absl::Span<const int32_t> outputs) {
  const auto of_loop = [&](int32_t id) { return graph.nodes[id].role != Role::kOp; };
  if (std::any_of(nodes.begin(), nodes.end(), of_loop)) {
    auto kernel = LoopKernel::Of(graph, nodes, outputs);
    return kernel ? Analyser(std::move(kernel)).Run() : std::nullopt;
  }
  const bool short_ones = std::any_of(nodes.begin(), nodes.end(), [&](int32_t id) {
    const Node& n = graph.nodes[id];
    return Info(n.op).klass == OpClass::kReduce &&
           graph.nodes[n.operands[0]].layout->size <=
               tuned::kMaxUnrolled * std::max<int64_t>(n.layout->size, 1);
  });
  if (short_ones) {
    if (std::optional<Space> space = Analyser(graph, nodes, outputs, true).Run()) return space;
  }
  std::optional<Space> space = Analyser(graph, nodes, outputs, false).Run();
  if (!space || space->has_loop || space->parallel.size() < 2) return space;
  // Rows of a few elements: lanes may do better along another axis.
  const int narrow = space->parallel.back();
  if (space->extents[narrow] > tuned::kNarrow || space->pinned[narrow]) return space;
  std::optional<Space> other = Analyser(graph, nodes, outputs, true, narrow).Run();
  return other && other->compute < space->compute ? std::move(other) : std::move(space);
}

bool IsNear(const Space& space, const std::vector<int64_t>& strides) {
  int64_t span = 0, points = 1;
  for (int a : space.unrolled) {
    span += std::abs(strides[a]) * (space.extents[a] - 1);
    points *= space.extents[a];
  }
  return span < points;
}

int64_t PointersFor(const Space& space, const std::vector<int64_t>& strides) {
  int64_t n = 1;
  for (int a : space.unrolled) n *= strides[a] ? space.extents[a] : 1;
  return IsNear(space, strides) ? 1 : n;
}

bool TakesRows(const Graph& graph, const Node& node) {
  if (node.op != OpId::k_take || !(node.device == Device())) return false;
  const Node& x = graph.nodes[node.operands[0]];
  int64_t run = 0;
  return !x.immediate && IsRun(*x.layout, int(node.attrs[0]) + 1, &run) &&
         run * SizeOf(node.dtype) >= tuned::kTakenRow;
}

bool TurnsAround(const Graph& graph, const Node& node) {
  if (node.input || node.op != OpId::k_copy || !(node.device == Device())) return false;
  const Node& made = graph.nodes[BaseOf(graph, node.operands[0])];
  const Layout& from = *graph.nodes[node.operands[0]].layout;
  if (made.input || made.role != Role::kOp || from.size < kMinTurned) return false;
  int64_t together = 1, apart = 0;  // elements that lie so in the operand; the last axis' stride
  for (int i = from.rank - 1; i >= 0; --i) {
    if (from.extents[i] == 1) continue;
    if (apart == 0) apart = from.strides_[i];
    if (from.strides_[i] == together) together *= from.extents[i];
  }
  return together >= kTurned && apart >= kTurned;
}

bool StandsAlone(const Node& node) {
  return ClassOf(node.op).work == Work::kAlone ||
         BackendOf(node.device).Where(node.op) == Runs::kThereAlone;
}

}  // namespace frazil::jit
