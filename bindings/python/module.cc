// The extension module frazil._frazil: assembles the tables of the other files and starts the
// library. Invariant: a process has one such module, in its main interpreter. Importing it again
// gives the same module, for types and tensors to stay what they were.
#include <algorithm>
#include <exception>
#include <iterator>

#include "autograd/grad.h"
#include "bindings/python/dtype_type.h"
#include "bindings/python/functions.h"
#include "bindings/python/host.h"
#include "bindings/python/library_types.h"
#include "bindings/python/module_type.h"
#include "bindings/python/table_module.h"
#include "bindings/python/tensor_type.h"
#include "bindings/python/tree_type.h"
#include "jit/register.h"

namespace frazil::python {
namespace {

PyObject* g_module = nullptr;  // once it is complete; lives as long as the interpreter
bool g_finalized = false;      // the interpreter that it lived in

// _frazil.NAME; `home` is where users find the functions.
struct Submodule {
  const char* name;
  const char* home;
  std::vector<FunctionRow> (*functions)();
};
constexpr Submodule kSubmodules[] = {
    {"nn", "frazil.nn", NnFunctions},
    {"fft", "frazil.fft", FourierFunctions},
    {"linalg", "frazil.linalg", LinalgFunctions},
    {"inside", "frazil._frazil.inside", InsideFunctions},
    {"sparse", "frazil._frazil.sparse", SparseFunctions},
    {"cuda", "frazil._frazil.cuda", CudaFunctions},
    {"npu", "frazil._frazil.npu", NpuFunctions},
    {"random", "frazil._frazil.random", RandomFunctions},
    {"autograd", "frazil._frazil.autograd", AutogradFunctions},
    {"transforms", "frazil._frazil.transforms", TransformFunctions},
    {"custom", "frazil._frazil.custom", CustomFunctions},
    {"program", "frazil._frazil.program", ProgramFunctions},
    {"runtime", "frazil._frazil.runtime", RuntimeFunctions},
    {"profile", "frazil._frazil.profile", ProfileFunctions},
    {"distributed", "frazil._frazil.distributed", DistributedFunctions},
    {"tree", "frazil._frazil.tree", TreeFunctions},
};

std::string PathOf(PyObject* module, const Submodule& sub) {
  const char* name = PyModule_GetName(module);
  return StrCat(name ? name : "", ".", sub.name);
}

// For `from frazil._frazil.nn import ...`: no file would be found.
bool ListSubmodules(PyObject* module) {
  for (const Submodule& sub : kSubmodules) {
    Object found = Object::Steal(PyObject_GetAttrString(module, sub.name));
    if (!found || PyDict_SetItemString(PyImport_GetModuleDict(), PathOf(module, sub).c_str(),
                                       found.get()) < 0)
      return false;
  }
  return true;
}

// What the package shows as its own.
bool AddPublicNames(PyObject* module) {
  Object names = Object::Steal(PyList_New(0));
  Py_ssize_t at = 0;
  PyObject *name, *value;
  while (names && PyDict_Next(PyModule_GetDict(module), &at, &name, &value)) {
    if (PyUnicode_READ_CHAR(name, 0) != '_' && PyList_Append(names.get(), name) < 0) return false;
  }
  return names && PyModule_AddObjectRef(module, "__all__", names.get()) == 0;
}

bool AddSubmodule(PyObject* module, const Submodule& sub) {
  Object made = Object::Steal(PyModule_New(PathOf(module, sub).c_str()));
  return made && AddFunctions(made.get(), sub.home, sub.functions()) &&
         AddPublicNames(made.get()) && PyModule_AddObjectRef(module, sub.name, made.get()) == 0;
}

bool AddAll(PyObject* module) {
  if (PyModule_AddStringConstant(module, "__version__", FRAZIL_VERSION) < 0 || !AddDTypes(module) ||
      !AddTensorType(module))
    return false;
  for (const auto& rows : {OpFunctions(), CompositeFunctions("frazil"), FunctionsOf("frazil"),
                           MovementFunctions(), OrderFunctions(), CreationFunctions()}) {
    if (!AddFunctions(module, "frazil", rows)) return false;
  }
  return AddPublicNames(module) && PyModule_AddObjectRef(module, "NpuFault", NpuFaultType()) == 0 &&
         PyModule_AddObjectRef(module, "LinAlgError", LinAlgErrorType()) == 0 &&
         AddGradScopeType(module) && AddTransformTypes(module) && AddTraceType(module) &&
         AddModuleType(module) && AddStructureType(module) &&
         AddFunctions(module, "frazil._frazil", TableFunctions()) &&
         std::all_of(std::begin(kSubmodules), std::end(kSubmodules),
                     [&](const Submodule& sub) { return AddSubmodule(module, sub); }) &&
         ListSubmodules(module);
}

PyObject* Create(PyObject* spec, PyModuleDef*) {
  const char* refusal = nullptr;
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    refusal =
        "[import] frazil cannot be imported in a subinterpreter: its tensors are shared by the "
        "whole process. Import it in the main interpreter.";
  } else if (g_finalized) {
    refusal =
        "[import] frazil cannot be imported after the interpreter was finalized and started again: "
        "what it keeps belongs to the first one. Import it once per process.";
  }
  if (refusal) {
    PyErr_SetString(PyExc_ImportError, refusal);
    return nullptr;
  }
  if (g_module) return ListSubmodules(g_module) ? Py_NewRef(g_module) : nullptr;
  Object name = Object::Steal(PyObject_GetAttrString(spec, "name"));
  return name ? PyModule_NewObject(name.get()) : nullptr;
}

int Execute(PyObject* module) {
  if (module == g_module) return 0;
  try {
    jit::RegisterJit();
    autograd::RegisterTape();
    RegisterHost();
    if (!LoadLibraryTypes() || !AddAll(module)) return -1;
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ImportError, error.what());
    return -1;
  }
  if (Py_AtExit([] { g_finalized = true; }) < 0) {
    PyErr_SetString(PyExc_ImportError, "[import] the interpreter takes no more exit functions.");
    return -1;
  }
  g_module = Py_NewRef(module);
  return 0;
}

PyModuleDef_Slot slots[] = {
    {Py_mod_create, reinterpret_cast<void*>(Create)},
    {Py_mod_exec, reinterpret_cast<void*>(Execute)},
#if PY_VERSION_HEX >= 0x030C0000
    // So that Create is asked, which says why it refuses.
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, nullptr},
};
PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                          .m_name = "_frazil",
                          .m_doc = "The compiled part of frazil; import `frazil` instead.",
                          .m_slots = slots};

}  // namespace
}  // namespace frazil::python

PyMODINIT_FUNC PyInit__frazil() { return PyModuleDef_Init(&frazil::python::definition); }
