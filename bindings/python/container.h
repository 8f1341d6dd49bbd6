// What kind of container an object is, and which children it has in which order: the one answer for
// every walk through nested arguments and results. Called by class_info.cc, which classifies
// classes, by tree_flatten.cc and tree_module.cc (fz.tree, gradients, modules, optimizers, files),
// and by nest.cc and result.cc (calls by promise, which compare more than structure). Invariant:
// asking for the kind runs no code of the user's; EachChild does so only for registered classes and
// for fields that are properties.
#pragma once

#include <cstdint>

#include "bindings/python/tensor_type.h"

namespace frazil::python {

enum class Container : uint8_t {
  kLeaf,
  kNone,
  kTuple,       // and subclasses without names
  kNamedTuple,  // a subclass of tuple with _fields
  kList,        // and subclasses
  kDict,        // and subclasses; children come in the order of the keys
  kDataclass,   // children are its fields
  kModule,      // children are its attributes (frazil.nn.Module, optimizers, generators)
  kRegistered,  // children are what the registered function says
};

Container ContainerOfInstance(PyObject* object);
// Of a class's instances, with the names of fields or items, or null.
Container KindOfInstances(PyTypeObject* type, Object* names);

inline Container ContainerOf(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  if (type == &tensor_type || type == &PyFloat_Type || type == &PyLong_Type ||
      type == &PyUnicode_Type)
    return Container::kLeaf;
  if (type == &PyTuple_Type) return Container::kTuple;
  if (type == &PyList_Type) return Container::kList;
  if (type == &PyDict_Type) return Container::kDict;
  if (o == Py_None) return Container::kNone;
  return ContainerOfInstance(o);
}

// Classes that the user told about. They live as long as the process.
struct Registration {
  PyObject* flatten;    // object -> (children, data)
  PyObject* unflatten;  // (data, children) -> object
};
const Registration* RegistrationOf(const PyTypeObject* type);  // null if there is none
// False with a Python error.
bool Register(PyObject* type, PyObject* flatten, PyObject* unflatten);

// The names of a dataclass's fields or of a named tuple's items: a tuple, or null.
inline Object NamesOf(PyTypeObject* type) {
  Object names;
  KindOfInstances(type, &names);
  return names;
}
// What flatten said: a tuple of children, and the data. False with a Python error.
bool OpenRegistered(PyObject* object, Object* children, Object* data);
// A field of a dataclass. Null with a Python error.
Object FieldOf(PyObject* object, PyObject* name);
inline bool IsOrderedDict(PyObject* o) { return !PyDict_CheckExact(o) && PyODict_Check(o); }
// The items of an OrderedDict in the order that it keeps itself.
template <typename F>
[[gnu::noinline]] bool EachOrdered(PyObject* dict, F& f) {
  const Object keys = Object::Steal(PyODict_Type.tp_iter(dict));
  while (Object key = Object::Steal(keys ? PyIter_Next(keys.get()) : nullptr)) {
    const Object value = Object::Share(PyDict_GetItemWithError(dict, key.get()));
    if (!value || !f(key.get(), value.get())) return false;
  }
  return !PyErr_Occurred();
}

// Calls f(key, child) for each child in order, until it gives false: then, and with a Python error,
// EachChild does so, too. The key is a dict's key or the name of a field or an attribute; null for
// items and for the children of registered classes. f may change the object; what runs no code of
// the user's can do without the children being held meanwhile (kHold = false).
template <bool kHold = true, typename F>
bool EachChild(PyObject* o, Container kind, F&& f) {
  switch (kind) {
    case Container::kLeaf:
    case Container::kNone:
      return true;
    case Container::kTuple:
      for (Py_ssize_t i = 0, n = PyTuple_GET_SIZE(o); i < n; ++i) {
        if (!f(static_cast<PyObject*>(nullptr), PyTuple_GET_ITEM(o, i))) return false;
      }
      return true;
    case Container::kList:
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i) {
        PyObject* item = PyList_GET_ITEM(o, i);
        const Object held = kHold ? Object::Share(item) : Object();
        if (!f(static_cast<PyObject*>(nullptr), item)) return false;
      }
      return true;
    case Container::kNamedTuple: {
      const Object names = NamesOf(Py_TYPE(o));
      const Py_ssize_t named = names ? PyTuple_GET_SIZE(names.get()) : 0;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
        if (!f(i < named ? PyTuple_GET_ITEM(names.get(), i) : nullptr, PyTuple_GET_ITEM(o, i)))
          return false;
      }
      return true;
    }
    case Container::kModule:
    case Container::kDict: {
      Object attributes;
      PyObject* dict = o;
      if (kind == Container::kModule) {
        attributes = Object::Steal(PyObject_GenericGetDict(o, nullptr));
        if (!(dict = attributes.get())) return false;
      }
      if (IsOrderedDict(dict)) return EachOrdered(dict, f);
      Py_ssize_t at = 0;
      PyObject *key, *value;
      while (PyDict_Next(dict, &at, &key, &value)) {
        const Object held_key = kHold ? Object::Share(key) : Object();
        const Object held = kHold ? Object::Share(value) : Object();
        if (!f(key, value)) return false;
      }
      return true;
    }
    case Container::kDataclass: {
      const Object names = NamesOf(Py_TYPE(o));
      for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names.get()); ++i) {
        PyObject* name = PyTuple_GET_ITEM(names.get(), i);
        const Object value = FieldOf(o, name);
        if (!value || !f(name, value.get())) return false;
      }
      return static_cast<bool>(names);
    }
    case Container::kRegistered: {
      Object children, data;
      if (!OpenRegistered(o, &children, &data)) return false;
      return EachChild<kHold>(children.get(), Container::kTuple, f);
    }
  }
  return true;
}

}  // namespace frazil::python
