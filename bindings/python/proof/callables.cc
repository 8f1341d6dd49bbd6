#include "bindings/python/proof/callables.h"

#include <algorithm>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "bindings/python/functions.h"
#include "bindings/python/library_types.h"
#include "bindings/python/module_type.h"
#include "bindings/python/proof/python_slots.h"
#include "bindings/python/tensor_type.h"
#include "core/str.h"

namespace frazil::python {
namespace {

constexpr std::string_view kModules[] = {
#define FZ_MODULE(module) module,
#define FZ_FUNCTION(module, name)
#define FZ_TYPE(type)
#define FZ_METHOD(type, name)
#include "bindings/python/proof/callables.def"
#undef FZ_MODULE
#undef FZ_FUNCTION
};

constexpr std::pair<std::string_view, std::string_view> kFunctions[] = {
#define FZ_MODULE(module)
#define FZ_FUNCTION(module, name) {module, name},
#include "bindings/python/proof/callables.def"
#undef FZ_FUNCTION
#undef FZ_TYPE
};

bool IsListed(const PyTypeObject* type) {
  static const absl::flat_hash_set<const PyTypeObject*> types = {
#define FZ_FUNCTION(module, name)
#define FZ_TYPE(type) &type,
#include "bindings/python/proof/callables.def"
#undef FZ_TYPE
#undef FZ_METHOD
  };
  return types.contains(type);
}

bool IsListedMethod(const PyTypeObject* type, std::string_view name) {
  static const absl::flat_hash_set<std::pair<const PyTypeObject*, std::string_view>> methods = {
#define FZ_TYPE(type)
#define FZ_METHOD(type, name) {&type, name},
#include "bindings/python/proof/callables.def"
#undef FZ_MODULE
#undef FZ_FUNCTION
#undef FZ_TYPE
#undef FZ_METHOD
  };
  return methods.contains({type, name});
}

std::string Unlisted(std::string_view what) {
  return StrCat("calls ", what, ", of which nobody knows what it reads and changes");
}

// A bound method of a built-in type's slot: the type has no public name.
bool IsMethodWrapper(PyObject* o) {
  static const PyTypeObject* const type = [] {
    const Object bound = Object::Steal(PyObject_GetAttrString(Py_None, "__str__"));
    return Py_TYPE(bound.get());
  }();
  return Py_TYPE(o) == type;
}

bool IsException(PyTypeObject* type) {
  return PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException));
}

// The built-in type that a class is made from.
const PyTypeObject* RootOf(const PyTypeObject* type) {
  while (type->tp_flags & Py_TPFLAGS_HEAPTYPE) type = type->tp_base;
  return type;
}

// Types of frazil, and those of module itertools, whose objects the call makes itself.
bool IsKnownType(PyTypeObject* type) {
  static const auto* const types = [] {
    auto* found = new absl::flat_hash_set<PyTypeObject*>;  // for the life of the process
    const Object tools = Object::Steal(PyImport_ImportModule("itertools"));
    PyObject* dict = tools ? PyModule_GetDict(tools.get()) : nullptr;
    Py_ssize_t at = 0;
    PyObject *name, *value;
    while (dict && PyDict_Next(dict, &at, &name, &value)) {
      if (PyType_Check(value)) found->insert(reinterpret_cast<PyTypeObject*>(Py_NewRef(value)));
    }
    PyErr_Clear();
    return found;
  }();
  const std::string_view name = type->tp_name;
  return types->contains(type) || name == "frazil._frazil.GradScope" ||
         name == "frazil._frazil.ForwardScope" || name == "frazil._frazil.BatchScope" ||
         name == "frazil._frazil.TakenScope" || name == "frazil.tree.Structure";
}

bool IsHarmlessMethod(const PyTypeObject* type, std::string_view name) {
  if (IsListedMethod(type, name) || IsKnownType(const_cast<PyTypeObject*>(type))) return true;
  if (name == "__hash__" || name == "__reduce__" || name == "__reduce_ex__" ||
      name == "__sizeof__" || name == "__dir__")
    return false;
  return type == &tensor_type || type == Library().deque || IsModuleType(type) ||
         IsException(const_cast<PyTypeObject*>(type)) || IsListed(type);
}

