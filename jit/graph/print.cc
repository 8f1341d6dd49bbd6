#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "core/text_cursor.h"
#include "jit/graph/graph.h"

namespace frazil::jit {
namespace {

void AppendInput(std::string* out, const Node& node) {
  if (node.zero) StrAppend(out, "zero ");
  if (node.immediate) return AppendScalarType(out, node.dtype, node.device);
  AppendType(out, {node.dtype, node.device, node.layout}, Strides::kIfNotDense);
}

std::string Ids(absl::Span<const int32_t> ids) {
  return absl::StrJoin(ids, ", ", [](std::string* out, int32_t id) { StrAppend(out, "%", id); });
}

// times n as scalars (a source for each input of the body) graph ...
void AppendLoop(std::string* out, const Loop& loop) {
  const auto source = [](std::string* text, const Loop::Source& s) {
    switch (s.kind) {
      case Loop::Source::Kind::kSame:
        StrAppend(text, "same");
        break;
      case Loop::Source::Kind::kEach:
        StrAppend(text, "each");
        break;
      case Loop::Source::Kind::kSlide:
        StrAppend(text, "slide ", s.start, " by ", s.step);
        break;
      case Loop::Source::Kind::kState:
        StrAppend(text, "state ", s.next);
        break;
    }
  };
  std::string body = Print(loop.body);
  body.pop_back();
  if (loop.condition >= 0) StrAppend(out, " while ", loop.condition);
  StrAppend(out, " times ", loop.times, loop.scalars ? " as scalars (" : " (",
            absl::StrJoin(loop.sources, ", ", source), ") ",
            absl::StrReplaceAll(body, {{"\n", "\n  "}}));
}

void AppendOp(std::string* out, const Graph& graph, int32_t id) {
  const Node& node = graph.nodes[id];
  StrAppend(out, "  %", id, " = ", NameOf(node));
  if (!node.operands.empty()) StrAppend(out, " ", Ids(node.operands));
  if (!node.attrs.empty()) StrAppend(out, " {", absl::StrJoin(node.attrs, ", "), "}");
  StrAppend(out, " : ", node.view ? "view " : "");
  AppendType(out, {node.dtype, node.device, node.layout},
             node.view ? Strides::kAlways : Strides::kIfNotDense);
  if (node.view) StrAppend(out, " offset ", node.offset);
  if (node.loop) AppendLoop(out, *node.loop);
  if (node.origin >= 0) StrAppend(out, "  # ", graph.origins[node.origin]);
  StrAppend(out, "\n");
}

}  // namespace

std::string Print(const Graph& graph) {
  std::string out = "graph (";
  for (int32_t id = 0; id < graph.num_inputs; ++id) {
    if (id > 0) StrAppend(&out, ", ");
    AppendInput(&out, graph.nodes[id]);
  }
  StrAppend(&out, ") {\n");
  for (int32_t id = graph.num_inputs; id < static_cast<int32_t>(graph.nodes.size()); ++id)
    AppendOp(&out, graph, id);
  StrAppend(&out, "  return", graph.outputs.empty() ? "" : " ", Ids(graph.outputs), "\n}\n");
  return out;
}

}  // namespace frazil::jit
