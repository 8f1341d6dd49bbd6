#include "bindings/python/sequence.h"

#include <cstring>

#include "bindings/python/convert.h"
#include "core/functions/composites.h"

namespace frazil::python {
namespace {

// What a first walk over the nest finds.
struct Nest {
  DimVec dims;
  int leaf_depth = -1;
  bool any = false;
  bool big = false;  // an int that needs uint64
  Scalar::Kind kind = Scalar::Kind::kBool;
  std::vector<Tensor> arrays;  // leaves that are tensors or arrays, in order
  Status status;               // why the walk stopped
};

bool Stop(Nest* nest, Status status) {
  nest->status = std::move(status);
  return false;
}

bool Walk(PyObject* object, int depth, Nest* nest);

bool WalkItems(PyObject* object, int depth, Nest* nest) {
  Object fast = Object::Steal(PySequence_Fast(object, "asarray"));
  if (!fast) return false;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.get());
  if (nest->leaf_depth >= 0 && depth >= nest->leaf_depth) {
    return Stop(
        nest, ValueError("[asarray] a sequence stands where another has a number, at depth ", depth,
                         "."));
  }
  if (depth == kMaxRank)
    return Stop(nest, ValueError("[asarray] sequences are nested deeper than ", kMaxRank, "."));
  if (static_cast<int>(nest->dims.size()) == depth) {
    nest->dims.push_back(n);
  } else if (nest->dims[depth] != n) {
    return Stop(nest, ValueError("[asarray] nested sequences have different lengths: ",
                                 nest->dims[depth], " and ", n, " at depth ", depth, "."));
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!Walk(PySequence_Fast_GET_ITEM(fast.get(), i), depth + 1, nest)) return false;
  }
  return true;
}

bool Walk(PyObject* object, int depth, Nest* nest) {
  Scalar scalar;
  const bool number = TryScalar(object, &scalar);
  if (!number && !IsTensor(object) && !IsArrayLike(object)) {
    if (IsSequence(object)) return WalkItems(object, depth, nest);
    return Stop(nest,
                TypeError("[asarray] cannot make a tensor from ", Py_TYPE(object)->tp_name, "."));
  }
  if (nest->leaf_depth < 0) nest->leaf_depth = depth;
  if (nest->leaf_depth != depth || static_cast<int>(nest->dims.size()) != depth) {
    return Stop(
        nest, ValueError("[asarray] a number stands where another has a sequence, at depth ", depth,
                         "."));
  }
  nest->any = true;
  if (number) {
    nest->kind = std::max(nest->kind, scalar.kind);
    nest->big |= scalar.big;
    return true;
  }
  Tensor t = FromObject(object, {});
  if (!t.ok()) {
    if (!PyErr_Occurred()) nest->status = t.status();
    return false;
  }
  nest->arrays.push_back(std::move(t));
  return true;
}

// Writes the numbers of the nest, in row-major order, as `dtype`.
Status Fill(PyObject* object, int depth, int rank, DType dtype, char** to) {
  if (depth < rank) {
    Object fast = Object::Steal(PySequence_Fast(object, "asarray"));
    for (Py_ssize_t i = 0; fast && i < PySequence_Fast_GET_SIZE(fast.get()); ++i) {
      FZ_RETURN_IF_ERROR(Fill(PySequence_Fast_GET_ITEM(fast.get(), i), depth + 1, rank, dtype, to));
    }
    return absl::OkStatus();
  }
  Scalar scalar;
  TryScalar(object, &scalar);
  uint64_t bits;
  if (scalar.kind == Scalar::Kind::kFloat) {
    bits = BitsOf(dtype, scalar.f);
  } else if (scalar.kind == Scalar::Kind::kInt && dtype == DType::kI64 && !scalar.big &&
             !scalar.beyond()) {
    bits = static_cast<uint64_t>(scalar.i);
  } else {
    FZ_ASSIGN_OR_RETURN(const ValueRef value, ToImmediate("asarray", scalar, dtype));
    bits = value->imm;
  }
  std::memcpy(*to, &bits, static_cast<size_t>(SizeOf(dtype)));
  *to += SizeOf(dtype);
  return absl::OkStatus();
}

// The nest as stacks of its tensors; numbers among them become `dtype`.
Tensor Stack(PyObject* object, int depth, int rank, DType dtype, size_t* next,
             const std::vector<Tensor>& arrays) {
  if (depth == rank) {
    Scalar scalar;
    return TryScalar(object, &scalar) ? ops::scalar(scalar, dtype)
                                      : ops::astype(arrays[(*next)++], dtype);
  }
  Object fast = Object::Steal(PySequence_Fast(object, "asarray"));
  std::vector<Tensor> items;
  for (Py_ssize_t i = 0; fast && i < PySequence_Fast_GET_SIZE(fast.get()); ++i) {
    items.push_back(
        Stack(PySequence_Fast_GET_ITEM(fast.get(), i), depth + 1, rank, dtype, next, arrays));
  }
  return ops::stack(items, 0);
}

}  // namespace

bool IsSequence(PyObject* o) {
  return PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o) && !PyByteArray_Check(o) &&
         !PyDict_Check(o);
}

Tensor FromSequence(PyObject* object, const ImportOptions& options) {
  Nest nest;
  if (!Walk(object, 0, &nest)) return nest.status.ok() ? Tensor() : Tensor(nest.status);
  const int rank = static_cast<int>(nest.dims.size());
  const DType number = nest.big ? DType::kU64 : DefaultFor(nest.kind);
  if (!nest.arrays.empty()) {
    DType dtype = nest.arrays[0].dtype();
    for (const Tensor& t : nest.arrays) dtype = Promote(dtype, t.dtype());
    dtype = Promote(dtype, nest.kind);
    size_t next = 0;
    return Stack(object, 0, rank, options.dtype.value_or(dtype), &next, nest.arrays);
  }
  const DType dtype = options.dtype.value_or(nest.any ? number : DType::kF32);
  if (Status s = CheckDims("asarray", nest.dims, SizeOf(dtype)); !s.ok())
    return Tensor(std::move(s));
  auto value = Value::Allocate(dtype, Device(), Dense(nest.dims));
  if (!value.ok()) return Tensor(std::move(value).status());
  char* to = (*value)->data;
  if (Status s = Fill(object, 0, rank, dtype, &to); !s.ok()) return Tensor(std::move(s));
  return Tensor(*std::move(value));
}

}  // namespace frazil::python
