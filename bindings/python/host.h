// Python as the host of long work (core/threads/long_work.h): the GIL and the interpreter's
// signals. Called when the module starts and by Raise. Invariant: what a signal handler raised is
// kept until the status of the interrupted work arrives at the bindings.
#pragma once

#include "bindings/python/py.h"
#include "core/status.h"

namespace frazil::python {

void RegisterHost();
// Raises what interrupted the work: KeyboardInterrupt, or whatever a signal handler raised.
void RaiseInterrupt();

// Keeps this thread's Python exception until its status arrives at the bindings again.
Status KeepRaised();
void RaiseKept();
bool IsKept(PyObject* exception);  // one that was raised again last: its message is whole

}  // namespace frazil::python
