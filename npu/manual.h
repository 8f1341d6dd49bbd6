// The manual of the instruction set. Called by the command line (`frazil-npu manual`, which writes
// docs/npu-isa.md) and the test that compares the two. Invariant: everything that isa.def and
// faults.def say is taken from there.
#pragma once

#include <string>

namespace frazil::npu {

std::string Manual();  // Markdown

}  // namespace frazil::npu
