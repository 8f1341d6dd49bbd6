// From Python objects to operands, axes, shapes and numbers. Called by every function of the
// module. Invariant: each returns false with a Python error set, or fills its output.
#pragma once

#include <optional>

#include "absl/container/inlined_vector.h"
#include "bindings/python/args.h"
#include "bindings/python/tensor_type.h"
#include "core/functions/ops.h"

namespace frazil::python {

using DimVec = absl::InlinedVector<int64_t, 8>;

// A bool, int, float or complex as a weak scalar. False without an error if the object is none of them.
bool TryScalar(PyObject* object, Scalar* out);

// What counts as an array beside another operand.
inline bool IsNest(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }

// An operand of an op: a tensor, a Python number (weak), an array of NumPy's kind (copied) or,
// beside another operand, a list or tuple (copied, by the rules of asarray).
class Operand {
 public:
  // Tries the fast kinds first. `strict` raises TypeError for what is no operand; otherwise returns
  // false without an error, so that a number slot can answer NotImplemented.
  // `beside`: the other operand; beside one that computes in float64 a list of floats is float64.
  bool Load(PyObject* object, const char* op, bool strict, PyObject* beside = nullptr) {
    if (IsTensor(object)) {
      tensor_ = &CellOf(object);
      return true;
    }
    if (TryScalar(object, &scalar_)) return true;
    return LoadForeign(object, op, strict, beside);
  }
  Arg arg() const { return tensor_ ? Arg(*tensor_) : Arg(scalar_); }
  const Tensor* tensor() const { return tensor_; }
  const Scalar& scalar() const { return scalar_; }

 private:
  bool LoadForeign(PyObject* object, const char* op, bool strict, PyObject* beside);

  const Tensor* tensor_ = nullptr;
  Scalar scalar_;
  Tensor own_;
};

// A tensor from an operand; numbers get their default dtype.
bool ToTensor(PyObject* object, const char* op, Tensor* out);
// The same without copying a cell: a pointer to the object's own, or to *own.
const Tensor* TensorOf(PyObject* object, const char* op, Tensor* own);

// Not a bool; OverflowError for one over 64 bits.
bool ToInt(PyObject* object, const char* op, const char* what, int64_t* out);
bool ToDouble(PyObject* object, const char* op, const char* what, double* out);
// An int, a float, or what becomes one: an array without axes, a number of another library.
bool ToNumber(PyObject* object, const char* op, const char* what, Scalar* out);
// True, False, 0, 1 or NumPy's; absent: `fallback`.
bool ToBool(PyObject* object, const char* op, const char* what, bool fallback, bool* out);
// An integer, which an array without axes is too, although it looks like a sequence.
bool IsOneInt(PyObject* object);
// None or absent: all axes.
bool ToAxes(PyObject* object, const char* op, Axes* out);
// An int or a sequence of ints.
bool ToInts(PyObject* object, const char* op, const char* what, DimVec* out);
// The same for extents; MemoryError for one over 64 bits.
bool ToDims(PyObject* object, const char* op, DimVec* out);
// None or absent: the CPU.
bool ToDevice(PyObject* object, const char* op, Device* out);
// The same, but None is an error.
bool NamesDevice(PyObject* object, const char* op, Device* out);
// Sets BufferError for memory that DLPack has no name for.
bool HasDLPackDevice(Device device);
// A list, tuple or other sequence of operands.
bool ToTensors(PyObject* object, const char* op, std::vector<Tensor>* out);

}  // namespace frazil::python
