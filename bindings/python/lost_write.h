// Writes that nobody can see: `a[0][1] = v`, `a.T[0] = v`. A tensor is a cell of its own, so such a
// statement changes what the expression made and then lets go of it. Called where a statement
// assigns to a tensor's elements. Invariant: a write that somebody can see is never
// taken for one of these; a write through a function (operator.setitem) is not either, although it
// may be lost.
#pragma once

#include "bindings/python/tensor_type.h"

namespace frazil::python {

bool IsLostWriteSlow(PyObject* self);

// Whether the statement that runs assigns to elements of `self`, which only the interpreter's stack
// holds.
inline bool IsLostWrite(PyObject* self) {
  return __builtin_expect(Py_REFCNT(self) == 1, 0) && IsLostWriteSlow(self);
}

}  // namespace frazil::python
