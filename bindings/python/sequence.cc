#include "bindings/python/sequence.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "bindings/python/convert.h"
#include "bindings/python/proof/watch.h"
#include "core/functions/composites.h"

namespace frazil::python {
namespace {

// A nest that has been read. Items may run code of the user's (`__array__`, attributes), which may
// change the sequences they stand in: before the first that may, the lists at hand are copied into
// tuples, and so are all sequences from then on. Nothing is read twice.
struct Rows {
  DimVec dims;
  int leaf_depth = -1;
  bool any = false;
  bool big = false;  // an int that needs uint64
  Scalar::Kind kind = Scalar::Kind::kBool;
  std::vector<Object> rows;    // the innermost sequences, in order: tuples and lists
  std::vector<Object*> open;   // the sequences that are being walked
  bool ran_code = false;       // every sequence is a tuple
  std::vector<Tensor> arrays;  // leaves that are tensors or arrays, in order
  Status status;               // why the walk stopped
};

bool Stop(Rows* nest, Status status) {
  nest->status = std::move(status);
  return false;
}

// Called before what may run code of the user's. False with an error set.
bool CopyLists(Rows* nest) {
  if (std::exchange(nest->ran_code, true)) return true;
  const auto copy = [](Object* sequence) {
    *sequence = Object::Steal(PySequence_Tuple(sequence->get()));
    return static_cast<bool>(*sequence);
  };
  for (Object& row : nest->rows) {
    if (!copy(&row)) return false;
  }
  return std::all_of(nest->open.begin(), nest->open.end(), copy);
}

bool IsPlainSequence(PyObject* o) { return PyList_CheckExact(o) || PyTuple_CheckExact(o); }

bool Walk(PyObject* object, int depth, Rows* nest);

bool WalkItems(PyObject* object, int depth, Rows* nest) {
  if (!IsPlainSequence(object) && !CopyLists(nest)) return false;
  Object row = nest->ran_code ? Object::Steal(PySequence_Tuple(object)) : Object::Share(object);
  if (!row) return false;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(row.get());
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
  nest->open.push_back(&row);
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!Walk(PySequence_Fast_GET_ITEM(row.get(), i), depth + 1, nest)) return false;
  }
  nest->open.pop_back();
  if (nest->leaf_depth == depth + 1) nest->rows.push_back(std::move(row));
  return true;
}

