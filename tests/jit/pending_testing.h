// Steps of plans as the tests of the planner write them: launches of kernels given as text, calls
// of libraries that only say how long they take. Used by tests alone.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "jit/plan/pending.h"
#include "tests/jit/plan_testing.h"

namespace frazil::jit {

// rows of one axis or two; strides in bytes, of each buffer and axis.
inline Launch MadeLaunch(std::string_view kernel, std::vector<int64_t> extents,
                         std::vector<int64_t> strides) {
  auto parsed = kir::Parse(kernel);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  Launch launch;
  launch.kernel = *std::move(parsed);
  launch.buffers.resize(launch.kernel.buffers.size(), {0, 0});
  launch.extents = std::move(extents);
  launch.strides = std::move(strides);
  const int columns = launch.kernel.rank - 1;
  launch.cols = launch.extents[columns];
  for (int a = 0; a < columns; ++a) launch.rows *= launch.extents[a];
  return launch;
}

class SaidCall final : public LibraryCall {
 public:
  explicit SaidCall(int64_t work, int64_t rows = 0) : work_(work), rows_(rows) {}
  Status Run(absl::Span<char* const>, char*) const override { return absl::OkStatus(); }
  int64_t rows() const override { return rows_; }
  int64_t work() const override { return work_; }
  std::string text() const override { return "said"; }

 private:
  int64_t work_, rows_;
};

inline Launch& LaunchOf(PendingStep* step) { return std::get<Launch>(step->what); }

inline PendingStep KernelOf(int64_t work, std::vector<Touch> touches) {
  PendingStep step;
  LaunchOf(&step).work = work;
  step.touches = std::move(touches);
  step.node = 0;
  return step;
}

// node: of the graph that the tests have.
inline PendingStep CallOf(int32_t node, int64_t work, std::vector<Touch> touches,
                          int64_t rows = 0) {
  PendingStep step;
  step.what = std::make_unique<SaidCall>(work, rows);
  step.touches = std::move(touches);
  step.node = node;
  return step;
}

template <typename... Steps>
std::vector<PendingStep> StepsOf(Steps... steps) {
  std::vector<PendingStep> all;
  (all.push_back(std::move(steps)), ...);
  return all;
}

inline Touch Reads(int32_t memory) { return {memory, false}; }
inline Touch Writes(int32_t memory) { return {memory, true}; }

}  // namespace frazil::jit
