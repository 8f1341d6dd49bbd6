#include "bindings/python/nest_words.h"

#include "bindings/python/dtype_type.h"

namespace frazil::python {

bool IsFixed(PyObject* o) {
  static PyObject* const enum_type = [] {
    Object module = Object::Steal(PyImport_ImportModule("enum"));
    return module ? PyObject_GetAttrString(module.get(), "Enum") : nullptr;
  }();
  static PyTypeObject* const dtype_type = [] {
    Object dtype = Object::Steal(DTypeObject(DType::kF32));
    return Py_TYPE(dtype.get());
  }();
  if (PyCFunction_Check(o)) {
    PyObject* self = PyCFunction_GET_SELF(o);  // a method's holds state
    return !self || PyModule_Check(self);
  }
  return Py_IS_TYPE(o, dtype_type) || o == Py_Ellipsis ||
         (enum_type && PyObject_IsInstance(o, enum_type) == 1);
}

PyObject* AttributesOf(PyObject* o) {
  Object dict;
  if (Py_TYPE(o)->tp_dictoffset != 0) dict = Object::Steal(PyObject_GenericGetDict(o, nullptr));
  if (!dict) PyErr_Clear();
  return dict && PyDict_GET_SIZE(dict.get()) > 0 ? dict.get() : nullptr;
}

PyObject* FieldsOf(PyObject* o) {
  PyObject* dict = Py_TYPE(o)->tp_dict;
  static PyObject* const name = PyUnicode_InternFromString("__dataclass_fields__");
  PyObject* fields = dict ? PyDict_GetItemWithError(dict, name) : nullptr;
  if (!fields) {
    // Inherited.
    Object found = Object::Steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(o)), name));
    if (!found) PyErr_Clear();
    fields = found.get();
  }
  return fields && PyDict_Check(fields) ? fields : nullptr;
}

}  // namespace frazil::python
