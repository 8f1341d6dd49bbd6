// The Python type of structures, frazil.tree.Structure: compared, hashed, printed, put together
// with leaves. Called by tree_module.cc and module.cc. Invariant: a structure never changes.
#pragma once

#include "bindings/python/tree.h"

namespace frazil::python {

bool AddStructureType(PyObject* module);
bool IsStructure(PyObject* object);
const Tree& TreeOf(PyObject* structure);
PyObject* NewStructure(Tree tree);

}  // namespace frazil::python
