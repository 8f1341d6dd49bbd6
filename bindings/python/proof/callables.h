// Which callables a body may call and still be skipped: those that do nothing but compute on what
// they are given, change what they are given, and call Python code, which is watched itself. Called
// by watch.cc before each call. Invariant: what is not listed is not harmless; asking runs no code.
#pragma once

#include <string>

#include "bindings/python/py.h"

namespace frazil::python {

// Empty if calling it is harmless; else why it is not. `arguments` (`count` of them, names of
// keywords not included) are those of the call.
std::string WhyNotCall(PyObject* callable, PyObject* const* arguments, Py_ssize_t count);

// Empty if the type's objects can be written as text: what their text says depends on their value.
std::string WhyNotFormat(PyObject* object);

}  // namespace frazil::python
