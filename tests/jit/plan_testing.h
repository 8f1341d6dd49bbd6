// Plans of graphs as text, compiled with the switches that find most: verified, and side by side or
// computed again wherever that is possible. Used by the tests of plans. Invariant: what does not
// parse, compile or run fails the test.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "jit/plan/compile.h"
#include "tests/jit/graph_gen.h"

namespace frazil::jit {

inline Graph MustParse(std::string_view text) {
  auto graph = Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

inline CompileSettings Settings(std::string_view passes) {
  CompileSettings settings;
  settings.passes = *PassSwitches::FromText(passes);
  settings.verify = true;
  settings.worth_recomputing = 0;  // as often as possible
  settings.worth_ordering = 0;
  settings.always_branch = true;
  return settings;
}

inline std::shared_ptr<const Plan> MustCompile(Graph graph, const CompileOptions& options = {},
                                               std::string_view passes = "") {
  const std::string text = Print(graph);
  auto plan = CompileWith(std::move(graph), options, Settings(passes));
  EXPECT_TRUE(plan.ok()) << plan.status() << "\n" << text;
  return plan.ok() ? *std::move(plan) : nullptr;
}

inline std::vector<ValueRef> MustRun(const Plan& plan, size_t outputs,
                                     absl::Span<const ValueRef> inputs) {
  std::vector<ValueRef> out(outputs);
  const Status status = plan.Run(Pointers(inputs), absl::MakeSpan(out));
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

}  // namespace frazil::jit
