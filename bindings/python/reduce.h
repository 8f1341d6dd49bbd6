// The shape of every reduction's Python function and method. Called by ops_module.cc for the
// table's rows, and by tensor_methods.cc. Methods take NumPy's arguments, so that
// np.sum(t) and the like, which call them, work.
#pragma once

#include "bindings/python/autocast.h"
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
  if (!x || !ToAxes(a[1], name.text, &axes) ||
      !ToBool(a[2], name.text, "keepdims", false, &keepdims))
    return nullptr;
  return Wrap(reduce(*x, axes, keepdims));
}

// In a given dtype: elements are converted before they are reduced.
template <typename Function, typename... Rest>
Tensor ReduceIn(const std::optional<DType>& dtype, Function reduce, const Tensor& x,
                const Rest&... rest) {
  if (!dtype) return reduce(x, rest...);
  return ops::astype(reduce(ops::astype(x, *dtype), rest...), *dtype);
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
      !ToBool(a[3], name.text, "keepdims", false, &keepdims)) {
    return nullptr;
  }
  return Wrap(ReduceIn(dtype, reduce, *x, axes, keepdims));
}

// NumPy's argument for a result in memory that exists.
inline bool NoOut(PyObject* out, const char* op) {
  if (!Given(out)) return true;
  Raise(TypeError("[", std::string(op), "] out= must be None: results are new tensors."));
  return false;
}

// How much less than n a variance is divided by; ddof is NumPy's name of correction.
inline bool ToCorrection(PyObject* correction, PyObject* ddof, const char* op, double* out) {
  *out = 0;
  if (correction && ddof) {
    Raise(TypeError("[", std::string(op), "] takes correction or ddof, not both."));
    return false;
  }
  PyObject* given = correction ? correction : ddof;
  return !given || ToDouble(given, op, correction ? "correction" : "ddof", out);
}

// x.name(axis=None, out=None, *, keepdims=False)
template <OpName name, ReduceFunction reduce>
PyObject* ReductionMethod(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  FZ_ARGS(4, std::string(name.text) + "(self, axis=None, out=None, *, keepdims=False)");
  Axes axes;
  bool keepdims;
  if (!ToAxes(a[1], name.text, &axes) || !NoOut(a[2], name.text) ||
      !ToBool(a[3], name.text, "keepdims", false, &keepdims))
    return nullptr;
  return Wrap(reduce(Cast(RuleNow(name.text), CellOf(a[0])), axes, keepdims));
}

// x.name(axis=None, dtype=None, out=None, *, keepdims=False)
template <OpName name, ReduceFunction reduce>
PyObject* ReductionToMethod(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  FZ_ARGS(5, std::string(name.text) + "(self, axis=None, dtype=None, out=None, *, keepdims=False)");
  Axes axes;
  std::optional<DType> dtype;
  bool keepdims;
  if (!ToAxes(a[1], name.text, &axes) || !ToOptionalDType(a[2], name.text, &dtype) ||
      !NoOut(a[3], name.text) || !ToBool(a[4], name.text, "keepdims", false, &keepdims)) {
    return nullptr;
  }
  const Tensor x = Cast(RuleNow(name.text), CellOf(a[0]));
  return Wrap(ReduceIn(dtype, reduce, x, axes, keepdims));
}

}  // namespace frazil::python
