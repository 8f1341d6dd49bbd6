#include "autograd/tape.h"

#include <atomic>

#include "core/anomaly.h"
#include "core/functions/composite.h"
#include "core/threads/tls.h"

namespace frazil::autograd {
namespace {

// Nodes waiting to be destroyed: a chain of a million nodes must not recurse a million deep. Set
// while this thread destroys some.
using Graveyard = absl::InlinedVector<TapeNode*, 16>;
FZ_HOT_TLS Graveyard* t_graveyard = nullptr;

// Null if no gradient can flow.
Ref<TapeNode> NodeOf(absl::Span<const Tensor* const> inputs, AttrSpan attrs) {
  const ThreadState& state = State();
  auto node = Ref<TapeNode>::Adopt(TapeNode::New());
  node->attrs.assign(attrs.begin(), attrs.end());
  node->level = 1 << 30;
  bool any = false;
  for (const Tensor* t : inputs) {
    const bool wanted = NeedsGrad(state, *t) && IsInexact(t->dtype());
    if (wanted) node->level = std::min(node->level, t->node()->level);
    any |= wanted;
    node->inputs.push_back({wanted ? t->node_ref() : GradNodeRef(), t->dtype(), t->shape()});
  }
  if (!any) return nullptr;
  node->sequence = NextSequence();
  if (state.anomaly) state.anomaly->Made(node->sequence);
  return node;
}

}  // namespace

uint64_t NextSequence() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void TapeNode::Destroy() {
  if (t_graveyard) {
    t_graveyard->push_back(this);
    return;
  }
  Graveyard graveyard = {this};
  t_graveyard = &graveyard;
  while (!graveyard.empty()) {
    TapeNode* node = graveyard.back();
    graveyard.pop_back();
    node->~TapeNode();
    GiveBlock(node, BlockClass(sizeof(TapeNode)));
  }
  t_graveyard = nullptr;
}

GradNodeRef Tape::Prepare(const OpCall& call) {
  Ref<TapeNode> node = NodeOf(call.inputs, call.attrs);
  if (!node) return nullptr;
  node->op = call.op;
  for (char c : Info(call.op).saves) {
    // What a composite made is made again.
    if (c != 'y' && !CompositeOf(node->inputs[c - 'a'].edge.get()))
      node->saved[c - 'a'] = *call.inputs[c - 'a'];
  }
  return GradNodeRef::Adopt(node.release());
}

GradNodeRef Tape::PrepareComposite(const CompositeCall& call) {
  if (!ops::FindBody(static_cast<CompositeId>(call.id)) || !ops::TakesMuch(call)) return nullptr;
  Ref<TapeNode> node = NodeOf(call.inputs, call.attrs);
  if (!node) return nullptr;
  node->composite = call.id;
  for (const Tensor* t : call.inputs) node->operands.push_back(*t);
  return GradNodeRef::Adopt(node.release());
}

void Tape::Attach(GradNodeRef node, Tensor* output) {
  if (!IsInexact(output->dtype())) return;
  auto* op = static_cast<TapeNode*>(node.get());
  if (!op->composite && Info(op->op).saves.find('y') != std::string_view::npos) {
    op->saved_output = output->value_ref();
  }
  output->SetNode(std::move(node));
}

}  // namespace frazil::autograd
