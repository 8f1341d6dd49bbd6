// The base of modules, optimizers and generators (frazil/_tracked.py): it notices every assignment
// to an attribute, so that a call by promise guards one by one comparison. Called by nest.cc and,
// from Python, by frazil._tracked. Invariant: a snapshot that is current is what the module's
// attributes, its submodules', its class's and the lists and dicts among them hold now. Assignments
// are counted; what can change without one is looked at again.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bindings/python/py.h"

namespace frazil::python {

struct ModuleSnapshot {
  uint64_t epoch = 0;           // of all modules' attributes, when it was taken
  uint64_t structure = 0;       // number of the words: equal for modules that hold the same
  std::vector<Object> tensors;  // in the order of the words
  // The dicts of attributes and the lists and dicts among the attributes, with what they held.
  // Their items are kept alive, for another object at the same address to be seen as another.
  struct Container {
    Object object;
    uint64_t version;  // of a dict: the same only while it is unchanged
    std::vector<Object> items;
  };
  std::vector<Container> containers;
  std::vector<std::pair<Object, unsigned>> types;  // of what it holds, with their versions
  bool has_default = false;  // the default generator's state is among the tensors
  bool is_volatile = false;  // holds what may change unseen: it is taken anew at every look
  std::string refusal;       // why the module cannot be compared; empty if it can
  std::string foreign;       // why a proof does not reach it (Nest::RefuseForeign)
};

// Every snapshot is looked at anew: an attribute, or what a tensor is to modules, has changed.
void NoteAttributeChange();

bool IsModule(PyObject* object);
// A method of ModuleBase itself.
bool IsMethodOfModules(const PyMethodDef* method);
bool IsModuleType(const PyTypeObject* type);  // ModuleBase itself
bool IsModuleSubtype(PyTypeObject* type);
// The module's present snapshot. Null, perhaps with a Python error, if it cannot be taken.
const ModuleSnapshot* SnapshotOf(PyObject* module);
bool AddModuleType(PyObject* module);

}  // namespace frazil::python
