// Errors for names of NumPy, PyTorch and JAX that frazil has under another name. The rows stand in
// other_names.def. Called by tensor_type.cc (methods), args.cc (keywords) and, through
// frazil._frazil.other_names(), by the package (names of modules, ufuncs, the page for newcomers).
// Invariant: what is there costs nothing; the table is read only where something is missing.
#pragma once

#include <string_view>

#include "bindings/python/py.h"

namespace frazil::python {

// The tensor's base: attributes that raise AttributeError and tell what to write. A base of its
// own, so that help() lists them apart; the tensor's lookup of what it has stays CPython's own.
PyTypeObject* OtherNamesType();

// dir() of a tensor, without those attributes.
PyObject* DirWithoutOtherNames(PyObject* self, PyObject*);

// What this library calls a keyword of another one; empty if there is no row.
std::string_view KeywordHere(std::string_view keyword);

// {"module": {theirs: ours}, "tensor": ..., "random": ..., "keyword": ...}
PyObject* OtherNames();

}  // namespace frazil::python
