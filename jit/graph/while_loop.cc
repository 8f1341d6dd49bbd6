#include "jit/graph/while_loop.h"

#include "absl/algorithm/container.h"
#include "core/check.h"
#include "jit/graph/scalar_loop.h"

namespace frazil::jit {

std::vector<int32_t> AddLoop(Graph* graph, Loop loop, absl::Span<const int32_t> operands,
                             absl::FunctionRef<bool(int32_t output)> wanted) {
  const auto at = static_cast<int32_t>(graph->nodes.size());
  Node node;
  node.role = Role::kLoop;
  node.dtype = DType::kBool;
  node.layout = Dense({0});
  node.operands.assign(operands.begin(), operands.end());
  std::vector<Node> results;
  std::vector<int32_t> ids;
  for (size_t i = 0; i < loop.body.outputs.size(); ++i) {
    const bool is_wanted = wanted(static_cast<int32_t>(i));
    ids.push_back(is_wanted ? at + 1 + static_cast<int32_t>(results.size()) : -1);
    if (!is_wanted) continue;
    const Node& output = loop.body.nodes[loop.body.outputs[i]];
    Node& result = results.emplace_back();
    result.role = Role::kEnd;
    result.operands = {at};
    result.attrs = {static_cast<int64_t>(i)};
    result.dtype = output.dtype;
    result.layout = output.layout;
  }
  node.loop = LoopRef(new Loop(std::move(loop)));
  graph->nodes.push_back(std::move(node));
  for (Node& result : results) graph->nodes.push_back(std::move(result));
  return ids;
}

void SeparateOutputs(Graph* body) {
  for (size_t i = 0; i < body->outputs.size(); ++i) {
    int32_t& output = body->outputs[i];
    const Node& node = body->nodes[output];
    const auto before = absl::MakeSpan(body->outputs).first(i);
    if (!node.input && !node.view && node.layout->dense && !absl::c_linear_search(before, output))
      continue;
    const auto copy = body->AddOp(OpId::k_copy, {output}, {});
    FZ_CHECK(copy.ok());
    output = *copy;
  }
}

std::optional<Loop> InScalars(const Loop& loop) {
  Loop inner = loop;
  inner.times = kAtOnce;
  Graph body;
  std::vector<int32_t> inputs;
  for (const Node& input : absl::MakeSpan(loop.body.nodes).first(loop.body.num_inputs))
    inputs.push_back(body.AddInput(input.dtype, input.device, input.layout, input.immediate));
  const int32_t at = body.num_inputs;
  body.outputs = AddLoop(&body, std::move(inner), inputs, [](int32_t) { return true; });
  if (!IsWorthScalars(body, at)) return std::nullopt;
  Loop scalars = *body.nodes[at].loop;
  scalars.scalars = true;
  body.nodes[at].loop = LoopRef(new Loop(std::move(scalars)));
  Loop outer{.times = loop.times, .sources = loop.sources, .condition = loop.condition};
  outer.body = std::move(body);
  return outer;
}

}  // namespace frazil::jit
