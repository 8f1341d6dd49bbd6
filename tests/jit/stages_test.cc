// Golden texts of the stages behind the passes: operands where devices reach them, groups of nodes,
// what is computed again, twice, and in which order. The first half of a file is the graph, the
// second what the stage makes of it. FRAZIL_UPDATE_GOLDENS=1 rewrites the second half of
// tests/jit/goldens/<stage>/*.gir.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/backend.h"
#include "core/str.h"
#include "gtest/gtest.h"
#include "jit/graph/duplicate.h"
#include "jit/graph/order.h"
#include "jit/graph/place.h"
#include "jit/graph/recompute.h"

namespace frazil::jit {
namespace {

std::string Print(const Grouping& grouping) {
  constexpr std::string_view kKinds[] = {"kernel", "library", "steps"};
  std::string text;
  for (const Group& group : grouping.groups) {
    StrAppend(&text, kKinds[static_cast<int>(group.kind)]);
    for (const int32_t id : group.nodes) StrAppend(&text, " %", id);
    StrAppend(&text, " ->");
    for (const int32_t id : group.outputs) StrAppend(&text, " %", id);
    StrAppend(&text, "\n");
  }
  return text;
}

std::string PrintFused(const Graph& graph) { return Print(Fuse(graph)); }

// However few bytes wait. Copies name the last node that their kernel has no part in.
std::string PrintRecomputed(const Graph& graph) {
  Copies copies;
  const std::optional<Graph> other = Recompute(graph, Fuse(graph), 0, &copies);
  if (!other) return "as it was\n";
  std::string text = Print(*other);
  for (size_t id = 0; id < copies.behind.size(); ++id) {
    if (copies.behind[id] > 0) StrAppend(&text, "%", id, " behind %", copies.behind[id], "\n");
  }
  return text + Print(Fuse(*other, true, copies));
}

std::string PrintDuplicated(const Graph& graph) {
  const std::optional<Duplicated> other = Duplicate(graph, Fuse(graph));
  return other ? Print(other->graph) + Print(other->grouping) : "as it was\n";
}

// Of groups of one node each, as they were written.
std::string PrintOrdered(const Graph& graph) {
  const std::optional<Grouping> other = OrderByMemory(graph, Fuse(graph, false), 0);
  return other ? Print(*other) : "as it was\n";
}

std::string PrintPlaced(const Graph& graph) {
  Graph placed = graph;
  const Status status = PlaceOperands(&placed);
  return status.ok() ? Print(placed) : status.ToString();
}

// Every GPU is there and has no memory: graphs name it, nothing runs.
class NamedGpus final : public Backend {
 public:
  std::string_view name() const override { return "cuda"; }
  int most() const override { return kMaxDevices; }
  Kernels kernels() const override { return {.long_rows = true}; }
  Runs Where(OpId op) const override { return ClassOf(op).gpu; }
};

struct Stage {
  const char* name;
  std::string (*print)(const Graph&);
};
void PrintTo(const Stage& stage, std::ostream* out) { *out << stage.name; }

class Stages : public testing::TestWithParam<Stage> {
 protected:
  static void SetUpTestSuite() { RegisterBackend(DeviceKind::kCuda, new NamedGpus); }
};

TEST_P(Stages, Goldens) {
  constexpr std::string_view kDivider = "---\n";
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(StrCat(FRAZIL_JIT_GOLDENS, "/", GetParam().name))) {
    ++files;
    std::stringstream stream;
    stream << std::ifstream(entry.path()).rdbuf();
    const std::string text = stream.str();
    const size_t divider = text.find(kDivider);
    const std::string before = text.substr(0, divider);
    const auto graph = Parse(before);
    ASSERT_TRUE(graph.ok()) << entry.path() << graph.status();
    ASSERT_TRUE(Verify(*graph).ok()) << entry.path() << Verify(*graph);
    const std::string after = GetParam().print(*graph);
    if (std::getenv("FRAZIL_UPDATE_GOLDENS")) {
      std::ofstream(entry.path()) << before << kDivider << after;
    } else {
      ASSERT_NE(divider, std::string::npos) << entry.path() << " has no second half";
      EXPECT_EQ(after, text.substr(divider + kDivider.size())) << entry.path();
    }
  }
  EXPECT_GT(files, 0);
}

INSTANTIATE_TEST_SUITE_P(, Stages,
                         testing::Values(Stage{"fuse", PrintFused},
                                         Stage{"recompute", PrintRecomputed},
                                         Stage{"duplicate", PrintDuplicated},
                                         Stage{"order", PrintOrdered}, Stage{"place", PrintPlaced}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace frazil::jit
