// Bytes that leave: the buffer protocol, NumPy arrays, DLPack. Called by the tensor's methods.
// Invariant: an export holds the value and its storage, so that nothing writes in place what
// someone outside reads. Buffers are read-only; DLPack's consumers, who may write, get copies or
// borrow what nobody else holds.
#pragma once

#include "bindings/python/tensor_type.h"

namespace frazil::python {

// np.asarray(t), also for bfloat16 (through ml_dtypes).
PyObject* ToNumPy(PyObject* self);

// A value in row-major order without gaps, for callers that want plain bytes.
StatusOr<ValueRef> DenseBytes(const Tensor& x);

// Methods, as FastFunctions with self as the first argument.
PyObject* ExportArray(PyObject*, PyObject* const* args, Py_ssize_t nargs,
                      PyObject* kwnames);  // __array__
PyObject* ExportDLPack(PyObject*, PyObject* const* args, Py_ssize_t nargs,
                       PyObject* kwnames);  // __dlpack__

}  // namespace frazil::python
