// Programs as the tests of the tracer write them: as text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "tests/tracer/fakes.h"
#include "tracer/program_text.h"
#include "tracer/script.h"

namespace frazil::tracer {

inline Program Parsed(std::string_view text) {
  auto program = ParseProgram(text);
  if (!program.ok()) std::fprintf(stderr, "%s\n", program.status().ToString().c_str());
  FZ_CHECK(program.ok());
  return *std::move(program);
}

inline std::shared_ptr<const LearntCall> Learnt(Program program) {
  auto learnt = std::make_shared<LearntCall>();
  learnt->planned.resize(program.marks.size());
  learnt->program = std::move(program);
  return learnt;
}

inline std::string Text(const Program& program) { return *Print(program); }

}  // namespace frazil::tracer
