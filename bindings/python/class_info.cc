#include "bindings/python/class_info.h"

#include <structmember.h>

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "bindings/python/dtype_type.h"
#include "bindings/python/functions.h"
#include "bindings/python/library_types.h"
#include "bindings/python/module_type.h"

namespace frazil::python {
namespace {

bool IsConstant(PyObject* o) {
  if (PyTuple_CheckExact(o) || PyFrozenSet_CheckExact(o)) {
    Object items = Object::Steal(PySequence_Tuple(o));
    bool constant = static_cast<bool>(items);
    for (Py_ssize_t i = 0; constant && i < PyTuple_GET_SIZE(items.get()); ++i)
      constant = IsConstant(PyTuple_GET_ITEM(items.get(), i));
    return constant;
  }
  return o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) ||
         (PyFloat_CheckExact(o) && !IsNan(o)) || PyComplex_CheckExact(o) ||
         PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || IsFixed(o);
}
bool IsCode(PyObject* o) { return Py_TYPE(o)->tp_descr_get != nullptr; }

// Whether a call through a special name runs, or reads, what an observer of Python's code misses.
bool IsForeign(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  const auto part = [o](const char* name) {
    const Object called = Object::Steal(PyObject_GetAttrString(o, name));
    if (!called) return PyErr_Clear(), true;
    return called.get() != Py_None && IsForeign(called.get());
  };
  if (type == &PyFunction_Type || FunctionOfTraced(o)) return false;
  if (type == &PyStaticMethod_Type || type == &PyClassMethod_Type) return part("__func__");
  if (type == &PyProperty_Type) return part("fget") || part("fset") || part("fdel");
  if (PyType_Check(o)) return reinterpret_cast<PyTypeObject*>(o)->tp_flags & Py_TPFLAGS_HEAPTYPE;
  if (PyCFunction_Check(o))  // tuple.__new__, dict.fromkeys
    return !PyCFunction_GET_SELF(o) || !PyType_Check(PyCFunction_GET_SELF(o));
  const bool of_class = type == &PyMemberDescr_Type || type == &PyGetSetDescr_Type ||
                        type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type ||
                        type == &PyClassMethodDescr_Type;
  return !of_class && (type->tp_descr_get || PyCallable_Check(o));
}

// The __slots__ of one class, without those of its bases. False if there are others than objects.
bool AddSlots(PyTypeObject* type, int kind, ClassInfo::Slots* slots) {
  Py_ssize_t at = 0;
  PyObject *name, *value;
  while (PyDict_Next(type->tp_dict, &at, &name, &value)) {
    if (Py_TYPE(value) != &PyMemberDescr_Type) continue;
    const auto* descr = reinterpret_cast<PyMemberDescrObject*>(value);
    if (descr->d_common.d_type != type || descr->d_member->type != kind) return false;
    slots->push_back({Object::Share(name), descr->d_member->offset});
  }
  return true;
}

bool HasStateInBytes(const PyTypeObject* type) {
#ifdef Py_TPFLAGS_MANAGED_DICT
  if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) return false;
#endif
  return type->tp_dictoffset != 0 && type->tp_base->tp_dictoffset == 0;
}

// The built-in class that `type` is made from, if all that Python classes added to it is slots,
// attributes and weak references; else null.
PyTypeObject* RootOf(PyTypeObject* type, ClassInfo::Slots* slots) {
  // From Python 3.12 on defaultdict is made like a class.
  for (; type->tp_flags & Py_TPFLAGS_HEAPTYPE && type != Library().default_dict;
       type = type->tp_base) {
    const size_t before = slots->size();
    if (!AddSlots(type, T_OBJECT_EX, slots)) return nullptr;
    size_t words = slots->size() - before + HasStateInBytes(type);
    words += type->tp_weaklistoffset > 0 && type->tp_base->tp_weaklistoffset == 0;
    const auto bytes = static_cast<Py_ssize_t>(words * sizeof(PyObject*));
    if (type->tp_basicsize != type->tp_base->tp_basicsize + bytes) return nullptr;
  }
  if (type == Library().default_dict && !AddSlots(type, T_OBJECT, slots)) return nullptr;
  return type;
}

