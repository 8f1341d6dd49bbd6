#include "autograd/tape.h"

#include <atomic>

#include "autograd/forward.h"
#include "core/anomaly.h"
#include "core/functions/composite.h"
#include "core/threads/tls.h"

namespace frazil::autograd {
namespace {

// Nodes waiting to be destroyed, and how. Set while this thread destroys some.
using Graveyard = absl::InlinedVector<std::pair<GradNode*, void (*)(GradNode*)>, 16>;
FZ_HOT_TLS Graveyard* t_graveyard = nullptr;

Ref<TapeNode> NodeOf(absl::Span<const Tensor* const> inputs, AttrSpan attrs) {
  const ThreadState& state = State();
  auto node = Ref<TapeNode>::Adopt(TapeNode::New());
  node->attrs.assign(attrs.begin(), attrs.end());
  node->level = kNobodys;
  for (const Tensor* t : inputs) {
    GradNodeRef edge;
    if (NeedsGrad(state, *t) && IsInexact(t->dtype())) edge = ReverseOf(t->node_ref());
    if (edge) node->level = std::min(node->level, edge->level);
    node->inputs.push_back({std::move(edge), t->dtype(), t->shape()});
  }
  node->sequence = NextSequence();
  return node;
}

// Null if no gradient can flow.
GradNodeRef Finished(Ref<TapeNode> node) {
  if (node->level == kNobodys && node->operands.empty()) return nullptr;
  if (AnomalyScope* anomaly = State().anomaly) anomaly->Made(node->sequence);
  return GradNodeRef::Adopt(node.release());
}

}  // namespace

uint64_t NextSequence() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void Bury(GradNode* node, void (*destroy)(GradNode*)) {
  if (t_graveyard) {
    t_graveyard->emplace_back(node, destroy);
    return;
  }
  Graveyard graveyard = {{node, destroy}};
  t_graveyard = &graveyard;
  while (!graveyard.empty()) {
    const auto [next, end] = graveyard.back();
    graveyard.pop_back();
    end(next);
  }
  t_graveyard = nullptr;
}

void TapeNode::Destroy() {
  Bury(this, [](GradNode* node) {
    auto* op = static_cast<TapeNode*>(node);
    op->~TapeNode();
    GiveBlock(op, BlockClass(sizeof(TapeNode)));
  });
}

Ref<TapeNode> Record(OpId op, absl::Span<const Tensor* const> inputs, AttrSpan attrs) {
  Ref<TapeNode> node = NodeOf(inputs, attrs);
  node->op = op;
  if (inputs.empty()) return node;
  for (char c : Info(op).saves) {
    // What a composite made is made again.
    if (c != 'y' && !CompositeOf(node->inputs[c - 'a'].edge.get()))
      node->saved[c - 'a'] = *inputs[c - 'a'];
  }
  return node;
}

GradNodeRef Tape::Prepare(const OpCall& call) {
  Ref<TapeNode> node = Record(call.op, call.inputs, call.attrs);
  if (AnyTangent(call.inputs)) {
    for (const Tensor* t : call.inputs) node->operands.push_back(*t);
  }
  return Finished(std::move(node));
}

GradNodeRef Tape::PrepareComposite(const CompositeCall& call) {
  if (!ops::FindBody(static_cast<CompositeId>(call.id)) || !ops::TakesMuch(call) ||
      AnyTangent(call.inputs))
    return nullptr;
  Ref<TapeNode> node = NodeOf(call.inputs, call.attrs);
  if (node->level == kNobodys) return nullptr;
  node->composite = call.id;
  for (const Tensor* t : call.inputs) node->operands.push_back(*t);
  return Finished(std::move(node));
}

void Tape::Attach(GradNodeRef node, Tensor* output) {
  if (!IsInexact(output->dtype())) return;
  auto* op = static_cast<TapeNode*>(node.get());
  if (op->wants_output()) op->saved_output = output->value_ref();
  if (!op->composite && !op->operands.empty()) return AttachForward(std::move(node), output);
  output->SetNode(std::move(node));
}

}  // namespace frazil::autograd
