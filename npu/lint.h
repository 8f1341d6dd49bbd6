// What will go wrong in a program, found without running it: follows constants and flags along all
// paths that constants allow. Called by the command line and tests of the emitter. Invariant: an
// error is one that every run reaching that instruction meets; what depends on data is not judged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "npu/fault.h"
#include "npu/preset.h"

namespace frazil::npu {

struct Finding {
  std::optional<FaultCode> code;  // of the fault that running would raise; none: a warning
  int64_t pc = -1;                // -1: the whole program
  std::string text;

  bool operator==(const Finding&) const = default;
};

// The program must pass Validate. In ascending pc, those of the whole program first.
std::vector<Finding> Lint(const Program& program, const Preset& preset);

// What Validate says and the errors of Lint, a line each; empty: the program is right as far as can
// be told without running it.
std::string Errors(const Program& program, const Preset& preset);

// "error at pc 3, WAIT VE>LD, #0: FLAG_ORDER: ..." in one line.
std::string Text(const Finding& finding, const Program& program);

}  // namespace frazil::npu
