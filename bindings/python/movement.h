// The functions that are methods of the tensor too. Called by movement_module.cc, ops_module.cc and
// tensor_methods.cc.
#pragma once

#include "bindings/python/args.h"
#include "core/tensor.h"

namespace frazil::python {

#define FZ_FAST(name) \
  PyObject* name(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames)
FZ_FAST(MoveAstype);
FZ_FAST(MoveBroadcastTo);
FZ_FAST(MoveExpandDims);
FZ_FAST(MoveFlatten);
FZ_FAST(MoveFlip);
FZ_FAST(MoveNonzero);
FZ_FAST(MoveReshape);
FZ_FAST(MoveSqueeze);
FZ_FAST(MoveSwapaxes);
FZ_FAST(MoveTake);

// Indices, or another operand that may be a list: a tensor of the object, or `own`. Null: an error is
// set.
const Tensor* IndicesOf(PyObject* object, const char* op, Tensor* own);

}  // namespace frazil::python
