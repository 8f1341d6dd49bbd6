// Which callables a body may call and still be skipped: those that do nothing but compute on what
// they are given, change what they are given, and call Python code, which is watched itself. Called
// by watch.cc before each call. Invariant: what is not listed is not harmless; asking runs no code.
#pragma once

#include <string>
#include <string_view>

#include "bindings/python/py.h"

namespace frazil::python {

// Empty if calling it is harmless; else why it is not. `arguments` (`count` of them, names of
// keywords not included) are those of the call.
std::string WhyNotCall(PyObject* callable, PyObject* const* arguments, Py_ssize_t count);

// Empty unless 'is' may tell two objects of equal value apart.
std::string WhyNotIs(PyObject* a, PyObject* b);

// Calling it runs nothing but Python code: a function, or a class whose objects functions make.
bool RunsPython(PyObject* callable);

// What is written to its attributes is seen by everybody: a module, a class, a function.
bool IsShared(PyObject* object);

// The module of a built-in function as it says itself; empty if it does not.
std::string_view ModuleOf(PyObject* function);

// The name of a function of the module builtins, else empty.
std::string_view BuiltinName(PyObject* callable);

// Whether a format asks how numbers are written in the user's language.
bool AsksLocale(PyObject* format);

// Empty if the type's objects can be written as text: what their text says depends on their value.
std::string WhyNotFormat(PyObject* object);

}  // namespace frazil::python
