// The dtype objects fz.float32 ...: one immortal Python object per row of core/dtypes.def.
// Called wherever a dtype crosses. Invariant: a dtype is one object, compared by identity.
#pragma once

#include <optional>

#include "bindings/python/py.h"
#include "core/dtype.h"

namespace frazil::python {

bool AddDTypes(PyObject* module);

// New reference.
PyObject* DTypeObject(DType dtype);
// Any spelling of a dtype: ours, NumPy's, a name, or bool/int/float. False with TypeError set.
bool ToDType(PyObject* object, const char* op, DType* out);
// The same without an error.
std::optional<DType> TryDType(PyObject* object);
// None gives nullopt.
bool ToOptionalDType(PyObject* object, const char* op, std::optional<DType>* out);
// The struct-module code of a dtype, null for bfloat16.
const char* FormatCode(DType dtype);

}  // namespace frazil::python
