// Whether an instruction or a call may show which tensors are one object: `is`, keys of dicts and
// sets, == of what holds them, functions that nobody knows. Called by watch.cc, for loops of exported
// programs (tracer/while_loop.h), whose states leave out which object holds a tensor. Invariant: what
// is not known to show nothing is taken to show it; asking runs no code of the program's.
#pragma once

#include "bindings/python/py.h"

namespace frazil::python {

// Whether there is a tensor in it, or may be.
bool HoldsTensor(PyObject* object, int depth = 0);

// Of C code: what is written in Python is looked at itself.
bool CallTellsApart(PyObject* callable, PyObject* const* arguments, int count);

bool ComparisonTellsApart(PyObject* a, PyObject* b);  // ==, <, ...
bool OperatorTellsApart(PyObject* a, PyObject* b);    // &, |, ... of sets and dicts

}  // namespace frazil::python
