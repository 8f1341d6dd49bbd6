// The command line of the simulated NPU: frazil-npu as | dis | lint | run | report | manual.
// Called by main.cc and its tests. Invariant: reads and writes the files it is told, nothing else.
#pragma once

#include <string>

#include "absl/types/span.h"
#include "bindings/cli/outcome.h"

namespace frazil::cli {

Outcome RunNpu(absl::Span<const std::string> args);

}  // namespace frazil::cli
