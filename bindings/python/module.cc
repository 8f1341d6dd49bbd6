// The extension module frazil._frazil: assembles the tables of the other files and starts the
// library.
#include <pybind11/pybind11.h>

#include "autograd/grad.h"
#include "bindings/python/asmjit_stderr.h"
#include "bindings/python/dtype_type.h"
#include "bindings/python/functions.h"
#include "bindings/python/host.h"
#include "bindings/python/module_type.h"
#include "bindings/python/table_module.h"
#include "bindings/python/tensor_type.h"
#include "jit/runtime/register.h"

namespace {

using frazil::python::FunctionRow;

// Throws the Python error that is set.
void Must(bool ok) {
  if (!ok) throw pybind11::error_already_set();
}

pybind11::list PublicNames(const pybind11::module_& module) {
  pybind11::list names;
  for (const auto& item : pybind11::dict(module.attr("__dict__"))) {
    if (item.first.cast<std::string>()[0] != '_') names.append(item.first);
  }
  return names;
}

// _frazil.NAME; `home` is where users find the functions.
void AddSubmodule(pybind11::module_& module, const char* name, const char* home,
                  const std::vector<FunctionRow>& rows) {
  pybind11::module_ sub = module.def_submodule(name);
  Must(frazil::python::AddFunctions(sub.ptr(), home, rows));
}

}  // namespace

PYBIND11_MODULE(_frazil, module) {
  namespace fp = frazil::python;
  fp::SetAsmjitStderr();
  frazil::jit::RegisterJit();
  frazil::autograd::RegisterTape();
  fp::RegisterHost();

  module.doc() = "The compiled part of frazil; import `frazil` instead.";
  module.attr("__version__") = FRAZIL_VERSION;
  PyObject* m = module.ptr();
  Must(fp::AddDTypes(m) && fp::AddTensorType(m));
  for (const auto& rows : {fp::OpFunctions(), fp::MovementFunctions(), fp::OrderFunctions(),
                           fp::CreationFunctions()}) {
    Must(fp::AddFunctions(m, "frazil", rows));
  }
  module.attr("__all__") = PublicNames(module);  // what the package shows as its own

  Must(PyModule_AddObjectRef(m, "NpuFault", fp::NpuFaultType()) == 0);
  Must(fp::AddGradScopeType(m) && fp::AddTraceType(m) && fp::AddModuleType(m));
  fp::AddOpTable(module);
  AddSubmodule(module, "nn", "frazil.nn", fp::NnFunctions());
  AddSubmodule(module, "cuda", "frazil._frazil.cuda", fp::CudaFunctions());
  AddSubmodule(module, "npu", "frazil._frazil.npu", fp::NpuFunctions());
  AddSubmodule(module, "random", "frazil._frazil.random", fp::RandomFunctions());
  AddSubmodule(module, "autograd", "frazil._frazil.autograd", fp::AutogradFunctions());
  AddSubmodule(module, "runtime", "frazil._frazil.runtime", fp::RuntimeFunctions());
}
