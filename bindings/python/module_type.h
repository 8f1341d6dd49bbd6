// frazil.nn.Module's base type: it notices every assignment to an attribute, so that a call by
// promise guards a module by one comparison. Called by nest.cc and, from Python, by frazil.nn.
// Invariant: a snapshot is what the module's attributes, its submodules' and the lists and dicts
// among them hold now.
#pragma once

#include <cstdint>
#include <vector>

#include "bindings/python/py.h"

namespace frazil::python {

struct ModuleSnapshot {
  uint64_t epoch = 0;           // of all modules' attributes, when it was taken
  uint64_t structure = 0;       // number of the words: equal for modules that hold the same
  std::vector<Object> tensors;  // in the order of the words
  // Mutable containers among the attributes, with the objects that they held.
  struct Container {
    Object object;
    std::vector<PyObject*> items;  // borrowed: `object` holds them while it is unchanged
  };
  std::vector<Container> containers;
};

bool IsModule(PyObject* object);
// The module's present snapshot. Null, perhaps with a Python error, if it cannot be taken.
const ModuleSnapshot* SnapshotOf(PyObject* module);
bool AddModuleType(PyObject* module);

}  // namespace frazil::python
