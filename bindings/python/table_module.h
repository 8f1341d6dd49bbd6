// frazil._frazil.op_table(). Called by module.cc. Invariant: one dict for each row of core/ops.def.
#pragma once

#include <pybind11/pybind11.h>

namespace frazil::python {

void AddOpTable(pybind11::module_& module);

}  // namespace frazil::python
