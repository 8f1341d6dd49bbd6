// Collectives begin as soon as what they send is there and are waited for where their result is
// read first, so that what other processes do runs beside the kernels in between.
//
// A collective becomes two nodes: itself, which only starts, and `collective_wait`, which has its
// result and holds on to the operand until then. What reads no collective comes before what reads
// the first, and so on: the update of a layer does not wait for the gradients of one that come after
// its own. Nodes keep their order otherwise; the order of collectives among themselves is the
// program's, by the operand that tells each what it runs behind. One whose result is read at once
// stays one node.
#include <algorithm>
#include <numeric>

#include "core/backend.h"
#include "core/collective.h"
#include "jit/graph/passes/passes.h"

namespace frazil::jit {
namespace {

bool Collects(const Node& node) { return !node.input && node.op == OpId::k_collective; }

// What moves elements and computes nothing: it goes with the collective that sends them.
bool IsLight(const Node& node) {
  if (node.input || node.role != Role::kOp) return false;
  const OpClass klass = Info(node.op).klass;
  return klass == OpClass::kView || klass == OpClass::kConcat;
}

class Scheduler {
 public:
  explicit Scheduler(const Graph& graph)
      : graph_(graph),
        moved_(graph.nodes.size(), -1),
        waited_(graph.nodes.size(), -1),
        read_(graph.nodes.size(), false) {
    for (const Node& node : graph.nodes) {
      for (size_t i = 0; i < node.operands.size(); ++i)
        if (i == 0 || !Collects(node)) read_[node.operands[i]] = true;
    }
    for (const int32_t output : graph.outputs) read_[output] = true;
  }

  Graph Run() {
    out_.num_inputs = graph_.num_inputs;
    out_.origins = graph_.origins;
    order_.resize(graph_.nodes.size());
    std::iota(order_.begin(), order_.end(), 0);
    const std::vector<int32_t> behind = Behind();
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int32_t a, int32_t b) { return behind[a] < behind[b]; });
    for (const int32_t id : order_)
      if (Collects(graph_.nodes[id])) collectives_.push_back(id);
    for (int32_t at = 0; at < Count(); ++at) {
      const int32_t id = order_[at];
      Emit(id);
      // Results of a loop stand right behind it.
      const bool within = at + 1 < Count() && IsResult(graph_.nodes[order_[at + 1]]);
      while (!within && at + 1 >= graph_.num_inputs && next_ < collectives_.size() &&
             IsReady(collectives_[next_]))
        Emit(collectives_[next_]);
    }
    for (const int32_t output : graph_.outputs) out_.outputs.push_back(Read(output));
    return std::move(out_);
  }

 private:
  int32_t Count() const { return static_cast<int32_t>(graph_.nodes.size()); }

  // How many collectives have to have ended before each node.
  std::vector<int32_t> Behind() const {
    std::vector<int32_t> behind(graph_.nodes.size(), 0);
    int32_t collectives = 0;
    std::vector<int32_t> number(graph_.nodes.size(), 0);
    for (int32_t id = 0; id < Count(); ++id) {
      const Node& node = graph_.nodes[id];
      const bool collects = Collects(node);
      for (size_t i = 0; i < node.operands.size(); ++i) {
        const int32_t x = node.operands[i];
        behind[id] = std::max(behind[id], behind[x]);
        if (Collects(graph_.nodes[x]) && !(collects && i > 0))
          behind[id] = std::max(behind[id], number[x]);
      }
      if (collects) number[id] = ++collectives;
    }
    return behind;
  }

  // All that computes for it has been emitted.
  bool IsReady(int32_t id) const {
    for (const int32_t x : graph_.nodes[id].operands) {
      if (moved_[x] >= 0) continue;
      if (!IsLight(graph_.nodes[x]) || !IsReady(x)) return false;
    }
    return true;
  }

  // The node that has the value, waited for if need be.
  int32_t Read(int32_t id) {
    if (!Collects(graph_.nodes[id]) || !out_.nodes[moved_[id]].attrs[kCollectiveStarted])
      return moved_[id];
    if (waited_[id] < 0) {
      const Node started = out_.nodes[moved_[id]];
      Node wait = started;
      wait.op = OpId::k_collective_wait;
      wait.attrs.clear();
      wait.operands = {moved_[id], started.operands[0]};
      waited_[id] = Add(std::move(wait));
    }
    return waited_[id];
  }

  int32_t Add(Node node) {
    out_.nodes.push_back(std::move(node));
    return static_cast<int32_t>(out_.nodes.size()) - 1;
  }

  void Emit(int32_t id) {
    if (moved_[id] >= 0) return;
    Node node = graph_.nodes[id];
    const bool collects = Collects(node);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      int32_t& operand = node.operands[i];
      if (moved_[operand] < 0) Emit(operand);
      // What it runs behind need only have begun.
      operand = collects && i > 0 ? moved_[operand] : Read(operand);
    }
    if (collects) {
      // Of another device's only what that runs itself: the rest has transfers around it.
      const bool there =
          node.device == Device() ||
          (!CpuAddresses(node.device) && BackendOf(node.device).Where(node.op) == Runs::kThere);
      node.attrs[kCollectiveStarted] = read_[id] && there && IsWorthIt(id);
      ++next_;
    }
    moved_[id] = Add(std::move(node));
  }

  // Something is computed until it is read: it is not what comes next.
  bool IsWorthIt(int32_t id) const {
    auto at = std::find(order_.begin(), order_.end(), id);
    for (++at; at != order_.end(); ++at) {
      const Node& node = graph_.nodes[*at];
      for (size_t i = 0; i < node.operands.size(); ++i) {
        if (node.operands[i] == id && !(i > 0 && Collects(node))) return IsEarlier(id);
      }
      if (!IsLight(node) && !Collects(node)) return true;
    }
    return IsEarlier(id);
  }
  // It goes ahead of what computes.
  bool IsEarlier(int32_t id) const {
    for (const int32_t before : order_) {
      if (before == id) return false;
      const Node& node = graph_.nodes[before];
      if (!node.input && moved_[before] < 0 && !IsLight(node) && !Collects(node)) return true;
    }
    return false;
  }

  const Graph& graph_;
  Graph out_;
  std::vector<int32_t> order_;           // in which nodes are emitted, but for collectives
  std::vector<int32_t> moved_, waited_;  // of each node: where it is now, and its wait
  std::vector<bool> read_;               // by more than what only runs behind it
  std::vector<int32_t> collectives_;
  size_t next_ = 0;
};

}  // namespace

void Overlap(Graph* graph) {
  for (const Node& node : graph->nodes) {
    if (Collects(node)) {
      *graph = Scheduler(*graph).Run();
      return;
    }
  }
}

}  // namespace frazil::jit
