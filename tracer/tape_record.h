// What a call left on the tape, as data (TapeRecord, tracer/program.h): the nodes that its results
// hang off. Written by tracer/script_builder, made again by tracer/script when the body is skipped.
// Invariant: nodes come in the order in which they were made, so that each depends on earlier ones,
// on nodes of cells, or on nothing.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "autograd/tape.h"
#include "tracer/program.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

// The nodes below `roots` that no cell had before. False if one depends on a leaf that is none of
// theirs, on a variable not made since the node numbered `since`, or has tangents.
bool CollectTape(absl::Span<const GradNode* const> roots,
                 const absl::flat_hash_map<const GradNode*, Link>& known, uint64_t since,
                 std::vector<const GradNode*>* out);

// The record of one node: `link` and `find` name what it holds.
template <typename LinkOf, typename IdOf>
TapeRecord Describe(const GradNode& any, const LinkOf& link, const IdOf& find) {
  if (any.kind == GradNode::Kind::kVariable) {
    const auto& outer = static_cast<const autograd::VariableNode&>(any).outer;
    TapeRecord record{.variable = true};
    record.edges.push_back({link(outer.edge.get()), outer.dtype, outer.shape});
    return record;
  }
  const auto& node = static_cast<const autograd::TapeNode&>(any);
  TapeRecord record{.op = node.op, .attrs = node.attrs, .spent = node.spent};
  for (const auto& in : node.inputs)
    record.edges.push_back({link(in.edge.get()), in.dtype, in.shape});
  for (size_t i = 0; i < node.saved.size(); ++i) {
    const Tensor& t = node.saved[i];
    if (t.defined()) record.saved[i] = {find(*t.value()), link(t.node())};
  }
  if (node.saved_output) record.saved_output = find(*node.saved_output);
  return record;
}

// Makes the nodes again: `value(id)` is what a program's value is now, `cells` hold the nodes
// that were there before.
template <typename ValueOf>
std::vector<GradNodeRef> MakeTape(absl::Span<const TapeRecord> records, Cells cells,
                                  const ValueOf& value) {
  std::vector<GradNodeRef> made;
  made.reserve(records.size());
  const auto node_of = [&](const Link& link) {
    return link.kind == Link::Kind::kNone   ? GradNodeRef()
           : link.kind == Link::Kind::kCell ? cells[link.index]->node_ref()
                                            : made[link.index];
  };
  for (const TapeRecord& record : records) {
    if (record.variable) {
      const TapeRecord::Edge& e = record.edges[0];
      GradNodeRef outer = node_of(e.node);
      const int level = outer ? outer->level : autograd::kNobodys;
      auto variable = Ref<autograd::VariableNode>::Adopt(new autograd::VariableNode(
          autograd::NextSequence(), {std::move(outer), e.dtype, e.shape}));
      variable->level = level;
      variable->sequence = autograd::NextSequence();
      made.push_back(GradNodeRef::Adopt(variable.release()));
      continue;
    }
    auto node = Ref<autograd::TapeNode>::Adopt(autograd::TapeNode::New());
    node->op = record.op;
    node->attrs = record.attrs;
    node->spent = record.spent;
    node->level = record.edges.empty() ? 0 : autograd::kNobodys;
    for (const TapeRecord::Edge& e : record.edges) {
      node->inputs.push_back({node_of(e.node), e.dtype, e.shape});
      if (const GradNode* edge = node->inputs.back().edge.get())
        node->level = std::min(node->level, edge->level);
    }
    for (size_t i = 0; i < record.saved.size(); ++i) {
      const Content& o = record.saved[i];
      if (Value* v = value(o.value)) node->saved[i] = Tensor(ValueRef::Share(v), node_of(o.node));
    }
    if (Value* v = value(record.saved_output)) node->saved_output = ValueRef::Share(v);
    node->sequence = autograd::NextSequence();
    made.push_back(GradNodeRef::Adopt(node.release()));
  }
  return made;
}

}  // namespace frazil::tracer
#pragma GCC visibility pop
