// Makes core's ops run: sets the eager door, the tape and the tracer's compiler. Called by the
// entry points (Python module, frazil.h, tests). Invariant: may be called any number of times, from
// any thread, before or after ops have run.
#pragma once

namespace frazil::jit {

void RegisterJit();

}  // namespace frazil::jit
