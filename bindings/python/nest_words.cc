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
         (enum_type && PyType_IsSubtype(Py_TYPE(o), reinterpret_cast<PyTypeObject*>(enum_type)));
}

PyObject* AttributesOf(PyObject* o) {
  Object dict;
  if (Py_TYPE(o)->tp_dictoffset != 0) dict = Object::Steal(PyObject_GenericGetDict(o, nullptr));
  if (!dict) PyErr_Clear();
  return dict && PyDict_GET_SIZE(dict.get()) > 0 ? dict.get() : nullptr;
}

PyObject* FieldsOf(PyObject* o) {
  static PyObject* const name = PyUnicode_InternFromString("__dataclass_fields__");
  PyObject* fields = _PyType_Lookup(Py_TYPE(o), name);
  return fields && PyDict_Check(fields) ? fields : nullptr;
}

Object Attribute(PyObject* o, PyObject* name) {
  static PyObject* const reader = PyUnicode_InternFromString("__getattribute__");
  PyTypeObject* type = Py_TYPE(o);
  if (!PyUnicode_CheckExact(name) ||
      _PyType_Lookup(type, reader) != _PyType_Lookup(&PyBaseObject_Type, reader)) {
    return Object();
  }
  PyObject* found = _PyType_Lookup(type, name);
  if (found && Py_IS_TYPE(found, &PyMemberDescr_Type)) {  // one of __slots__
    Object value = Object::Steal(PyObject_GenericGetAttr(o, name));
    if (!value) PyErr_Clear();
    return value;
  }
  PyObject* attributes = AttributesOf(o);
  if (!attributes || (found && Py_TYPE(found)->tp_descr_set)) return Object();
  return Object::Share(PyDict_GetItemWithError(attributes, name));
}

bool IsPlainKey(PyObject* key) {
  return PyUnicode_CheckExact(key) || PyLong_CheckExact(key) || PyFloat_CheckExact(key) ||
         PyBool_Check(key) || key == Py_None;
}

}  // namespace frazil::python
