// From Status to Python exceptions. Called wherever the bindings meet a Status.
// Invariant: the message arrives as it is, except for the function's name (ErrorName); the
// exception's type is the status's ErrorKind.
#pragma once

#include "bindings/python/py.h"
#include "core/status.h"

namespace frazil::python {

// frazil.NpuFault.
PyObject* NpuFaultType();
// frazil.linalg.LinAlgError, a ValueError.
PyObject* LinAlgErrorType();

// Sets the exception and returns null, so that callers can `return Raise(status)`.
PyObject* Raise(const Status& status);
// The same for slots that return int.
inline int RaiseInt(const Status& status) {
  Raise(status);
  return -1;
}

// While it lives, an error that leaves the scope gets the name of the function that was called in
// place of the op that failed inside it. The outermost name wins: it comes last.
class ErrorName {
 public:
  explicit ErrorName(const char* name) : name_(name) {}
  ErrorName(const ErrorName&) = delete;
  ErrorName& operator=(const ErrorName&) = delete;
  ~ErrorName() {
    if (__builtin_expect(PyErr_Occurred() != nullptr, 0)) Rename();
  }

 private:
  void Rename() const;

  const char* name_;
};

}  // namespace frazil::python
