// The parts of a complex number that this graph makes are what it was made of: real(complex(a, b))
// is a, also behind views. What reads them then reads a, dense or as a lies, so views behind it are
// inferred anew; a chain of complex ops is one of pairs, and no memory lies between its links.
#include "jit/graph/passes/must.h"
#include "jit/graph/passes/passes.h"

namespace frazil::jit {
namespace {

class PartTaker {
 public:
  explicit PartTaker(Graph* graph) : old_(graph), now_(graph->nodes.size()) {}

  void Run() {
    new_.num_inputs = old_->num_inputs;
    new_.origins = std::move(old_->origins);
    std::vector<bool> leaves(old_->nodes.size(), false);
    for (const int32_t id : old_->outputs) leaves[id] = true;
    std::vector<int32_t> whole(old_->nodes.size(), -1);  // what leaves is laid out as it was
    for (int32_t id = 0; id < static_cast<int32_t>(old_->nodes.size()); ++id) {
      const Node& node = old_->nodes[id];
      if (leaves[id] && node.view) whole[id] = Whole(id);
      now_[id] = Take(node);
      if (whole[id] < 0) whole[id] = now_[id];
    }
    for (int32_t id : old_->outputs) new_.outputs.push_back(whole[id]);
    *old_ = std::move(new_);
  }

 private:
  int32_t Add(const Node& node, int32_t operand) {
    return Must(new_.AddOp(node.op, {operand}, node.attrs, node.origin));
  }

  // A view as it is, of the value that it is a view of.
  int32_t Whole(int32_t id) {
    const Node& node = old_->nodes[id];
    return node.view ? Add(node, Whole(node.operands[0])) : now_[id];
  }

  int32_t Take(Node node) {
    if (!node.input && (node.op == OpId::k_real || node.op == OpId::k_imag)) {
      const int32_t part = Part(node, node.operands[0]);
      if (part >= 0) return part;
    }
    for (int32_t& operand : node.operands) operand = now_[operand];
    return AddAgain(std::move(node), &new_);
  }

  // The part `which` of complex value `id`, or -1.
  int32_t Part(const Node& which, int32_t id) {
    const Node& node = old_->nodes[id];
    if (node.view) {
      const int32_t part = Part(which, node.operands[0]);
      return part < 0 ? part : Add(node, part);
    }
    if (node.input || node.op != OpId::k_complex) return -1;
    int32_t part = now_[node.operands[which.op == OpId::k_imag]];
    if (new_.nodes[part].layout->shape == node.layout->shape) return part;
    if (new_.nodes[part].immediate) part = Must(new_.AddOp(OpId::k_copy, {part}, {}, node.origin));
    return Must(new_.AddOp(OpId::k_broadcast_to, {part}, node.layout->dims(), node.origin));
  }

  Graph* old_;
  Graph new_;
  std::vector<int32_t> now_;
};

bool TakesParts(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.input || (node.op != OpId::k_real && node.op != OpId::k_imag)) continue;
    const Node& base = graph.nodes[BaseOf(graph, node.operands[0])];
    if (!base.input && base.op == OpId::k_complex) return true;
  }
  return false;
}

}  // namespace

void TakeParts(Graph* graph) {
  if (!HasLoops(*graph) && TakesParts(*graph)) PartTaker(graph).Run();
}

}  // namespace frazil::jit