// The fields proper: variables of the class and of __init__ are none. Null if it is no dataclass.
Object FieldNames(PyTypeObject* type) {
  static PyObject* const name = PyUnicode_InternFromString("__dataclass_fields__");
  PyObject* dict = _PyType_Lookup(type, name);
  if (!dict || !PyDict_Check(dict)) return Object();
  Object names = Object::Steal(PyList_New(0));
  Py_ssize_t at = 0;
  PyObject *field_name, *field;
  while (names && PyDict_Next(dict, &at, &field_name, &field)) {
    Object kind = Object::Steal(PyObject_GetAttrString(field, "_field_type"));
    if (kind.get() == Library().field) PyList_Append(names.get(), field_name);
  }
  if (names) names = Object::Steal(PyList_AsTuple(names.get()));
  PyErr_Clear();
  return names;
}

void AddData(PyTypeObject* type, ClassInfo* info) {
  const bool is_enum = info->is_enum;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    if (!(base->tp_flags & Py_TPFLAGS_HEAPTYPE)) continue;
    static PyObject* const abc = PyUnicode_InternFromString("_abc_impl");
    Py_ssize_t at = 0;
    PyObject *name, *value;
    while (PyDict_Next(base->tp_dict, &at, &name, &value)) {
      if (IsSpecial(name)) {
        if (!info->foreign && IsForeign(value)) info->foreign = Object::Share(name);
        continue;
      }
      if (IsConstant(value) || IsCode(value)) continue;
      if (name == abc || (is_enum && IsSunder(name))) continue;
      if (is_enum && PyType_IsSubtype(Py_TYPE(value), Library().enumeration)) continue;
      info->data.emplace_back(name, value);
    }
  }
  static PyObject* const map = PyUnicode_InternFromString("_member_map_");
  PyObject* members = is_enum ? _PyType_Lookup(type, map) : nullptr;
  Py_ssize_t at = 0;
  PyObject *name, *member;
  while (members && PyDict_Check(members) && PyDict_Next(members, &at, &name, &member))
    info->members.push_back(Object::Share(member));
}

Container KindOf(PyTypeObject* type, ClassInfo* info) {
  using enum Container;
  static PyObject* const fields = PyUnicode_InternFromString("_fields");
  if (RegistrationOf(type)) return kRegistered;
  if (IsModuleSubtype(type)) return kModule;
  if (info->is_enum) return kLeaf;
  if (type->tp_flags & Py_TPFLAGS_LIST_SUBCLASS) return kList;
  if (type->tp_flags & Py_TPFLAGS_DICT_SUBCLASS) return kDict;
  if (type->tp_flags & Py_TPFLAGS_TUPLE_SUBCLASS) {
    PyObject* names = _PyType_Lookup(type, fields);
    if (!names || !PyTuple_CheckExact(names)) return kTuple;
    info->names = Object::Share(names);
    return kNamedTuple;
  }
  info->names = FieldNames(type);
  return info->names ? kDataclass : kLeaf;
}

bool IsShown(const PyTypeObject* root, const ClassInfo& info) {
  if (!root) return false;
  if (info.is_enum) {
    return root == &PyBaseObject_Type || root == &PyLong_Type || root == &PyFloat_Type ||
           root == &PyUnicode_Type || root == &PyBytes_Type;
  }
  switch (info.container) {
    case Container::kNone:
      return false;
    case Container::kModule:
      return IsModuleType(root);
    case Container::kLeaf:
    case Container::kDataclass:
      return root == &PyBaseObject_Type;
    case Container::kTuple:
    case Container::kNamedTuple:
    case Container::kList:
    case Container::kDict:
    case Container::kRegistered:
      break;
  }
  const bool is_object = info.container == Container::kRegistered && root == &PyBaseObject_Type;
  return is_object || root == &PyTuple_Type || root == &PyList_Type || root == &PyDict_Type ||
         root == &PyODict_Type || root == Library().default_dict;
}

}  // namespace

