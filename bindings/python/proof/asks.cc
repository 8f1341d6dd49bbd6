#include "bindings/python/proof/asks.h"

#include <algorithm>

#include "bindings/python/functions.h"
#include "bindings/python/library_types.h"
#include "bindings/python/proof/callables.h"
#include "bindings/python/proof/python_slots.h"
#include "bindings/python/tensor_type.h"

namespace frazil::python {
namespace {

bool MeasuredByPython(PyObject* o) {
  const PySequenceMethods* sequence = Py_TYPE(o)->tp_as_sequence;
  return sequence && sequence->sq_length && sequence->sq_length == SlotsOfPython().length;
}

}  // namespace

bool IsNumber(PyObject* o) {
  return PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyBool_Check(o);
}

bool SearchedByPython(PyObject* o) {
  const PySequenceMethods* sequence = Py_TYPE(o)->tp_as_sequence;
  return sequence && sequence->sq_contains && sequence->sq_contains == SlotsOfPython().contains;
}

bool IsNumeric(PyObject* o) {
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type) ||
      o == reinterpret_cast<PyObject*>(&PyFloat_Type))
    return true;
  if (!PyCFunction_Check(o)) return false;
  const std::string_view module = ModuleOf(o);
  const std::string_view name = reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name;
  if (module == "math")  // those of ints may take for ever
    return name != "factorial" && name != "comb" && name != "perm";
  return module == "builtins" &&
         (name == "abs" || name == "min" || name == "max" || name == "round");
}

bool IsIterator(PyObject* o) {
  const iternextfunc next = Py_TYPE(o)->tp_iternext;
  return next && next != SlotsOfPython().none && next != SlotsOfPython().next;
}

bool IndexedByPython(PyObject* o) {
  const PyMappingMethods* mapping = Py_TYPE(o)->tp_as_mapping;
  return mapping && mapping->mp_subscript && mapping->mp_subscript == SlotsOfPython().item;
}

bool AsksNoNumber(PyObject* o, PyObject* const* arguments, int count) {
  static constexpr std::string_view kNames[] = {"callable", "delattr", "getattr",    "hasattr",
                                                "iter",     "len",     "issubclass", "isinstance",
                                                "next",     "setattr", "vars"};
  if (o == reinterpret_cast<PyObject*>(&PyType_Type)) return count == 1;
  const std::string_view name = BuiltinName(o);
  if (name.empty() || std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames))
    return false;
  // Attributes of a number may say what it is, and a class may answer with a number of its own.
  if (name == "len") return count > 0 && !MeasuredByPython(arguments[0]);
  if (name == "isinstance" || name == "issubclass")
    return count > 1 && !(Py_TYPE(arguments[1])->tp_flags & Py_TPFLAGS_HEAPTYPE);
  return count > 0 && (name != "getattr" || !IsNumber(arguments[0]));
}

bool IsAsArray(PyObject* o) {
  return PyCFunction_Check(o) && ModuleOf(o) == "frazil" &&
         std::string_view(reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name) == "asarray";
}

bool IsNestOfNumbers(PyObject* o, int depth) {
  if ((!PyList_CheckExact(o) && !PyTuple_CheckExact(o)) || depth == kMaxDepthOfPins) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(o, i);
    if (!IsNumber(item) && !IsTensor(item) && !IsNestOfNumbers(item, depth + 1)) return false;
  }
  return true;
}

std::string_view NameOfMethod(PyObject* o) {
  const char* name = nullptr;
  if (Py_IS_TYPE(o, &PyMethodDescr_Type)) {
    name = PyUnicode_AsUTF8(reinterpret_cast<PyDescrObject*>(o)->d_name);
  } else if (PyCFunction_Check(o)) {
    name = reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name;
  }
  return name ? name : "";
}

int KeysOf(PyObject* o) {
  static constexpr std::pair<std::string_view, int> kLists[] = {
      {"append", 0}, {"extend", 0}, {"insert", 1}, {"pop", 1},
      {"copy", 0},   {"clear", 0},  {"reverse", 0}};
  static constexpr std::pair<std::string_view, int> kDicts[] = {
      {"get", 1},  {"pop", 1},  {"setdefault", 1}, {"items", 0},
      {"keys", 0}, {"copy", 0}, {"values", 0},     {"clear", 0}};
  const PyTypeObject* type = nullptr;
  if (Py_IS_TYPE(o, &PyMethodDescr_Type)) {
    type = reinterpret_cast<PyDescrObject*>(o)->d_type;
  } else if (PyCFunction_Check(o) && PyCFunction_GET_SELF(o)) {
    type = Py_TYPE(PyCFunction_GET_SELF(o));
  }
  const auto find = [&](const auto& rows) {
    const std::string_view name = NameOfMethod(o);
    for (const auto& [known, keys] : rows) {
      if (known == name) return keys;
    }
    return -1;
  };
  static constexpr std::pair<std::string_view, int> kDeques[] = {
      {"append", 0}, {"appendleft", 0}, {"clear", 0},   {"extend", 0},
      {"pop", 0},    {"popleft", 0},    {"reverse", 0}, {"rotate", 1}};
  if (type == Library().deque) return find(kDeques);
  return type == &PyList_Type ? find(kLists) : type == &PyDict_Type ? find(kDicts) : -1;
}

bool HandsOn(PyObject* o) {
  if (PyFunction_Check(o) || FunctionOfTraced(o)) return true;
  if (PyMethod_Check(o)) return HandsOn(PyMethod_GET_FUNCTION(o));
  if (PyType_Check(o)) {
    const auto* type = reinterpret_cast<PyTypeObject*>(o);
    return type == &PyList_Type || type == &PyTuple_Type || type == &PyZip_Type ||
           type == &PyEnum_Type || type == &PySuper_Type ||
           (type->tp_flags & Py_TPFLAGS_HEAPTYPE && type != Library().partial &&
            type->tp_new == PyBaseObject_Type.tp_new);
  }
  if (Py_IS_TYPE(o, &PyWrapperDescr_Type)) {  // object.__setattr__
    const auto* descr = reinterpret_cast<PyDescrObject*>(o);
    return descr->d_type == &PyBaseObject_Type &&
           PyUnicode_CompareWithASCIIString(descr->d_name, "__setattr__") == 0;
  }
  if (!PyCFunction_Check(o)) return KeysOf(o) == 0;
  PyObject* self = PyCFunction_GET_SELF(o);
  const bool makes_tuple =
      self == reinterpret_cast<PyObject*>(&PyTuple_Type) && NameOfMethod(o) == "__new__";
  return makes_tuple || KeysOf(o) == 0;
}

bool GivesBack(PyObject* o) {
  if (HandsOn(o)) return true;
  if (Py_IS_TYPE(o, Library().partial)) {
    const Object function = Object::Steal(PyObject_GetAttrString(o, "func"));
    return function && GivesBack(function.get());
  }
  const std::string_view name = BuiltinName(o);
  if (name == "getattr" || name == "next" || name == "setattr" || name == "delattr") return true;
  if (PyCFunction_Check(o) && ModuleOf(o) == "_functools" && NameOfMethod(o) == "reduce")
    return true;
  // An object with a __call__ that is written in Python.
  return Py_TYPE(o)->tp_call && Py_TYPE(o)->tp_call == SlotsOfPython().call;
}

}  // namespace frazil::python