bool Walk(PyObject* object, int depth, Rows* nest) {
  Scalar scalar;
  const bool number = TryScalar(object, &scalar);
  if (!number && IsPlainSequence(object)) return WalkItems(object, depth, nest);
  if (!number && !IsTensor(object) && !CopyLists(nest)) return false;
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

// Calls use(number or null, item) for each leaf, in row-major order: null for a tensor or an array.
template <typename Use>
Status ForLeaves(const Rows& nest, const Use& use) {
  for (const Object& row : nest.rows) {
    // Another thread may change a list while memory for the array is looked for.
    if (PySequence_Fast_GET_SIZE(row.get()) != nest.dims.back())
      return RuntimeError("[asarray] a list changed its length while it was read.");
    for (Py_ssize_t i = 0; i < nest.dims.back(); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(row.get(), i);
      Scalar scalar;
      const bool number = TryScalar(item, &scalar);
      FZ_RETURN_IF_ERROR(use(number ? &scalar : nullptr, item));
    }
  }
  return absl::OkStatus();
}

StatusOr<uint64_t> BitsAs(const Scalar& scalar, DType dtype) {
  if (scalar.kind == Scalar::Kind::kFloat && !IsComplex(dtype)) return BitsOf(dtype, scalar.f);
  if (scalar.kind == Scalar::Kind::kInt && dtype == DType::kI64 && !scalar.big && !scalar.beyond())
    return static_cast<uint64_t>(scalar.i);
  FZ_ASSIGN_OR_RETURN(const ValueRef value, ToImmediate("asarray", scalar, dtype));
  return value->imm;
}

// Writes the numbers of the nest as `dtype`.
Status Fill(const Rows& nest, DType dtype, char* to) {
  const auto size = static_cast<size_t>(SizeOf(dtype));
  return ForLeaves(nest, [&](const Scalar* scalar, PyObject*) -> Status {
    if (!scalar) return RuntimeError("[asarray] a list changed its items while it was read.");
    if (IsComplex(dtype)) {
      for (const double part : {scalar->AsDouble(), scalar->im}) {
        const uint64_t bits = BitsOf(PartOf(dtype), part);
        std::memcpy(to, &bits, size / 2);
        to += size / 2;
      }
      return absl::OkStatus();
    }
    FZ_ASSIGN_OR_RETURN(const uint64_t bits, BitsAs(*scalar, dtype));
    std::memcpy(to, &bits, size);
    to += size;
    return absl::OkStatus();
  });
}

// The nest as a stack of its tensors; numbers among them become `dtype`.
Tensor Stack(const Rows& nest, DType dtype) {
  std::vector<Tensor> items;
  size_t next = 0;
  ForLeaves(nest, [&](const Scalar* scalar, PyObject* item) {
    const Tensor* moving = scalar && g_following ? g_following->Element(item, dtype) : nullptr;
    items.push_back(moving   ? ops::copy(*moving)  // a view of a number is none of its source
                    : scalar ? ops::scalar(*scalar, dtype)
                             : ops::astype(nest.arrays.at(next++), dtype));
    return absl::OkStatus();
  }).IgnoreError();
  const Tensor stacked = ops::stack(items, 0);
  if (!stacked.ok() || nest.dims.size() == 1) return stacked;
  DimVec dims = nest.dims;
  dims.insert(dims.end(), stacked.dims().begin() + 1, stacked.dims().end());
  return ops::reshape(stacked, dims);
}

// Whether numbers among them move from call to call.
bool Follows(const Rows& nest, DType dtype) {
  bool any = false;
  ForLeaves(nest, [&](const Scalar*, PyObject* item) {
    any |= g_following->Element(item, dtype) != nullptr;
    return absl::OkStatus();
  }).IgnoreError();
  return any;
}

}  // namespace

bool IsSequence(PyObject* o) {
  return PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o) && !PyByteArray_Check(o) &&
         !PyDict_Check(o);
}

Tensor FromSequence(PyObject* object, const ImportOptions& options) {
  if (IsPlainSequence(object) && PySequence_Fast_GET_SIZE(object) > 0 && g_following == nullptr &&
      PyObject_CheckBuffer(PySequence_Fast_GET_ITEM(object, 0))) {
    const Object items = Object::Steal(PySequence_Tuple(object));
    if (!items) return Tensor();
    const Tensor stacked = FromAlikeArrays(items.get());
    if (stacked.defined()) return options.dtype ? ops::astype(stacked, *options.dtype) : stacked;
  }
  Rows nest;
  if (!Walk(object, 0, &nest)) return nest.status.ok() ? Tensor() : Tensor(nest.status);
  const DType number = nest.kind == Scalar::Kind::kFloat     ? options.floats
                       : nest.kind == Scalar::Kind::kComplex ? ComplexFor(options.floats)
                       : nest.big                            ? DType::kU64
                                                             : DefaultFor(nest.kind);
  if (!nest.arrays.empty()) {
    if (!CopyLists(&nest)) return Tensor();  // stacking may let other threads run
    DType dtype = nest.arrays[0].dtype();
    for (const Tensor& t : nest.arrays) dtype = Promote(dtype, t.dtype());
    return Stack(nest, options.dtype.value_or(Promote(dtype, nest.kind)));
  }
  const DType dtype = options.dtype.value_or(nest.any ? number : DefaultFloat());
  if (Status s = CheckDims("asarray", nest.dims, SizeOf(dtype)); !s.ok())
    return Tensor(std::move(s));
  if (__builtin_expect(g_following != nullptr, 0) && Follows(nest, dtype))
    return Stack(nest, dtype);
  auto value = Value::Allocate(dtype, Device(), Dense(nest.dims));
  if (!value.ok()) return Tensor(std::move(value).status());
  if (Status s = Fill(nest, dtype, (*value)->data); !s.ok()) return Tensor(std::move(s));
  return Tensor(*std::move(value));
}

}  // namespace frazil::python
