// x[...], x[...] = v, len, iteration and `in`.
#include <algorithm>

#include "bindings/python/convert.h"
#include "bindings/python/import.h"
#include "bindings/python/item.h"
#include "bindings/python/lost_write.h"
#include "bindings/python/proof/watch.h"
#include "bindings/python/sequence.h"
#include "core/functions/composites.h"
#include "core/functions/replace.h"
#include "jit/eager/eager.h"

namespace frazil::python {
namespace {

using IndexVec = absl::InlinedVector<Index, 4>;

bool SliceBound(PyObject* bound, std::optional<int64_t>* out) {
  if (bound == Py_None) return true;
  Object index = Object::Steal(PyNumber_Index(bound));
  if (!index) return false;
  int overflow;  // bounds beyond 64 bits clip, as everywhere in Python
  const long long v = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  *out = overflow ? (overflow > 0 ? INT64_MAX : INT64_MIN) : v;
  return true;
}

bool ToIndexArray(PyObject* key, Index* out) {
  out->kind = Index::Kind::kTensor;
  if (IsTensor(key)) {
    out->tensor = CellOf(key);
  } else if (PyBool_Check(key) || IsArrayLike(key) || IsSequence(key)) {
    const bool nest = IsSequence(key) && !IsArrayLike(key);
    out->tensor = FromObject(key, {});
    // As in NumPy, what has no element is a list of integers.
    if (nest && out->tensor.ok() && out->tensor.size() == 0)
      out->tensor = ops::astype(out->tensor, DType::kI64);
    if (!out->tensor.ok()) {
      if (!PyErr_Occurred()) Raise(out->tensor.status());
      return false;
    }
  } else {
    Raise(
        IndexError("[getitem] only integers, slices (`:`), ellipsis (`...`), None and integer or "
                   "bool arrays are valid "
                   "indices, got ",
                   Py_TYPE(key)->tp_name, "."));
    return false;
  }
  const DType dtype = out->tensor.dtype();
  if (IsInt(dtype) || IsBool(dtype)) return true;
  Raise(IndexError("[getitem] arrays used as indices must be of integer or bool type, got ",
                   Describe(out->tensor), "."));
  return false;
}

bool ToIndex(PyObject* key, Index* out) {
  if (key == Py_None) {
    out->kind = Index::Kind::kNewAxis;
  } else if (key == Py_Ellipsis) {
    out->kind = Index::Kind::kEllipsis;
  } else if (PySlice_Check(key)) {
    out->kind = Index::Kind::kSlice;
    auto* slice = reinterpret_cast<PySliceObject*>(key);
    if (!SliceBound(slice->start, &out->start) || !SliceBound(slice->stop, &out->stop) ||
        !SliceBound(slice->step, &out->step)) {
      return false;
    }
    if (out->step && *out->step == 0) {
      Raise(ValueError("[getitem] slice step cannot be zero."));
      return false;
    }
  } else if (PyLong_Check(key) && !PyBool_Check(key)) {
    out->kind = Index::Kind::kInt;
    int overflow;
    out->i = PyLong_AsLongLongAndOverflow(key, &overflow);
    if (overflow) {
      Raise(IndexError("[getitem] the integer is out of bounds for 64 bits."));
      return false;
    }
  } else {
    return ToIndexArray(key, out);
  }
  return true;
}

bool ToIndices(PyObject* key, IndexVec* out) {
  if (!PyTuple_Check(key)) {
    out->resize(1);
    return ToIndex(key, &(*out)[0]);
  }
  out->resize(static_cast<size_t>(PyTuple_GET_SIZE(key)));
  for (size_t i = 0; i < out->size(); ++i) {
    if (!ToIndex(PyTuple_GET_ITEM(key, static_cast<Py_ssize_t>(i)), &(*out)[i])) return false;
  }
  return true;
}

int64_t AxesOf(const Index& index) {
  if (index.kind == Index::Kind::kNewAxis || index.kind == Index::Kind::kEllipsis) return 0;
  const bool mask = index.kind == Index::Kind::kTensor && IsBool(index.tensor.dtype());
  return mask ? index.tensor.rank() : 1;
}

// Integers that move from call to call become index arrays without axes, which mean the same.
void FollowIntegers(const Tensor& x, PyObject* key, IndexVec* index) {
  int64_t used = 0;
  for (const Index& i : *index) used += AxesOf(i);
  const bool fits = x.ok() && used <= x.rank() && x.device() == Device();
  int64_t axis = 0;
  for (size_t i = 0; i < index->size(); ++i) {
    PyObject* entry = PyTuple_Check(key) ? PyTuple_GET_ITEM(key, static_cast<Py_ssize_t>(i)) : key;
    Index& one = (*index)[i];
    if (!fits || one.kind != Index::Kind::kInt) {
      g_following->Asks(entry);
    } else if (const Tensor* position = g_following->Position(entry, x.dims()[axis])) {
      one.kind = Index::Kind::kTensor;
      one.tensor = *position;
      one.normal = true;
    }
    axis += one.kind == Index::Kind::kEllipsis ? x.rank() - used : AxesOf(one);
  }
}

bool IndicesOf(const Tensor& x, PyObject* key, IndexVec* out) {
  if (!ToIndices(key, out)) return false;
  if (__builtin_expect(g_following != nullptr, 0)) FollowIntegers(x, key, out);
  return true;
}

PyObject* GetItem(PyObject* self, PyObject* key) {
  const ErrorName error_name("getitem");
  IndexVec index;
  if (!IndicesOf(CellOf(self), key, &index)) return nullptr;
  return Wrap(ops::getitem(CellOf(self), index));
}

int SetItem(PyObject* self, PyObject* key, PyObject* value) {
  const ErrorName error_name("setitem");
  Tensor& cell = CellOf(self);
  if (!value) return RaiseInt(TypeError("[setitem] elements of a tensor cannot be deleted."));
  if (IsLostWrite(self)) {
    return RaiseInt(TypeError(
        "[setitem] the write would be lost: nothing but this statement holds the ", Describe(cell),
        " that it assigns to, which is no part of another tensor. Instead of "
        "`a[0][1] = v` write `a[0, 1] = v`, instead of `a.T[0] = v` `a[:, 0] = v`, and "
        "instead of `p.grad[0] = v` `g = p.grad; g[0] = v; p.grad = g`."));
  }
  IndexVec index;
  if (!IndicesOf(cell, key, &index)) return -1;
  Scalar scalar;
  Tensor v;
  if (TryScalar(value, &scalar)) {
    // Weak, but a float does not turn an integer tensor into another dtype: it is truncated, as in
    // NumPy.
    v = ops::scalar(scalar, cell.dtype());
  } else if (IsSequence(value) && !IsTensor(value) && !IsArrayLike(value)) {
    v = FromObject(value, {});
  } else if (!ToTensor(value, "setitem", &v)) {
    return -1;
  }
  if (!v.ok()) return PyErr_Occurred() ? -1 : RaiseInt(v.status());
  v = ops::astype(v, cell.dtype());
  Tensor result;
  if (ops::IsKept(cell) || NeedsGrad(State(), v)) {
    result = ops::setitem(cell, index, v);
  } else {
    const jit::OverwriteScope spent(cell.value());
    result = ops::setitem(cell, index, v);
  }
  return Assign("setitem", &cell, std::move(result)) ? 0 : -1;
}

Py_ssize_t Length(PyObject* self) {
  const Tensor& x = CellOf(self);
  if (x.rank() == 0) return RaiseInt(TypeError("[len] a 0-d tensor has no length."));
  return x.dims()[0];
}

PyObject* Row(PyObject* self, Py_ssize_t i) {
  const Tensor& x = CellOf(self);
  if (x.rank() == 0 || i < 0 || i >= x.dims()[0]) {
    return Raise(IndexError("[getitem] ", i, " is out of range for ", Describe(x), "."));
  }
  Index index{Index::Kind::kInt};
  index.i = i;
  return Wrap(ops::getitem(x, {&index, 1}));
}

int Contains(PyObject* self, PyObject* item) {
  Object equal = Object::Steal(CompareTensors(self, item, Py_EQ));
  if (!equal) return -1;
  if (!IsTensor(equal.get())) return 0;
  Object any = Object::Steal(Wrap(ops::any(CellOf(equal.get()))));
  return any ? PyObject_IsTrue(any.get()) : -1;
}

}  // namespace

constinit PySequenceMethods sequence_protocol = [] {
  PySequenceMethods s = {};
  s.sq_length = Length;
  s.sq_item = Row;
  s.sq_contains = Contains;
  return s;
}();
PyMappingMethods mapping_protocol = {Length, GetItem, SetItem};

PyObject* IterateTensor(PyObject* self) {
  if (CellOf(self).rank() == 0)
    return Raise(TypeError("[iter] a 0-d tensor has no elements to iterate over."));
  return PySeqIter_New(self);
}

}  // namespace frazil::python