void Describe(PyTypeObject* type, ClassInfo* info) {
  *info = ClassInfo();
  info->version = VersionOf(type);
  info->has_dict = type->tp_dictoffset != 0;
  info->is_enum = PyType_IsSubtype(type, Library().enumeration);
  info->container = KindOf(type, info);
  info->is_shown = IsShown(RootOf(type, &info->slots), *info);
  AddData(type, info);
}

unsigned VersionOf(PyTypeObject* type) {
#if PY_VERSION_HEX >= 0x030C0000
  return PyUnstable_Type_AssignVersionTag(type) ? type->tp_version_tag : 0;
#else
  if (!(type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG)) {
    static PyObject* const name = PyUnicode_InternFromString("__class__");
    _PyType_Lookup(type, name);
  }
  return type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG ? type->tp_version_tag : 0;
#endif
}

const ClassInfo* InfoOf(PyTypeObject* type) {
  // By address: a class at the address of one that is gone has another version. So it holds as many
  // as there have been classes at one time.
  static auto* const known =
      new absl::flat_hash_map<const PyTypeObject*, std::unique_ptr<ClassInfo>>;
  static const PyTypeObject* last_type = nullptr;
  static ClassInfo* last = nullptr;
  const unsigned version = VersionOf(type);
  if (version == 0) return nullptr;
  if (last_type == type && last->version == version) return last;
  auto& place = (*known)[type];
  if (!place) place = std::make_unique<ClassInfo>();
  ClassInfo* const info = place.get();  // describing it may run code that adds others
  if (info->version != version) Describe(type, info);
  last_type = type;
  return last = info;
}

bool IsSpecial(PyObject* name) {
  const Py_ssize_t n = PyUnicode_Check(name) ? PyUnicode_GET_LENGTH(name) : 0;
  return n > 4 && IsSunder(name) && PyUnicode_READ_CHAR(name, 1) == '_' &&
         PyUnicode_READ_CHAR(name, n - 2) == '_';
}

bool IsSunder(PyObject* name) {
  const Py_ssize_t n = PyUnicode_Check(name) ? PyUnicode_GET_LENGTH(name) : 0;
  return n > 2 && PyUnicode_READ_CHAR(name, 0) == '_' && PyUnicode_READ_CHAR(name, n - 1) == '_';
}

PyObject* AttributesOf(PyObject* o) {
  Object dict;
  if (Py_TYPE(o)->tp_dictoffset != 0) dict = Object::Steal(PyObject_GenericGetDict(o, nullptr));
  if (!dict) PyErr_Clear();
  return dict.get();
}

bool IsFixed(PyObject* o) {
  static PyTypeObject* const dtype_type = [] {
    Object dtype = Object::Steal(DTypeObject(DType::kF32));
    return Py_TYPE(dtype.get());
  }();
  if (PyCFunction_Check(o)) {
    PyObject* self = PyCFunction_GET_SELF(o);  // a method's holds state
    return !self || PyModule_Check(self) ||
           (PyType_Check(self) &&
            !(reinterpret_cast<PyTypeObject*>(self)->tp_flags & Py_TPFLAGS_HEAPTYPE));
  }
  if (Py_IS_TYPE(o, &PyMethodDescr_Type) || Py_IS_TYPE(o, &PyWrapperDescr_Type))
    return !(reinterpret_cast<PyDescrObject*>(o)->d_type->tp_flags & Py_TPFLAGS_HEAPTYPE);
  return Py_IS_TYPE(o, dtype_type) || o == Py_Ellipsis;
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
