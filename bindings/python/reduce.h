// The shape of every reduction's Python function. Called by ops_module.cc for the table's rows and
// composites, and by tensor_methods.cc.
#pragma once

#include "bindings/python/convert.h"
#include "bindings/python/dtype_type.h"

namespace frazil::python {

using ReduceFunction = Tensor (*)(const Tensor& x, const Axes& axes, bool keepdims);

// name(x, /, axis=None, *, keepdims=False)
template <OpName name, ReduceFunction reduce>
PyObject* Reduction(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  FZ_ARGS(3, std::string(name.text) + "(x, /, axis=None, *, keepdims=False)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], name.text, &own);
  Axes axes;
  bool keepdims;
  if (!x || !ToAxes(a[1], name.text, &axes) || !ToBool(a[2], false, &keepdims)) return nullptr;
  return Wrap(reduce(*x, axes, keepdims));
}

// name(x, /, axis=None, *, dtype=None, keepdims=False)
template <OpName name, ReduceFunction reduce>
PyObject* ReductionTo(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  FZ_ARGS(4, std::string(name.text) + "(x, /, axis=None, *, dtype=None, keepdims=False)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], name.text, &own);
  Axes axes;
  std::optional<DType> dtype;
  bool keepdims;
  if (!x || !ToAxes(a[1], name.text, &axes) || !ToOptionalDType(a[2], name.text, &dtype) ||
      !ToBool(a[3], false, &keepdims)) {
    return nullptr;
  }
  return Wrap(dtype ? ops::astype(reduce(ops::astype(*x, *dtype), axes, keepdims), *dtype)
                    : reduce(*x, axes, keepdims));
}

}  // namespace frazil::python
