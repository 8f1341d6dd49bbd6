// What NumPy and JAX ask a tensor for when it is an operand of theirs. Called by tensor_methods.cc.
// Invariant: a ufunc or function of tensors is the one of frazil that frazil._ufuncs or
// frazil._functions finds for it.
#pragma once

#include "bindings/python/py.h"

namespace frazil::python {

// x.__array_ufunc__(ufunc, method, *inputs, **options)
PyObject* ArrayUfunc(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
// x.__array_function__(function, types, args, kwargs)
PyObject* ArrayFunction(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
// x.__jax_array__()
PyObject* JaxArray(PyObject* self, PyObject*);

}  // namespace frazil::python
