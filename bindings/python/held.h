// Operands of functions that run several ops: between them another thread may replace the content
// of the cell that was given. Called by the modules of composites. Invariant: *own keeps the
// content that the cell had at the call.
#pragma once

#include "bindings/python/convert.h"

namespace frazil::python {

inline const Tensor* HeldTensor(PyObject* object, const char* op, Tensor* own) {
  const Tensor* t = TensorOf(object, op, own);
  if (t && t != own) *own = *t;
  return t ? own : nullptr;
}

}  // namespace frazil::python
