// Tensors from Python data: numbers, nested sequences, buffers, NumPy arrays, DLPack. Called by
// asarray and by operands. Invariant: foreign memory is copied unless copying is forbidden; a
// failed import returns a tensor that is not ok() with a Python error set, or a tensor that carries
// the error.
#pragma once

#include <optional>

#include "bindings/python/tensor_type.h"
#include "core/default_dtype.h"

namespace frazil::python {

struct ImportOptions {
  std::optional<DType> dtype;
  std::optional<bool> copy;       // false: borrow or raise ValueError
  DType floats = DefaultFloat();  // of a nest of Python floats, if no dtype is given
};

Tensor FromObject(PyObject* object, const ImportOptions& options);
// Whether the object holds an array that FromObject can read without walking a sequence.
bool IsArrayLike(PyObject* object);
// Where obj.__dlpack_device__() says that its array is: a GPU, or the CPU for all else (dlpack.cc).
StatusOr<Device> ForeignDevice(PyObject* object);
// The stack of a tuple of arrays that have one shape and one dtype of numbers in the machine's byte
// order, copied once; undefined, without an error, for any others.
Tensor FromAlikeArrays(PyObject* items);
// Consumes obj.__dlpack__() (dlpack.cc).
Tensor FromDLPack(PyObject* object, const ImportOptions& options);

// Copies elements of `item_size` bytes to row-major order; strides in bytes. `swap` reverses each
// element's bytes.
void CopyStrided(char* to, const char* from, Dims dims, Dims strides, int item_size, bool swap);

}  // namespace frazil::python
