#include "bindings/python/container.h"

#include "absl/container/flat_hash_map.h"
#include "bindings/python/class_info.h"
#include "bindings/python/module_type.h"

namespace frazil::python {
namespace {

absl::flat_hash_map<const PyTypeObject*, Registration>& Registry() {
  static auto* const registry = new absl::flat_hash_map<const PyTypeObject*, Registration>;
  return *registry;
}
bool g_builtin_registered = false;  // a class that is not made in Python

bool HasAKindOfItsOwn(const PyTypeObject* type) {
  for (const PyTypeObject* known :
       {&PyTuple_Type, &PyList_Type, &PyDict_Type, &tensor_type, &PyLong_Type, &PyFloat_Type,
        &PyBool_Type, &PyUnicode_Type, &PyBytes_Type, &PyComplex_Type, &PyType_Type,
        Py_TYPE(Py_None)}) {
    if (type == known) return true;
  }
  return false;
}

// Of a class without a version what is known is made anew; it is right until the next question.
const ClassInfo& InfoOfAny(PyTypeObject* type) {
  const ClassInfo* info = InfoOf(type);
  if (info) return *info;
  static auto* const passing = new ClassInfo;
  Describe(type, passing);
  return *passing;
}

}  // namespace

Container ContainerOfInstance(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  constexpr unsigned long kMade = Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_TUPLE_SUBCLASS |
                                  Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_DICT_SUBCLASS;
  if (!(type->tp_flags & kMade)) {
    return g_builtin_registered && RegistrationOf(type) ? Container::kRegistered : Container::kLeaf;
  }
  return InfoOfAny(type).container;
}

const Registration* RegistrationOf(const PyTypeObject* type) {
  const auto it = Registry().find(type);
  return it == Registry().end() ? nullptr : &it->second;
}

bool Register(PyObject* o, PyObject* flatten, PyObject* unflatten) {
  if (!PyType_Check(o)) {
    Raise(TypeError("[register_pytree_node] needs a class, got ", Py_TYPE(o)->tp_name,
                    ": give type(x) for an object x."));
    return false;
  }
  auto* type = reinterpret_cast<PyTypeObject*>(o);
  for (PyObject* function : {flatten, unflatten}) {
    if (PyCallable_Check(function)) continue;
    Raise(TypeError("[register_pytree_node] ", function == flatten ? "flatten" : "unflatten",
                    " must be a function, got ", Py_TYPE(function)->tp_name, "."));
    return false;
  }
  if (HasAKindOfItsOwn(type) || IsModuleSubtype(type)) {
    Raise(ValueError("[register_pytree_node] ", type->tp_name,
                     " has a kind of its own already: register a subclass, or a class that holds "
                     "one."));
    return false;
  }
  if (RegistrationOf(type)) {
    Raise(ValueError("[register_pytree_node] ", type->tp_name,
                     " is registered already: a class is registered once, where it is defined."));
    return false;
  }
  Registry()[type] = {Py_NewRef(flatten), Py_NewRef(unflatten)};
  Py_INCREF(type);
  g_builtin_registered |= !(type->tp_flags & Py_TPFLAGS_HEAPTYPE);
  PyType_Modified(type);  // what is known of the class is made anew
  return true;
}

Container KindOfInstances(PyTypeObject* type, Object* names) {
  const ClassInfo& info = InfoOfAny(type);
  *names = info.names;
  return info.container;
}

bool OpenRegistered(PyObject* o, Object* children, Object* data) {
  const Registration* registration = RegistrationOf(Py_TYPE(o));
  const Object opened = Object::Steal(PyObject_CallOneArg(registration->flatten, o));
  if (!opened) return false;
  if (!PyTuple_Check(opened.get()) || PyTuple_GET_SIZE(opened.get()) != 2) {
    Raise(TypeError("[tree] flatten of ", Py_TYPE(o)->tp_name,
                    " must return a tuple (children, data), got ", Py_TYPE(opened.get())->tp_name,
                    "."));
    return false;
  }
  *children = Object::Steal(PySequence_Tuple(PyTuple_GET_ITEM(opened.get(), 0)));
  *data = Object::Share(PyTuple_GET_ITEM(opened.get(), 1));
  return static_cast<bool>(*children);
}

Object FieldOf(PyObject* o, PyObject* name) {
  Object value = Attribute(o, name);
  return value || PyErr_Occurred() ? value : Object::Steal(PyObject_GetAttr(o, name));
}

}  // namespace frazil::python
