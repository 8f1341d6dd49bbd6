// From Status to Python exceptions. Called wherever the bindings meet a Status.
// Invariant: the message arrives as it is; the exception's type is the status's ErrorKind.
#pragma once

#include "bindings/python/py.h"
#include "core/status.h"

namespace frazil::python {

// Sets the exception and returns null, so that callers can `return Raise(status)`.
PyObject* Raise(const Status& status);
// The same for slots that return int.
inline int RaiseInt(const Status& status) {
  Raise(status);
  return -1;
}

}  // namespace frazil::python
