#include "bindings/python/proof/callables.h"

#include <algorithm>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "bindings/python/functions.h"
#include "bindings/python/library_types.h"
#include "bindings/python/module_type.h"
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

bool IsHarmlessMethod(const PyTypeObject* type, std::string_view name) {
  if (type == &tensor_type || IsModuleType(type)) return true;
  if (IsListedMethod(type, name)) return true;
  if (IsException(const_cast<PyTypeObject*>(type))) return true;
  if (name == "__hash__" || name == "__reduce__" || name == "__reduce_ex__" ||
      name == "__sizeof__" || name == "__dir__")
    return false;
  return IsListed(type);
}

std::string WhyNotMethod(const PyTypeObject* type, const char* name) {
  if (IsHarmlessMethod(type, name)) return "";
  return Unlisted(StrCat("'", type->tp_name, ".", name, "'"));
}

// A function of a module.
std::string WhyNotFunction(PyObject* function, PyObject* const* arguments, Py_ssize_t count) {
  const auto* f = reinterpret_cast<PyCFunctionObject*>(function);
  const char* module = f->m_module && PyUnicode_Check(f->m_module)
                           ? PyUnicode_AsUTF8(f->m_module)
                           : nullptr;
  if (!module) return PyErr_Clear(), Unlisted(StrCat("'", f->m_ml->ml_name, "'"));
  const std::string_view name = f->m_ml->ml_name;
  const bool listed =
      std::find(std::begin(kModules), std::end(kModules), module) != std::end(kModules) ||
      std::find(std::begin(kFunctions), std::end(kFunctions),
                std::pair<std::string_view, std::string_view>(module, name)) !=
          std::end(kFunctions);
  if (!listed) return Unlisted(StrCat("'", module, ".", name, "'"));
  if (std::string_view(module) != "builtins") return "";
  // What is written to a module or a class is seen by everybody.
  if ((name == "setattr" || name == "delattr") && count > 0 &&
      (PyModule_Check(arguments[0]) || PyType_Check(arguments[0]) ||
       PyFunction_Check(arguments[0])))
    return StrCat("writes to an attribute of a ", Py_TYPE(arguments[0])->tp_name);
  if ((name == "getattr" || name == "hasattr") && count > 0 &&
      (PyModule_Check(arguments[0]) || PyFunction_Check(arguments[0])))
    return StrCat("asks a ", Py_TYPE(arguments[0])->tp_name, " for an attribute by getattr");
  return "";
}

// What a class that is written in Python has in its slots for what it defines.
struct Slots {
  newfunc make;
  initproc init;
  ternaryfunc call;
};
const Slots& SlotsOfPython() {
  static const Slots slots = [] {
    const Object names = Object::Steal(PyDict_New());
    const Object made = Object::Steal(PyRun_String(
        "class Probe:\n"
        "  def __new__(cls): pass\n"
        "  def __init__(self): pass\n"
        "  def __call__(self): pass\n",
        Py_file_input, names.get(), names.get()));
    const auto* type =
        reinterpret_cast<PyTypeObject*>(PyDict_GetItemString(names.get(), "Probe"));
    return type ? Slots{type->tp_new, type->tp_init, type->tp_call} : Slots{};
  }();
  return slots;
}

// Calling a class: its __new__ and __init__ are those of a built-in type that is known, or written
// in Python and so watched.
std::string WhyNotType(PyTypeObject* type, PyObject* const* arguments, Py_ssize_t count) {
  if (type == &PyType_Type) return count == 1 ? "" : "makes a class";
  if (type == &PyUnicode_Type) return count > 0 ? WhyNotFormat(arguments[0]) : "";
  if (type == Library().partial) return "";
  auto* root = const_cast<PyTypeObject*>(RootOf(type));
  const bool known = root == &PyBaseObject_Type || IsListed(root) || IsException(root) ||
                     IsModuleType(root);
  const Slots& python = SlotsOfPython();
  const ternaryfunc call = Py_TYPE(type)->tp_call;
  if (known && (type->tp_new == root->tp_new || type->tp_new == python.make) &&
      (type->tp_init == root->tp_init || type->tp_init == python.init) &&
      (call == PyType_Type.tp_call || call == python.call))
    return "";
  return Unlisted(StrCat("the type '", type->tp_name, "'"));
}

}  // namespace

std::string WhyNotFormat(PyObject* o) {
  if (o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) ||
      PyUnicode_CheckExact(o) || PyComplex_CheckExact(o) || PyType_Check(o) || IsTensor(o) ||
      IsException(Py_TYPE(o)))
    return "";
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
      if (std::string why = WhyNotFormat(PySequence_Fast_GET_ITEM(o, i)); !why.empty()) return why;
    }
    return "";
  }
  return StrCat("writes an object of type ", Py_TYPE(o)->tp_name,
                " as text, which may hold an address");
}

std::string WhyNotCall(PyObject* o, PyObject* const* arguments, Py_ssize_t count) {
  if (PyFunction_Check(o) || FunctionOfTraced(o)) return "";  // its code is watched
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
                 : WhyNotMethod(type, name);
    }
    if (std::string_view(name) == "format") {
      for (Py_ssize_t i = 0; i < count; ++i) {
        if (std::string why = WhyNotFormat(arguments[i]); !why.empty()) return why;
      }
    }
    return WhyNotMethod(RootOf(Py_TYPE(self)), name);
  }
  if (Py_IS_TYPE(o, &PyMethodDescr_Type) || Py_IS_TYPE(o, &PyWrapperDescr_Type) ||
      Py_IS_TYPE(o, &PyClassMethodDescr_Type)) {
    const auto* descr = reinterpret_cast<PyDescrObject*>(o);
    const char* name = PyUnicode_AsUTF8(descr->d_name);
    if (std::string_view(name) == "format") {
      for (Py_ssize_t i = 0; i < count; ++i) {
        if (std::string why = WhyNotFormat(arguments[i]); !why.empty()) return why;
      }
    }
    return WhyNotMethod(descr->d_type, name);
  }
  if (IsMethodWrapper(o)) {  // object.__init__ of an instance
    const Object home = Object::Steal(PyObject_GetAttrString(o, "__objclass__"));
    const Object name = Object::Steal(PyObject_GetAttrString(o, "__name__"));
    if (home && name && PyType_Check(home.get()))
      return WhyNotMethod(reinterpret_cast<PyTypeObject*>(home.get()), PyUnicode_AsUTF8(name.get()));
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
