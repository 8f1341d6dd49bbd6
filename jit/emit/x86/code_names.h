// Names of generated code, for tools that look from outside, each behind a switch (core/config.def):
// a map of names for perf (FRAZIL_PERF=1), perf's jitdump, with the code and the user's lines
// (FRAZIL_PERF=jitdump), and GDB's JIT interface, with frames (FRAZIL_GDB=1). Told by the kernel
// cache. Invariant: with all switches off nothing is kept or written; what GDB was told is taken
// back before the code goes.
#pragma once

#include <string>
#include <string_view>

namespace frazil::jit {

// Whether lines are worth finding out.
bool WantsCodeLines();

// `lines`: the user's, "train.py:12 train.py:13", or empty.
void NameCode(std::string_view code, std::string_view name, std::string_view lines);
// Before the code is freed.
void ForgetCode(std::string_view code);

}  // namespace frazil::jit
