// The command line of saved programs: frazil-run model.frz --input x.npy --output y.npy, --bench,
// --profile. Called by run_main.cc and its tests. Invariant: reads and writes the files it is told,
// nothing else; an option that it does not know is an error.
#pragma once

#include <string>

#include "absl/types/span.h"
#include "bindings/cli/outcome.h"

namespace frazil::cli {

Outcome RunProgram(absl::Span<const std::string> args);

}  // namespace frazil::cli
