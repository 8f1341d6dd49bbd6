// How long the kernel of a space takes, by the cost model (core/cost.h): what is computed at how
// many points, what is loaded and stored.
#include <algorithm>
#include <cmath>

#include "absl/algorithm/container.h"
#include "core/cost.h"
#include "jit/graph/space.h"

namespace frazil::jit {
namespace {

bool IsArg(OpId op) { return Has(op, traits::kIndex); }

class Estimator {
 public:
  Estimator(const Graph& graph, Space* space)
      : graph_(graph),
        space_(*space),
        points_(Product(space->parallel)),
        loop_(Product(space->loop)),
        width_(Width()),
        along_loop_(LanesAlongLoop()) {
    const std::vector<int>& axes = along_loop_ ? space_.loop : space_.parallel;
    if (!axes.empty()) vector_ = axes.back();
    padding_ = Padding(along_loop_ ? loop_ : RunLength());
    looped_ = points_ * loop_ * padding_;
  }

  void Run() {
    space_.compute = space_.bytes = 0;
    space_.repeats = false;
    for (const int32_t id : space_.nodes) AddMember(id);
    AddReads();
    int places = 0;  // where a pass may leave a value for the next
    for (const int32_t id : space_.outputs) {
      std::vector<int64_t> strides = space_.DenseStrides(graph_, id);
      const bool parts = IsComplex(node(id).dtype);  // each is stored to every second place
      if (parts) {
        for (int64_t& stride : strides) stride *= 2;
        AddMoves(strides);
      }
      AddMoves(strides);
      space_.bytes += double(node(id).layout->size) * SizeOf(node(id).dtype);
      places += HasLoopAxis(id);
    }
    if (places > 0) repeated_ = std::min(repeated_, places * most_again_ * tuned::kParkedSlots);
    space_.compute += cost::Elements(looped_, repeated_, width_);
    space_.shares = points_;
    if (space_.chunked) {
      space_.shares *= std::ceil(loop_ / double(kir::kChunk));
    } else if (!along_loop_) {
      space_.shares = std::ceil(points_ / 64);  // vectors are not cut
    }
  }

 private:
  const Node& node(int32_t id) const { return graph_.nodes[id]; }
  const SpaceMember& member(int32_t id) const { return space_.members.find(id)->second; }

  double Product(absl::Span<const int> axes) const {
    double n = 1;
    for (const int a : axes) n *= double(space_.extents[a]);
    return n;
  }

  // Bytes of a lane: of the widest value. Positions are computed in 32 bits.
  int Width() const {
    int width = 1;
    for (const int32_t id : space_.nodes) {
      const Node& n = node(id);
      if (n.view || IsArg(n.op) || n.op == OpId::k_iota) continue;
      width = std::max(width, IsHalf(n.dtype) ? 4 : SizeOf(PartOf(n.dtype)));
    }
    return width;
  }

  // Lanes over elements where a row has `length` of them: the last vector of each is not full.
  double Padding(double length) const {
    const double lanes = 64.0 / width_;
    return length > 0 ? std::ceil(length / lanes) * lanes / length : 1;
  }

  // Elements along the innermost parallel axes that everything walks as one.
  double RunLength() const {
    double length = 1;
    for (size_t i = space_.parallel.size(); i-- > 0;) {
      length *= double(space_.extents[space_.parallel[i]]);
      if (i == 0) break;
      const int inner = space_.parallel[i], outer = space_.parallel[i - 1];
      const auto joins = [&](const std::vector<int64_t>& strides) {
        return strides[outer] == strides[inner] * space_.extents[inner];
      };
      bool all = true;
      for (const SpaceRead& read : space_.reads) all &= joins(read.strides);
      for (const int32_t id : space_.outputs) all &= joins(space_.DenseStrides(graph_, id));
      if (!all) break;
    }
    return length;
  }

  // Whether lanes are neighbours in the loop.
  bool LanesAlongLoop() const {
    if (!space_.has_loop || space_.lanes == 8 || space_.down) return false;
    if (space_.lanes == 64 || space_.parallel.empty()) return true;
    int along_loop = 0, along_space = 0;
    for (const SpaceRead& read : space_.reads) {
      along_loop += !space_.loop.empty() && read.strides[space_.loop.back()] == 1;
      along_space += read.strides[space_.parallel.back()] == 1;
    }
    return along_loop > along_space;
  }

  bool HasLoopAxis(int32_t id) const {
    const SpaceMember& m = member(id);
    for (size_t i = 0; i < m.axes.size(); ++i) {
      if (node(id).layout->extents[i] != 1 && absl::c_linear_search(space_.loop, m.axes[i]))
        return true;
    }
    return false;
  }

