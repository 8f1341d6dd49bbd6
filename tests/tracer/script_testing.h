// A fixture for tests of scripts: programs are built with the fake compiler and run on cells.
#pragma once

#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "tests/tracer/programs.h"

namespace frazil::tracer {

using Paths = std::vector<std::shared_ptr<const LearntCall>>;
using Elements = std::vector<std::vector<int32_t>>;

class ScriptTest : public testing::Test {
 protected:
  std::shared_ptr<const Script> Build(Paths paths, const Script* previous = nullptr) {
    auto script = Script::Build(std::move(paths), previous);
    EXPECT_TRUE(script.ok()) << script.status();
    return *std::move(script);
  }
  std::shared_ptr<const Script> Build(Program program) {
    return Build(Paths{Learnt(std::move(program))});
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

// Over two cells of which the second is a pair, or a number.
inline Program Over2(std::string_view lines) {
  return Parsed(StrCat("program (i32[2], i32[2]) {\n", lines, "}"));
}
inline Program WithNumber(std::string_view lines) {
  return Parsed(StrCat("program (i32[2], i32[]) {\n", lines, "}"));
}

// Negates cell 0; where cell 1, a number, was 1 negates again; otherwise adds cell 0.
inline Program One() {
  return WithNumber(R"(
    %0 = negative p0 : i32[2]
    number p1 is 1
    %1 = negative %0 : i32[2]
    cut
    return %1
)");
}
inline Program Two() {
  return WithNumber(R"(
    %0 = negative p0 : i32[2]
    number p1 is 2
    %1 = add %0, p0 : i32[2]
    cut
    return %1, %0
)");
}

// Cell 0 is replaced by its sum with cell 1.
inline Program Step(std::string_view mark = "cut", std::string_view more = "",
                    std::string_view outputs = "") {
  return Over2(StrCat("%0 = add p0, p1 : i32[2]\n", mark, "\n", more, "\nwrite p0 = %0\nreturn ",
                      outputs, "\n"));
}

}  // namespace frazil::tracer
