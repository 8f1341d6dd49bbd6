// The instructions of this thread as they run, told one by one to a Watch: sys.monitoring from
// Python 3.12 on, a C trace function before. Called by watch.cc. Invariants: starting fails where
// anybody else watches the interpreter (a debugger, coverage, a profiler); stopping leaves
// everything as it was; other threads are not told of.
#pragma once

namespace frazil::python {

class Watch;

// Whether a debugger, a profiler or a coverage tool wants to see what this thread runs.
bool IsWatchedByOthers();

// At most one at a time.
bool StartInstructions(Watch* watch);
void StopInstructions();

}  // namespace frazil::python
