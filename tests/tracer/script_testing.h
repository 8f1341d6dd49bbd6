// A fixture for tests of scripts: paths are built with the fake compiler and run on cells.
#pragma once

#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "tests/tracer/paths.h"
#include "tracer/script.h"

namespace frazil::tracer {

using Paths = std::vector<std::shared_ptr<const PathRecord>>;
using Elements = std::vector<std::vector<int32_t>>;

inline std::shared_ptr<const PathRecord> Shared(PathRecord path) {
  return std::make_shared<const PathRecord>(std::move(path));
}

class ScriptTest : public testing::Test {
 protected:
  std::shared_ptr<const Script> Build(Paths paths, const Script* previous = nullptr) {
    auto script = Script::Build(std::move(paths), previous);
    EXPECT_TRUE(script.ok()) << script.status();
    return *std::move(script);
  }
  // The elements of what comes out; empty if the body has to run.
  Elements Run(const Script& script, std::vector<Tensor>* cells) {
    std::vector<Tensor*> pointers;
    for (Tensor& t : *cells) pointers.push_back(&t);
    absl::InlinedVector<Tensor, 4> outputs;
    int kernels = 0;
    const auto path = script.Run(pointers, &outputs, &kernels);
    EXPECT_TRUE(path.ok()) << path.status();
    Elements elements;
    for (const Tensor& t : outputs) elements.push_back(ElementsOf(t));
    EXPECT_TRUE(*path || elements.empty());
    return elements;
  }
  const FakeCompiler::Request& Asked(size_t i) const { return fakes_.compiler.requests.at(i); }
  size_t asked() const { return fakes_.compiler.requests.size(); }

  Fakes fakes_;
};

// Negates cell 0; where cell 1, a number, was 1 negates again; otherwise adds cell 0.
inline SegmentRecord Begin(uint64_t outcome) {
  return Reading(MadeSegment({MadeCall(OpId::k_negative, {-1}, 1)}, {Cell(0)}), Cell(1), outcome);
}
inline std::shared_ptr<const PathRecord> One() {
  return Shared(MadePath(
      {Begin(1), MadeSegment({MadeCall(OpId::k_negative, {-1}, 1)}, {MadeBy(0)})}, {MadeBy(1)}));
}
inline std::shared_ptr<const PathRecord> Two() {
  return Shared(
      MadePath({Begin(2), MadeSegment({MadeCall(OpId::k_add, {-1, -2}, 2)}, {MadeBy(0), Cell(0)})},
               {MadeBy(1), MadeBy(0)}));
}

// Cell 0 is replaced by its sum with cell 1.
inline PathRecord Step() {
  PathRecord path =
      MadePath({MadeSegment({MadeCall(OpId::k_add, {-1, -2}, 2)}, {Cell(0), Cell(1)})}, {});
  path.writes = {{0, {MadeBy(0), {}}}};
  return path;
}

}  // namespace frazil::tracer
