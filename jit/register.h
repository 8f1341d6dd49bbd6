// Makes core's ops run: sets the eager door, the tape and the tracer's compiler. Called by the
// entry points (Python module, frazil.h, tests). Invariant: may be called any number of times, from
// any thread, before or after ops have run.
#pragma once

namespace frazil::jit {

void RegisterJit();

// The devices alone, for tests of graphs that name them. RegisterJit does it, too.
void RegisterDevices();

}  // namespace frazil::jit
