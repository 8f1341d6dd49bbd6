#include "autograd/tape.h"

#include <atomic>
#include <vector>

namespace frazil::autograd {
namespace {

// Nodes waiting to be destroyed: a chain of a million nodes must not recurse a million deep.
struct Graveyard {
  std::vector<TapeNode*> nodes;
  bool active = false;
};
Graveyard& LocalGraveyard() {
  static thread_local Graveyard* graveyard =
      new Graveyard;  // used by destructors at thread exit: never destroyed
  return *graveyard;
}

}  // namespace

uint64_t NextSequence() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void TapeNode::Destroy() {
  Graveyard& graveyard = LocalGraveyard();
  graveyard.nodes.push_back(this);
  if (graveyard.active) return;
  graveyard.active = true;
  while (!graveyard.nodes.empty()) {
    TapeNode* node = graveyard.nodes.back();
    graveyard.nodes.pop_back();
    node->~TapeNode();
    GiveBlock(node, sizeof(TapeNode));
  }
  graveyard.active = false;
}

GradNodeRef Tape::Prepare(const OpCall& call) {
  const ThreadState& state = State();
  const OpInfo& info = Info(call.op);
  auto node = Ref<TapeNode>::Adopt(TapeNode::New());
  node->op = call.op;
  node->attrs.assign(call.attrs.begin(), call.attrs.end());
  node->level = 1 << 30;
  bool any = false;
  for (const Tensor* t : call.inputs) {
    const bool wanted = NeedsGrad(state, *t) && IsFloat(t->dtype());
    if (wanted) node->level = std::min(node->level, t->node()->level);
    any |= wanted;
    node->inputs.push_back({wanted ? t->node_ref() : GradNodeRef(), t->dtype(), t->shape()});
  }
  if (!any) return nullptr;
  for (char c : info.saves) {
    if (c != 'y') node->saved[c - 'a'] = *call.inputs[c - 'a'];
  }
  node->sequence = NextSequence();
  return GradNodeRef::Adopt(node.release());
}

void Tape::Attach(GradNodeRef node, Tensor* output) {
  if (!IsFloat(output->dtype())) return;
  auto* op = static_cast<TapeNode*>(node.get());
  if (Info(op->op).saves.find('y') != std::string_view::npos) {
    op->saved_output = output->value_ref();
  }
  output->SetNode(std::move(node));
}

}  // namespace frazil::autograd