std::string WhyNotFormatAll(PyObject* const* arguments, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (std::string why = WhyNotFormat(arguments[i]); !why.empty()) return why;
  }
  return "";
}

// `self` may be among the arguments or bound: null.
std::string WhyNotMethod(const PyTypeObject* type, std::string_view name, PyObject* self,
                         PyObject* const* arguments, Py_ssize_t count) {
  if (!IsHarmlessMethod(type, name)) return Unlisted(StrCat("'", type->tp_name, ".", name, "'"));
  PyObject* owner = self ? self : count > 0 ? arguments[0] : nullptr;
  if (!owner) return Unlisted(StrCat("'", type->tp_name, ".", name, "' by another function"));
  if (name == "format" || name == "__format__" || name == "format_map") {
    if (AsksLocale(owner) || (count > 0 && AsksLocale(arguments[count - 1])))
      return "writes a number as the locale wants it";
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (PyType_Check(arguments[i])) return "formats a class, whose attributes the text may name";
    }
    return WhyNotFormatAll(arguments, count);
  }
  if (name == "__repr__" || name == "__str__") return WhyNotFormat(owner);
  const bool attributes =
      name == "__setattr__" || name == "__delattr__" || name == "__getattribute__";
  if (attributes && IsShared(owner))
    return StrCat("asks '", name, "' for an attribute of a ", Py_TYPE(owner)->tp_name);
  return "";
}

// Functions that call what they are given.
bool CallsArguments(PyObject* o) {
  static constexpr std::string_view kBuiltins[] = {"sorted", "min", "max", "iter"};
  if (o == reinterpret_cast<PyObject*>(&PyMap_Type) ||
      o == reinterpret_cast<PyObject*>(&PyFilter_Type))
    return true;
  if (Py_IS_TYPE(o, &PyMethodDescr_Type))
    return PyUnicode_CompareWithASCIIString(reinterpret_cast<PyDescrObject*>(o)->d_name, "sort") ==
           0;
  if (!PyCFunction_Check(o)) return false;
  const auto* f = reinterpret_cast<PyCFunctionObject*>(o);
  const std::string_view name = f->m_ml->ml_name;
  const std::string_view module = ModuleOf(o);
  return name == "sort" || name == "reduce" || module == "frazil._frazil.tree" ||
         (module == "_operator" && name == "call") || name == "for_all" ||
         std::find(std::begin(kBuiltins), std::end(kBuiltins), BuiltinName(o)) !=
             std::end(kBuiltins);
}

// A callable that a built-in function calls with arguments that nobody sees.
std::string WhyNotCallback(PyObject* o, PyObject* const* others, Py_ssize_t count) {
  if (PyFunction_Check(o) || FunctionOfTraced(o)) return "";
  if (o == reinterpret_cast<PyObject*>(&PyUnicode_Type)) {  // of what is given beside it
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (others[i] != o && !PyCallable_Check(others[i])) {
        if (std::string why = WhyNotFormat(others[i]); !why.empty()) return why;
      }
    }
    return "";
  }
  if (CallsArguments(o)) return Unlisted("functions that a built-in function gives to another");
  return WhyNotCall(o, nullptr, 0);
}

// A function of a module.
std::string WhyNotFunction(PyObject* function, PyObject* const* arguments, Py_ssize_t count) {
  const auto* f = reinterpret_cast<PyCFunctionObject*>(function);
  const std::string_view module = ModuleOf(function);
  if (IsMethodOfModules(f->m_ml)) return "";
  if (module.empty()) return Unlisted(StrCat("'", f->m_ml->ml_name, "'"));
  const std::string_view name = f->m_ml->ml_name;
  const bool listed =
      std::find(std::begin(kModules), std::end(kModules), module) != std::end(kModules) ||
      std::find(std::begin(kFunctions), std::end(kFunctions),
                std::pair<std::string_view, std::string_view>(module, name)) !=
          std::end(kFunctions);
  if (!listed) return Unlisted(StrCat("'", module, ".", name, "'"));
  if (module == "frazil._frazil.custom" && name == "call_host")
    return StrCat("calls the op '", count > 0 ? PyUnicode_AsUTF8(arguments[0]) : "?",
                  "', which runs host code");
  if (module == "_operator") {
    if (name == "call" && count > 0) return WhyNotCall(arguments[0], arguments + 1, count - 1);
    if (name == "is_" || name == "is_not" || name == "call")
      return count > 1 ? WhyNotIs(arguments[0], arguments[1])
                       : Unlisted(StrCat("'", name, "' by another function"));
  }
  if (module != "builtins") return "";
  // Of these watch.cc looks at what is written in the code; the others are called by functions.
  if (name == "vars") return "asks 'vars' for attributes that the code does not name";
  if (name == "setattr" || name == "delattr" || name == "getattr" || name == "hasattr")
    return StrCat("asks '", name, "' for an attribute that the code does not name");
  if (name == "repr" || name == "format") {
    if (count == 0) return StrCat("writes objects as text by '", name, "'");
    if (count > 1 && AsksLocale(arguments[1])) return "writes a number as the locale wants it";
    return WhyNotFormat(arguments[0]);
  }
  return "";
}

