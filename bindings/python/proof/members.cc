#include "bindings/python/proof/members.h"

#include "bindings/python/functions.h"
#include "bindings/python/proof/python_slots.h"

namespace frazil::python {
namespace {

// What dataclasses keep for themselves: nobody writes to it.
bool IsOfDataclass(PyObject* name) {
  return PyUnicode_CompareWithASCIIString(name, "__dataclass_fields__") == 0 ||
         PyUnicode_CompareWithASCIIString(name, "__dataclass_params__") == 0;
}

// Whether its descriptors' __get__ or __set__ is a function of Python's.
bool IsWrittenInPython(const PyTypeObject* type) {
  const PythonSlots& python = SlotsOfPython();
  return !python.get || (type->tp_descr_get && type->tp_descr_get == python.get) ||
         (type->tp_descr_set && type->tp_descr_set == python.set);
}

// What a static method, class method or property calls.
bool AddCallable(World* world, PyObject* wrapper, const char* part, const std::string& where) {
  const Object called = Object::Steal(PyObject_GetAttrString(wrapper, part));
  if (!called) return PyErr_Clear(), true;
  return PyFunction_Check(called.get()) || world->AddObject(called.get(), where);
}

bool AddMember(World* world, PyObject* value, PyObject* name, const std::string& where) {
  if (PyFunction_Check(value) || FunctionOfTraced(value)) return true;
  PyTypeObject* type = Py_TYPE(value);
  if (IsWrittenInPython(type)) return world->AddObject(value, where);
  if (PyType_IsSubtype(type, &PyStaticMethod_Type) || PyType_IsSubtype(type, &PyClassMethod_Type))
    return AddCallable(world, value, "__func__", where);
  if (PyType_IsSubtype(type, &PyProperty_Type)) {
    return AddCallable(world, value, "fget", where) && AddCallable(world, value, "fset", where) &&
           AddCallable(world, value, "fdel", where);
  }
  return type->tp_descr_get || !IsSpecial(name) || IsOfDataclass(name) ||
         world->AddObject(value, where);
}

bool AddOfClass(World* world, PyTypeObject* type, PyObject* name, const std::string& where) {
  PyObject* mro = type->tp_mro;
  for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    if (!(base->tp_flags & Py_TPFLAGS_HEAPTYPE)) continue;
    PyObject* value = PyDict_GetItemWithError(base->tp_dict, name);
    if (value && !AddMember(world, value, name, where)) return false;
  }
  return true;
}

// The object's own attribute comes before what its class has, but for data descriptors.
bool HasOwn(PyObject* owner, PyObject* name) {
  PyTypeObject* type = Py_TYPE(owner);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || PyType_Check(owner)) return false;
  PyObject* found = _PyType_Lookup(type, name);
  if (!found || Py_TYPE(found)->tp_descr_set) return false;
  PyObject* attributes = AttributesOf(owner);
  return attributes && PyDict_GetItemWithError(attributes, name);
}

}  // namespace

bool AddSuperMembers(World* world, PyObject* self, PyObject* name, const std::string& where) {
  return AddOfClass(world, Py_TYPE(self), name, where) &&
         (!PyType_Check(self) ||
          AddOfClass(world, reinterpret_cast<PyTypeObject*>(self), name, where));
}

bool AddMembers(World* world, PyObject* owner, PyObject* name, const std::string& where) {
  if (HasOwn(owner, name)) return true;
  if (Py_IS_TYPE(owner, &PySuper_Type)) {
    const Object self = Object::Steal(PyObject_GetAttrString(owner, "__self__"));
    if (!self) return PyErr_Clear(), true;
    return AddSuperMembers(world, self.get(), name, where);
  }
  return AddSuperMembers(world, owner, name, where);
}

}  // namespace frazil::python
