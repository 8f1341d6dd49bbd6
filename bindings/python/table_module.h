// frazil._frazil.op_table(). Called by module.cc. Invariant: one dict for each row of core/ops.def.
#pragma once

#include <vector>

#include "bindings/python/args.h"

namespace frazil::python {

std::vector<FunctionRow> TableFunctions();

}  // namespace frazil::python
