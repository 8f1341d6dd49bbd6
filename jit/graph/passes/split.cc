// The split pass: an elementwise value that is read in slices alone is computed slice by slice,
// which lets each slice be part of the kernel that reads it. The gates of an LSTM and the heads of
// a fused projection are cut out of one sum this way without storing it.
#include <algorithm>
#include <map>

#include "core/check.h"
#include "core/tuned.h"
#include "jit/graph/passes/passes.h"

namespace frazil::jit {
namespace {

class Splitter {
 public:
  explicit Splitter(Graph* graph) : graph_(*graph) {}

  void Run() {
    FindSplit();
    if (!std::count(split_.begin(), split_.end(), true)) return;
    old_ = std::move(graph_.nodes);
    graph_.nodes.clear();
    now_.assign(old_.size(), -1);
    for (size_t id = 0; id < old_.size(); ++id) {
      if (split_[id]) continue;
      Node node = old_[id];
      if (IsSlice(node) && split_[node.operands[0]]) {
        now_[id] = Sliced(node.operands[0], node.attrs);
        continue;
      }
      for (int32_t& x : node.operands) x = now_[x];
      if (node.view) {  // of a slice that is dense now, perhaps
        now_[id] = Add(node.op, node.operands, node.attrs, node.origin);
        continue;
      }
      now_[id] = int32_t(graph_.nodes.size());
      graph_.nodes.push_back(std::move(node));
    }
    for (int32_t& x : graph_.outputs) x = now_[x];
  }

 private:
  static bool IsSlice(const Node& n) { return !n.input && n.view && n.op == OpId::k_slice; }
  static bool IsElementwise(const Node& n) {
    return !n.input && n.role == Role::kOp && n.device == Device() && IsPointwise(n.op);
  }

  // A value is split if all that reads it is slices, of no more than it has together, or other
  // values of its shape that are split.
  void FindSplit() {
    const std::vector<Node>& nodes = graph_.nodes;
    std::vector<std::vector<int32_t>> users(nodes.size());
    for (size_t id = 0; id < nodes.size(); ++id) {
      for (const int32_t x : nodes[id].operands) users[x].push_back(int32_t(id));
    }
    split_.assign(nodes.size(), false);
    std::vector<bool> returned(nodes.size(), false);  // as they are, or as views of theirs
    for (const int32_t id : graph_.outputs) returned[BaseOf(graph_, id)] = true;
    for (int32_t id = int32_t(nodes.size()) - 1; id >= 0; --id) {
      if (!IsElementwise(nodes[id]) || returned[id] || users[id].empty()) continue;
      int64_t elements = 0;
      size_t slices = 0;
      bool all = true, above = false;
      for (const int32_t user : users[id]) {
        const Node& n = nodes[user];
        if (IsSlice(n)) {
          elements += n.layout->size;
          ++slices;
        } else {
          above = true;
          all = all && split_[user] && n.layout->dims() == nodes[id].layout->dims();
        }
      }
      // Slices of one that is read by another split value too might be others than that one's.
      split_[id] = all && !(above && (slices > 0 || users[id].size() > 1)) &&
                   slices <= tuned::kMaxSplitSlices && elements <= nodes[id].layout->size;
    }
  }

  // The slice of old node `id` that `attrs` (start, step and size of each axis) says.
  int32_t Sliced(int32_t id, const Attrs& attrs) {
    if (const auto it = made_.find({id, attrs}); it != made_.end()) return it->second;
    const Node& n = old_[id];
    int32_t made;
    if (!split_[id]) {
      made = n.layout->rank == 0 ? now_[id] : Add(OpId::k_slice, {now_[id]}, attrs, n.origin);
    } else {
      absl::InlinedVector<int32_t, 3> operands;
      for (const int32_t x : n.operands) operands.push_back(Sliced(x, OfOperand(n, x, attrs)));
      made = Add(n.op, operands, n.attrs, n.origin);
    }
    made_[{id, attrs}] = made;
    return made;
  }

  // Axes that the operand lacks or repeats are whole.
  Attrs OfOperand(const Node& n, int32_t x, const Attrs& attrs) const {
    const Layout& in = *old_[x].layout;
    Attrs own;
    for (int i = 0; i < in.rank; ++i) {
      const int axis = i + n.layout->rank - in.rank;
      const bool whole = in.extents[i] != n.layout->extents[axis];
      for (int j = 0; j < 3; ++j) own.push_back(whole ? j > 0 : attrs[3 * axis + j]);
    }
    return own;
  }

  int32_t Add(OpId op, absl::Span<const int32_t> operands, const Attrs& attrs, int32_t origin) {
    const StatusOr<int32_t> id = graph_.AddOp(op, operands, attrs, origin);
    FZ_CHECK(id.ok());
    return *id;
  }

  Graph& graph_;
  std::vector<Node> old_;
  std::vector<bool> split_;
  std::vector<int32_t> now_;
  std::map<std::pair<int32_t, Attrs>, int32_t> made_;
};

}  // namespace

void Split(Graph* graph) { Splitter(graph).Run(); }

}  // namespace frazil::jit
