// The command line of the simulated NPU: frazil-npu as | dis | lint | run | report | manual.
// Called by main.cc and its tests. Invariant: reads and writes the files it is told, nothing else.
#pragma once

#include <string>

#include "absl/types/span.h"

namespace frazil::cli {

struct Outcome {
  int status = 0;        // of the process: 1 after an error, a fault or a finding, 2: usage
  std::string out, err;  // for the standard streams
};
Outcome RunNpu(absl::Span<const std::string> args);

}  // namespace frazil::cli