// Calling a class: its __new__ and __init__ are those of a built-in type that is known, or written
// in Python and so watched.
std::string WhyNotType(PyTypeObject* type, PyObject* const* arguments, Py_ssize_t count) {
  if (type == &PyType_Type) return count == 1 ? "" : "makes a class";
  if (type == &PyUnicode_Type) return count > 0 ? WhyNotFormat(arguments[0]) : "";
  if (type->tp_finalize && type->tp_flags & Py_TPFLAGS_HEAPTYPE)
    return StrCat("makes an object of the class ", type->tp_name, ", whose __del__ may run later");
  if (type == Library().partial || type == Library().deque || IsKnownType(type)) return "";
  auto* root = const_cast<PyTypeObject*>(RootOf(type));
  const bool known =
      root == &PyBaseObject_Type || IsListed(root) || IsException(root) || IsModuleType(root);
  const PythonSlots& python = SlotsOfPython();
  const ternaryfunc call = Py_TYPE(type)->tp_call;
  if (known && (type->tp_new == root->tp_new || type->tp_new == python.make) &&
      (type->tp_init == root->tp_init || type->tp_init == python.init) &&
      (call == PyType_Type.tp_call || call == python.call))
    return "";
  return Unlisted(StrCat("the type '", type->tp_name, "'"));
}

}  // namespace

bool AsksLocale(PyObject* format) {
  const char* text = PyUnicode_Check(format) ? PyUnicode_AsUTF8(format) : nullptr;
  const std::string_view s = text ? text : "";
  return s.ends_with("n") || s.find("n}") != s.npos;
}

bool RunsPython(PyObject* callable) {
  if (PyMethod_Check(callable)) return RunsPython(PyMethod_GET_FUNCTION(callable));
  if (!PyType_Check(callable)) return PyFunction_Check(callable);
  const auto* type = reinterpret_cast<PyTypeObject*>(callable);
  return type->tp_flags & Py_TPFLAGS_HEAPTYPE && type->tp_new == PyBaseObject_Type.tp_new &&
         Py_TYPE(type) == &PyType_Type;
}

bool IsShared(PyObject* o) {
  return PyModule_Check(o) || PyType_Check(o) || PyFunction_Check(o) || PyMethod_Check(o) ||
         FunctionOfTraced(o);
}

std::string_view ModuleOf(PyObject* function) {
  PyObject* module = reinterpret_cast<PyCFunctionObject*>(function)->m_module;
  const char* text = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : "";
  if (!text) PyErr_Clear();
  return text ? text : "";
}

std::string_view BuiltinName(PyObject* o) {
  if (!PyCFunction_Check(o) || ModuleOf(o) != "builtins") return "";
  return reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name;
}

std::string WhyNotIs(PyObject* a, PyObject* b) {
  constexpr long kSmallest = -5, kLargest = 256;  // of which there is one object each
  if (Py_TYPE(a) != Py_TYPE(b)) return "";
  bool equal = true;  // tuples: they may hold anything
  if (PyLong_CheckExact(a)) {
    int overflow = 0;
    const long value = PyLong_AsLongAndOverflow(a, &overflow);
    if (!overflow && value >= kSmallest && value <= kLargest) return "";
  }
  if (PyLong_CheckExact(a) || PyFloat_CheckExact(a) || PyUnicode_CheckExact(a) ||
      PyBytes_CheckExact(a) || PyComplex_CheckExact(a)) {
    equal = a == b || PyObject_RichCompareBool(a, b, Py_EQ) == 1;
  } else if (!PyTuple_CheckExact(a) || PyTuple_GET_SIZE(a) == 0) {
    return "";
  }
  return equal ? "asks with 'is' whether equal values are one object" : "";
}