  // Points at which what does not vary along the loop is computed: up to the innermost axis along
  // which it varies.
  double PointsOf(const std::vector<bool>& varies) const {
    double points = 1, all = 1;
    for (const int a : space_.parallel) {
      all *= double(space_.extents[a]);
      if (varies[a]) points = all;
    }
    return points;
  }

  void AddMember(int32_t id) {
    const Node& n = node(id);
    if (n.view || (space_.repeat && space_.repeat->IsEach(id))) return;
    const SpaceMember& m = member(id);
    double slots = m.written_out && !IsArg(n.op) ? 1 : cost::Slots(n.op, n.dtype);
    slots *= Product(m.varies) * Product(m.over);
    if (space_.repeat && space_.repeat->Repeats(id)) slots *= double(space_.repeat->times);
    const bool looped = Info(n.op).klass == OpClass::kReduce && !m.written_out;
    if (m.in_loop || looped) {
      space_.compute += cost::Elements(looped_, slots, width_);
      repeated_ += (m.passes - 1) * slots;
      most_again_ = std::max(most_again_, m.passes - 1);
      const int64_t own = looped ? node(n.operands[0]).layout->size : n.layout->size;
      space_.repeats |= m.passes > 1 || points_ * loop_ * Product(m.varies) > double(own);
      return;
    }
    std::vector<bool> varies(space_.extents.size(), false);
    for (size_t i = 0; i < m.axes.size(); ++i) {
      if (n.layout->extents[i] != 1) varies[m.axes[i]] = true;
    }
    const double count = PointsOf(varies);
    space_.repeats |= count * Product(m.varies) > double(n.layout->size);
    const bool one_by_one = along_loop_ || vector_ < 0 || !varies[vector_];
    space_.compute +=
        one_by_one ? cost::Points(count, slots) : cost::Elements(count * padding_, slots, width_);
  }

  void AddReads() {
    std::vector<const SpaceRead*> moved;
    for (const SpaceRead& read : space_.reads) {
      if (node(read.base).immediate) continue;
      AddMoves(read.strides);
      if (read.varies) repeated_ += (member(read.node).passes - 1) * cost::kMoveSlots;
      if (absl::c_any_of(moved, [&](const SpaceRead* other) {
            return other->base == read.base && other->offset == read.offset &&
                   other->strides == read.strides;
          }))
        continue;
      moved.push_back(&read);
      const Node& n = node(read.node);
      const bool taken = n.op == OpId::k_take && read.operand == 0;
      double count = taken ? double(n.layout->size) : 1;
      for (size_t a = 0; a < read.strides.size() && !taken; ++a)
        count *= read.strides[a] != 0 ? double(space_.extents[a]) : 1;
      space_.bytes += count * SizeOf(node(read.base).dtype);
    }
  }

  // Loads or stores of elements of these strides.
  void AddMoves(const std::vector<int64_t>& strides) {
    std::vector<bool> varies(strides.size());
    for (size_t a = 0; a < strides.size(); ++a) varies[a] = strides[a] != 0;
    const bool in_loop = absl::c_any_of(space_.loop, [&](int a) { return strides[a] != 0; });
    double count = in_loop ? looped_ : PointsOf(varies);
    for (const int a : space_.unrolled) count *= varies[a] ? double(space_.extents[a]) : 1;
    const int64_t step = vector_ < 0 ? 0 : strides[vector_];
    if (step == 0 && !in_loop) {
      space_.compute += cost::Points(count, cost::kMoveSlots);
    } else if (step == 0 || step == 1) {
      space_.compute +=
          cost::Elements(in_loop ? count : count * padding_, cost::kMoveSlots, width_);
    } else if (!space_.unrolled.empty() && IsNear(space_, strides)) {
      space_.compute += cost::Elements(count, cost::kTurnSlots, width_);
    } else if (step == 2 && width_ >= 4 && !in_loop) {  // two vectors for one
      space_.compute += cost::Elements(count, cost::kTurnSlots, width_);
    } else {
      space_.compute += cost::Points(count, cost::kGatherSlots);
    }
  }

  const Graph& graph_;
  Space& space_;
  const double points_, loop_;  // points of the parallel axes; of the loop
  const int width_;             // bytes of a lane
  const bool along_loop_;
  double padding_ = 1;   // lanes over elements
  int vector_ = -1;      // the axis that lanes run along
  double looped_ = 0;    // elements of what varies along the loop
  double repeated_ = 0;  // slots of what later passes over the loop compute or load again
  int most_again_ = 0;   // passes
};

}  // namespace

void EstimateTime(const Graph& graph, Space* space) {
  Estimator(space->GraphOf(graph), space).Run();
}

double Space::Time() const { return cost::Overlapped(compute, cost::Bytes(bytes, bytes)); }

}  // namespace frazil::jit
