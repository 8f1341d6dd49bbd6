// The program of a composite's body, found without running it: its ops are inferred, and their
// results stay empty. Called where running it op by op, as BodyRecorder does, would take much
// memory: by the session and the eager door.
// Invariant: it is the program that BodyRecorder writes down while the body runs.
#pragma once

#include <memory>

#include "tracer/program.h"

namespace frazil::tracer {

// Null if the body fails, needs data, or reads arrays that are not its operands.
std::shared_ptr<const Program> ProgramWithoutData(const CompositeCall& call, CompositeBody body,
                                                  size_t outputs);

}  // namespace frazil::tracer
