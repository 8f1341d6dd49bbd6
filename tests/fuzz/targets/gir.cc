// Graphs as text: what is taken is printed and taken again as it was.
#include "core/check.h"
#include "jit/graph/graph.h"
#include "jit/graph/pack.h"
#include "tests/fuzz/targets/target.h"

FZ_FUZZ_TARGET(gir) {
  using namespace frazil;  // NOLINT
  const StatusOr<jit::Graph> graph = jit::Parse(TextOf(data, size));
  if (!graph.ok()) return 0;
  const std::string text = Print(*graph);
  const StatusOr<jit::Graph> again = jit::Parse(text);
  FZ_CHECK(again.ok());
  FZ_CHECK(Print(*again) == text);
  FZ_CHECK(ContentKey(*again) == ContentKey(*graph));
  const std::string bytes = jit::Pack(*graph);
  std::string_view left = bytes;
  FZ_CHECK(jit::UnpackGraph(&left, graph->origins).has_value());
  FZ_CHECK(left.empty());
  return 0;
}
