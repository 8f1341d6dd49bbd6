// The module's functions, one table a subject. Called by module.cc and, as methods, by
// tensor_methods.cc. Invariant: the rows of core/ops.def and of the tables of core/functions are
// expanded, not listed.
#pragma once

#include <vector>

#include "bindings/python/args.h"

namespace frazil::python {

std::vector<FunctionRow> OpFunctions();  // ops_module.cc: the elementwise and reduction rows
std::vector<FunctionRow> CompositeFunctions(std::string_view where);  // composites_module.cc
std::vector<FunctionRow> FunctionsOf(std::string_view where);         // functions_module.cc
std::vector<FunctionRow> InsideFunctions();        // functions_module.cc: frazil._frazil.inside
std::vector<FunctionRow> MovementFunctions();      // movement_module.cc
std::vector<FunctionRow> OrderFunctions();         // order_module.cc
std::vector<FunctionRow> CreationFunctions();      // creation_module.cc
std::vector<FunctionRow> RandomFunctions();        // creation_module.cc: frazil._frazil.random
std::vector<FunctionRow> DistributionFunctions();  // distributions_module.cc: the same
std::vector<FunctionRow> FourierFunctions();       // creation_module.cc: frazil._frazil.fft
std::vector<FunctionRow> NnFunctions();            // nn_module.cc
std::vector<FunctionRow> LinalgFunctions();        // linalg_module.cc: frazil._frazil.linalg
std::vector<FunctionRow> SparseFunctions();        // sparse_module.cc: frazil._frazil.sparse
std::vector<FunctionRow> CudaFunctions();          // cuda_module.cc: frazil._frazil.cuda
std::vector<FunctionRow> NpuFunctions();           // npu_module.cc: frazil._frazil.npu
std::vector<FunctionRow> AutogradFunctions();      // autograd_module.cc
std::vector<FunctionRow> TransformFunctions();     // transform_module.cc
std::vector<FunctionRow> CustomFunctions();        // custom_module.cc
std::vector<FunctionRow> ProgramFunctions();       // program_module.cc: frazil._frazil.program
std::vector<FunctionRow> RuntimeFunctions();       // runtime_module.cc
std::vector<FunctionRow> ProfileFunctions();       // profile_module.cc: frazil._frazil.profile
std::vector<FunctionRow>
DistributedFunctions();                    // distributed_module.cc: frazil._frazil.distributed
std::vector<FunctionRow> TreeFunctions();  // tree_module.cc: frazil._frazil.tree
bool AddTraceType(PyObject* module);       // trace_module.cc
// Whether code with these globals is of the package, told by the name of their module. Paths do not
// tell: the user's project may lie in a folder of the same name, and the package behind links or
// relative entries of sys.path.
bool IsOfPackage(PyObject* globals);  // trace_module.cc
PyObject* FunctionOfTraced(
    PyObject* object);  // trace_module.cc: borrowed; null if it is not traced
// What is known of a call of a traced function: learnt_call.h.
PyObject* LearntOf(PyObject* traced, PyObject* const* args, size_t nargsf,
                   PyObject* kwnames);     // trace_module.cc
bool AddGradScopeType(PyObject* module);   // autograd_module.cc
bool AddTransformTypes(PyObject* module);  // transform_module.cc

}  // namespace frazil::python
