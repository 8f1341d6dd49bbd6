#include "bindings/python/proof/telling_apart.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "bindings/python/functions.h"
#include "bindings/python/library_types.h"
#include "bindings/python/proof/asks.h"
#include "bindings/python/proof/callables.h"
#include "bindings/python/tensor_type.h"

namespace frazil::python {
namespace {

constexpr int kMaxDepth = 4, kMaxDepthOfArguments = 64;

bool IsKeyed(PyObject* o) {
  return PyAnySet_Check(o) || PyDict_Check(o) || PyDictKeys_Check(o) || PyDictItems_Check(o) ||
         PyDictValues_Check(o);
}

// Numbers, texts and others without items of their own.
bool IsPlain(PyObject* o) {
  return o == Py_None || PyBool_Check(o) || PyLong_Check(o) || PyFloat_Check(o) ||
         PyComplex_Check(o) || PyUnicode_Check(o) || PyBytes_Check(o) || PyRange_Check(o) ||
         o == Py_Ellipsis || PyType_Check(o) || PyModule_Check(o);
}

// Functions of builtins that hand on what they are given, or ask for its type, its length or what
// tensors answer themselves.
bool IsHarmless(std::string_view builtin) {
  static constexpr std::array<std::string_view, 18> kNames = {
      "all",     "any",     "isinstance", "issubclass", "len",        "getattr",
      "hasattr", "setattr", "delattr",    "callable",   "abs",        "divmod",
      "iter",    "next",    "pow",        "round",      "__import__", "repr"};
  return std::find(kNames.begin(), kNames.end(), builtin) != kNames.end();
}

bool IsHarmless(PyTypeObject* type) {
  for (PyTypeObject* known :
       {&PyBool_Type, &PyLong_Type, &PyFloat_Type, &PyComplex_Type, &PyUnicode_Type, &PyTuple_Type,
        &PyList_Type, &PyRange_Type, &PySlice_Type, &PyEnum_Type, &PyReversed_Type, &PyZip_Type,
        &PySuper_Type, &PyBaseObject_Type, &PyType_Type}) {
    if (type == known) return true;
  }
  const bool keyed = PyType_IsSubtype(type, &PyDict_Type) || PyType_IsSubtype(type, &PySet_Type) ||
                     PyType_IsSubtype(type, &PyFrozenSet_Type);
  return type->tp_flags & Py_TPFLAGS_HEAPTYPE && !keyed;  // its methods are looked at
}

// Tensors, structures of nests: their methods compute.
bool IsOwn(const PyTypeObject* type) {
  return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
         std::string_view(type->tp_name).starts_with("frazil.");
}

}  // namespace

void FindTensors(PyObject* o, Tensors* found, int depth) {
  if (IsTensor(o)) found->insert(o);
  if (depth == kMaxDepthOfArguments) return;
  if (PyTuple_Check(o) || PyList_Check(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      FindTensors(PySequence_Fast_GET_ITEM(o, i), found, depth + 1);
  }
  Py_ssize_t at = 0;
  PyObject *key, *value;
  while (PyDict_Check(o) && PyDict_Next(o, &at, &key, &value)) FindTensors(value, found, depth + 1);
}

bool HoldsTensor(PyObject* o, const Tensors* among, int depth) {
  if (IsTensor(o)) return !among || among->contains(o);
  if (IsPlain(o)) return false;
  if (PySlice_Check(o)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(o);
    return HoldsTensor(slice->start, among, depth) || HoldsTensor(slice->stop, among, depth) ||
           HoldsTensor(slice->step, among, depth);
  }
  if (depth == kMaxDepth) return true;
  const auto holds = [&](PyObject* item) { return HoldsTensor(item, among, depth + 1); };
  if (PyTuple_Check(o) || PyList_Check(o)) {
    PyObject** const items = PySequence_Fast_ITEMS(o);
    return std::any_of(items, items + PySequence_Fast_GET_SIZE(o), holds);
  }
  Py_ssize_t at = 0;
  PyObject *key, *value;
  if (PyDict_Check(o)) {
    while (PyDict_Next(o, &at, &key, &value)) {
      if (holds(key) || holds(value)) return true;
    }
    return false;
  }
  if (PyAnySet_CheckExact(o)) {
    const Object items = Object::Steal(PyObject_GetIter(o));
    bool found = false;
    while (items && !found) {
      const Object item = Object::Steal(PyIter_Next(items.get()));
      if (!item) break;
      found = holds(item.get());
    }
    return found;
  }
  return true;
}

bool CallTellsApart(PyObject* callable, PyObject* const* arguments, int count,
                    const Tensors* among) {
  if (RunsPython(callable) || FunctionOfTraced(callable)) return false;
  if (Py_IS_TYPE(callable, Library().partial)) {
    const Object function = Object::Steal(PyObject_GetAttrString(callable, "func"));
    if (!function) return PyErr_Clear(), true;
    return !RunsPython(function.get());
  }
  const auto in_arguments = [&](int n) {
    return std::any_of(arguments, arguments + std::min(n, count),
                       [&](PyObject* o) { return HoldsTensor(o, among); });
  };
  if (PyType_Check(callable))
    return !IsHarmless(reinterpret_cast<PyTypeObject*>(callable)) && in_arguments(count);
  if (Py_IS_TYPE(callable, &PyMethodDescr_Type)) {
    const PyTypeObject* of = reinterpret_cast<PyDescrObject*>(callable)->d_type;
    if (IsOwn(of)) return false;
    const int keys = KeysOf(callable);  // behind self
    return keys >= 0 ? count > 1 && HoldsTensor(arguments[1], among) && keys > 0
                     : in_arguments(count);
  }
  if (PyCFunction_Check(callable)) {
    PyObject* self = PyCFunction_GET_SELF(callable);
    if (self && IsOwn(Py_TYPE(self))) return false;
    if (ModuleOf(callable).starts_with("frazil") || IsHarmless(BuiltinName(callable))) return false;
    if (const int keys = KeysOf(callable); keys >= 0) return in_arguments(keys);
    return in_arguments(count) || (self && IsKeyed(self) && HoldsTensor(self, among));
  }
  // An object whose class says in Python what calling it does.
  static PyObject* const name = PyUnicode_InternFromString("__call__");
  PyObject* call = _PyType_Lookup(Py_TYPE(callable), name);
  return !(call && PyFunction_Check(call)) && in_arguments(count);
}

bool ComparisonTellsApart(PyObject* a, PyObject* b, const Tensors* among) {
  const auto asks = [&](PyObject* o) {
    if (PyCFunction_Check(o) || PyMethod_Check(o)) return true;  // whose methods they are
    return (PyTuple_Check(o) || PyList_Check(o) || IsKeyed(o)) && HoldsTensor(o, among);
  };
  return asks(a) || asks(b);
}

bool OperatorTellsApart(PyObject* a, PyObject* b, const Tensors* among) {
  return (IsKeyed(a) && HoldsTensor(a, among)) || (IsKeyed(b) && HoldsTensor(b, among));
}

}  // namespace frazil::python
