// Tensors from nested lists and tuples. Called by import.cc.
// Invariant: numbers alone give bool, int64 or float32; tensors and arrays inside are stacked
// (gradients flow to them).
#pragma once

#include "bindings/python/import.h"

namespace frazil::python {

bool IsSequence(PyObject* object);
Tensor FromSequence(PyObject* object, const ImportOptions& options);

}  // namespace frazil::python
