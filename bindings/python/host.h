// Python as the host of long work (core/threads/long_work.h): the GIL and the interpreter's
// signals. Called when the module starts and by Raise. Invariant: what a signal handler raised is
// kept until the status of the interrupted work arrives at the bindings.
#pragma once

namespace frazil::python {

void RegisterHost();
// Raises what interrupted the work: KeyboardInterrupt, or whatever a signal handler raised.
void RaiseInterrupt();

}  // namespace frazil::python
