// Classes of Python's library that nests are read by. Called by module.cc, once, and by
// class_info.cc and nest.cc. Invariant: they are there as soon as the module is; looked for later,
// an import could let another thread go on that waits for the one that imports.
#pragma once

#include "bindings/python/py.h"

namespace frazil::python {

struct LibraryTypes {  // for the life of the process
  PyTypeObject* enumeration;
  PyTypeObject* default_dict;
  PyTypeObject* deque;
  PyTypeObject* partial;
  PyTypeObject* type_union;  // int | None
  PyObject* field;           // what a dataclass's field proper is marked with
};
const LibraryTypes& Library();

// False with a Python error.
bool LoadLibraryTypes();

}  // namespace frazil::python
