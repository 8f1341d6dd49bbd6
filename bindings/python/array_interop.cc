#include "bindings/python/array_interop.h"

#include "bindings/python/export.h"
#include "bindings/python/tensor_type.h"

namespace frazil::python {
namespace {

// Of the module frazil._ufuncs, which loads NumPy; they live for ever.
struct Ufuncs {
  PyObject* call;     // any ufunc's method
  PyObject* direct;   // {ufunc: function} of those that were called plainly before
  PyObject* ndarray;  // NumPy's type
};

const Ufuncs* LoadUfuncs() {
  static Ufuncs loaded = {};
  if (loaded.ndarray) return &loaded;
  Object module = Object::Steal(PyImport_ImportModule("frazil._ufuncs"));
  if (!module) return nullptr;
  Ufuncs found = {PyObject_GetAttrString(module.get(), "call"),
                  PyObject_GetAttrString(module.get(), "DIRECT"),
                  PyObject_GetAttrString(module.get(), "NDARRAY")};
  if (!found.call || !found.direct || !found.ndarray) return nullptr;
  loaded = found;
  return &loaded;
}

bool IsPlain(PyObject* operand, PyObject* ndarray) {
  return IsTensor(operand) || reinterpret_cast<PyObject*>(Py_TYPE(operand)) == ndarray ||
         PyFloat_CheckExact(operand) || PyLong_CheckExact(operand);
}

}  // namespace

PyObject* ArrayUfunc(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const Ufuncs* ufuncs = LoadUfuncs();
  if (!ufuncs) return nullptr;
  // Every operator between an array and a tensor comes here: ufunc, "__call__" and the operands.
  const bool plainly = !kwnames && nargs > 2 && PyUnicode_Check(args[1]) &&
                       PyUnicode_CompareWithASCIIString(args[1], "__call__") == 0;
  PyObject* function = plainly ? PyDict_GetItemWithError(ufuncs->direct, args[0]) : nullptr;
  for (Py_ssize_t i = 2; function && i < nargs; ++i) {
    if (!IsPlain(args[i], ufuncs->ndarray)) function = nullptr;
  }
  if (function)
    return PyObject_Vectorcall(function, args + 2, static_cast<size_t>(nargs - 2), nullptr);
  if (PyErr_Occurred()) return nullptr;
  return PyObject_Vectorcall(ufuncs->call, args, static_cast<size_t>(nargs), kwnames);
}

PyObject* ArrayFunction(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static PyObject* call = nullptr;  // of the module, which loads NumPy; it lives for ever
  if (!call) {
    Object module = Object::Steal(PyImport_ImportModule("frazil._functions"));
    if (!module || !(call = PyObject_GetAttrString(module.get(), "call"))) return nullptr;
  }
  return PyObject_Vectorcall(call, args, static_cast<size_t>(nargs), kwnames);
}

// The array may share the elements: neither library changes them.
PyObject* JaxArray(PyObject* self, PyObject*) {
  Object module = Object::Steal(PyImport_ImportModule("jax.numpy"));
  Object array = module ? Object::Steal(ToNumPy(self)) : Object();
  return array ? PyObject_CallMethod(module.get(), "asarray", "O", array.get()) : nullptr;
}

}  // namespace frazil::python