std::string WhyNotFormat(PyObject* o) {
  if (o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) ||
      PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PyComplex_CheckExact(o) ||
      PyRange_Check(o) || PyType_Check(o) || IsTensor(o))
    return "";
  if (IsException(Py_TYPE(o))) {
    PyObject* arguments = reinterpret_cast<PyBaseExceptionObject*>(o)->args;
    return arguments ? WhyNotFormat(arguments) : "";
  }
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o))
    return WhyNotFormatAll(&PySequence_Fast_GET_ITEM(o, 0), PySequence_Fast_GET_SIZE(o));
  if (PyDict_CheckExact(o)) {
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (PyDict_Next(o, &at, &key, &value)) {
      for (PyObject* part : {key, value}) {
        if (std::string why = WhyNotFormat(part); !why.empty()) return why;
      }
    }
    return "";
  }
  return StrCat("writes an object of type ", Py_TYPE(o)->tp_name,
                " as text, which may hold an address");
}

std::string WhyNotCall(PyObject* o, PyObject* const* arguments, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count && CallsArguments(o); ++i) {
    if (!PyCallable_Check(arguments[i]) || IsTensor(arguments[i])) continue;
    if (std::string why = WhyNotCallback(arguments[i], arguments, count); !why.empty()) return why;
  }
  if (PyFunction_Check(o)) {  // its code is watched, but what is never begun
    constexpr int kNever = CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE;
    const auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(o));
    return code->co_flags & kNever ? "makes a coroutine" : "";
  }
  if (FunctionOfTraced(o)) return "";
  if (PyMethod_Check(o)) return WhyNotCall(PyMethod_GET_FUNCTION(o), arguments, count);
  if (PyType_Check(o)) return WhyNotType(reinterpret_cast<PyTypeObject*>(o), arguments, count);
  if (PyCFunction_Check(o)) {
    PyObject* self = PyCFunction_GET_SELF(o);
    if (!self || PyModule_Check(self)) return WhyNotFunction(o, arguments, count);
    const char* name = reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name;
    if (PyType_Check(self)) {  // T.__new__, or a method of a class such as dict.fromkeys
      auto* type = reinterpret_cast<PyTypeObject*>(self);
      return type == &PyBaseObject_Type && std::string_view(name) == "__new__"
                 ? ""
                 : WhyNotMethod(type, name, self, arguments, count);
    }
    return WhyNotMethod(RootOf(Py_TYPE(self)), name, self, arguments, count);
  }
  if (Py_IS_TYPE(o, &PyMethodDescr_Type) || Py_IS_TYPE(o, &PyWrapperDescr_Type) ||
      Py_IS_TYPE(o, &PyClassMethodDescr_Type)) {
    const auto* descr = reinterpret_cast<PyDescrObject*>(o);
    return WhyNotMethod(descr->d_type, PyUnicode_AsUTF8(descr->d_name), nullptr, arguments, count);
  }
  if (IsMethodWrapper(o)) {  // object.__init__ of an instance
    const Object home = Object::Steal(PyObject_GetAttrString(o, "__objclass__"));
    const Object name = Object::Steal(PyObject_GetAttrString(o, "__name__"));
    const Object self = Object::Steal(PyObject_GetAttrString(o, "__self__"));
    if (home && name && self && PyType_Check(home.get()))
      return WhyNotMethod(reinterpret_cast<PyTypeObject*>(home.get()), PyUnicode_AsUTF8(name.get()),
                          self.get(), arguments, count);
    PyErr_Clear();
  }
  if (Py_IS_TYPE(o, Library().partial)) {
    const Object function = Object::Steal(PyObject_GetAttrString(o, "func"));
    if (function) return WhyNotCall(function.get(), arguments, count);
    PyErr_Clear();
  }
  if (Py_TYPE(o)->tp_call && Py_TYPE(o)->tp_call == SlotsOfPython().call) return "";
  return Unlisted(StrCat("an object of type ", Py_TYPE(o)->tp_name));
}

}  // namespace frazil::python
