// The rows of core/functions/functions.def as functions of frazil, of frazil.linalg, and of
// frazil._frazil.inside, which functions written in Python call.
#include "bindings/python/bound.h"
#include "bindings/python/functions.h"
#include "bindings/python/import.h"
#include "bindings/python/movement.h"
#include "core/functions/functions.h"

namespace frazil::python {
namespace {

// What asarray makes of an object; the content of a cell is held.
bool ToArray(PyObject* object, Tensor* out) {
  *out = IsTensor(object) ? CellOf(object) : FromObject(object, {});
  if (out->ok()) return true;
  if (!PyErr_Occurred()) Raise(out->status());
  return false;
}

// As Parameter, but an operand may be a list.
template <typename T>
struct Reader : Parameter<T> {};

template <>
struct Reader<const Tensor&> : ParameterOf<Tensor> {
  bool Load(const Signature&, PyObject* const* a, int i) { return ToArray(a[i], &value); }
};

template <>
struct Reader<const Tensor*> : ParameterOf<const Tensor*> {
  bool Load(const Signature&, PyObject* const* a, int i) {
    return !Given(a[i]) || (ToArray(a[i], &own) && (value = &own));
  }
  Tensor own;
};

template <>
struct Reader<ops::TensorSpan> {
  static constexpr int kSlots = 1;
  bool Load(const Signature&, PyObject* const* a, int i) {
    const Object items = Object::Steal(PySequence_Tuple(a[i]));
    if (!items) return false;
    tensors.resize(static_cast<size_t>(PyTuple_GET_SIZE(items.get())));
    for (size_t k = 0; k < tensors.size(); ++k) {
      if (!ToArray(PyTuple_GET_ITEM(items.get(), static_cast<Py_ssize_t>(k)), &tensors[k]))
        return false;
    }
    return true;
  }
  ops::TensorSpan get() const { return tensors; }
  ops::Tensors tensors;
};

template <>
struct Reader<Dims> {
  static constexpr int kSlots = 1;
  bool Load(const Signature& s, PyObject* const* a, int i) {
    return !Given(a[i]) || ToInts(a[i], s.name(), s.parameter(i), &numbers);
  }
  Dims get() const { return numbers; }
  DimVec numbers;
};

template <>
struct Reader<const ops::Ints&> {
  static constexpr int kSlots = 1;
  bool Load(const Signature& s, PyObject* const* a, int i) {
    DimVec numbers;
    if (!ToInts(a[i], s.name(), s.parameter(i), &numbers)) return false;
    value.assign(numbers.begin(), numbers.end());
    return true;
  }
  const ops::Ints& get() const { return value; }
  ops::Ints value{Dims()};
};

template <>
struct Reader<const ops::Sections&> {
  static constexpr int kSlots = 1;
  bool Load(const Signature& s, PyObject* const* a, int i) {
    if (IsOneInt(a[i])) return ToInt(a[i], s.name(), "the number of parts", &value.parts.emplace());
    DimVec places;
    if (!ToInts(a[i], s.name(), "an index", &places)) return false;
    value.places.assign(places.begin(), places.end());
    return true;
  }
  const ops::Sections& get() const { return value; }
  ops::Sections value{std::vector<int64_t>()};
};

// An integer, a slice, or an array of integers or bools.
template <>
struct Reader<const Index&> : ParameterOf<Index> {
  bool Load(const Signature& s, PyObject* const* a, int i) {
    value.kind = Index::Kind::kInt;
    if (IsOneInt(a[i]) && !PyBool_Check(a[i])) return ToInt(a[i], s.name(), "a place", &value.i);
    if (!PySlice_Check(a[i])) {
      value.kind = Index::Kind::kTensor;
      return ToArray(a[i], &value.tensor);
    }
    value.kind = Index::Kind::kSlice;
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(a[i], &start, &stop, &step) < 0) return false;
    value.start = start;
    value.stop = stop;
    value.step = step;
    return true;
  }
};

template <>
struct Reader<const ops::Order&> : ParameterOf<ops::Order> {
  bool Load(const Signature& s, PyObject* const* a, int i) {
    if (!Given(a[i])) return true;
    if (!PyUnicode_Check(a[i]))
      return ToDouble(a[i], s.name(), s.parameter(i), &value.value.emplace());
    const char* text = PyUnicode_AsUTF8(a[i]);
    if (text) value.text = *text ? text : "?";
    return text;
  }
};

template <>
struct Reader<const ops::Number&> {
  static constexpr int kSlots = 1;
  bool Load(const Signature& s, PyObject* const* a, int i) {
    return TryScalar(a[i], &value) || ToNumber(a[i], s.name(), s.parameter(i), &value);
  }
  const ops::Number& get() const { return value; }
  ops::Number value{0};
};

// A list of parts.
template <SignatureText text, auto function>
PyObject* Divided(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const Object parts = Object::Steal(CallBound<text, Reader>(function, args, nargs, kwnames));
  return parts ? PySequence_List(parts.get()) : nullptr;
}

// broadcast_shapes(shapes, /): of a list of tuples.
FZ_FAST(BroadcastShapes) {
  FZ_ARGS(1, "broadcast_shapes(shapes, /)");
  const Object items = Object::Steal(PySequence_Tuple(a[0]));
  if (!items) return nullptr;
  std::vector<std::vector<int64_t>> shapes;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    DimVec dims;
    if (!ToDims(PyTuple_GET_ITEM(items.get(), i), "broadcast_shapes", &dims)) return nullptr;
    shapes.emplace_back(dims.begin(), dims.end());
  }
  const auto out = ops::broadcast_shapes(shapes);
  if (!out.ok()) return Raise(out.status());
  Object tuple = Object::Steal(PyTuple_New(static_cast<Py_ssize_t>(out->size())));
  for (size_t i = 0; tuple && i < out->size(); ++i) {
    PyObject* const extent = PyLong_FromLongLong((*out)[i]);
    if (!extent) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), extent);
  }
  return tuple.release();
}

// Over axes of both, or over as many as the third argument says.
FZ_FAST(Tensordot) {
  FZ_ARGS(4, "tensordot(x1, x2, axes1, axes2=None, /)");
  Tensor x1, x2;
  DimVec axes1, axes2;
  int64_t n = 0;
  if (!ToArray(a[0], &x1) || !ToArray(a[1], &x2)) return nullptr;
  if (!Given(a[3])) {
    if (!ToInt(a[2], "tensordot", "the number of axes", &n)) return nullptr;
    return Wrap(ops::tensordot(x1, x2, n));
  }
  if (!ToInts(a[2], "tensordot", "axes", &axes1) || !ToInts(a[3], "tensordot", "axes", &axes2))
    return nullptr;
  return Wrap(ops::tensordot(x1, x2, axes1, axes2));
}

// Of other forms than the table's: lists of parts, places of any kind, a name that C++ cannot have.
std::vector<FunctionRow> DivisionFunctions() {
  using Split = ops::Tensors (*)(const Tensor&, const ops::Sections&, int64_t);
  constexpr Split split = ops::split, array_split = ops::array_split;
  return {
      {"split(x, /, indices_or_sections, axis=0)",
       "Parts along an axis: a number of equal parts, or the positions where they begin.\n\n"
       ">>> import frazil as fz\n"
       ">>> [p.tolist() for p in fz.split(fz.arange(5), [2, 3])]\n[[0, 1], [2], [3, 4]]",
       Divided<"split(x, /, indices_or_sections, axis=0)", split>},
      {"array_split(x, /, indices_or_sections, axis=0)",
       "Parts along an axis as by split, of lengths that differ by at most one.\n\n"
       ">>> import frazil as fz\n"
       ">>> [p.tolist() for p in fz.array_split(fz.arange(5), 2)]\n[[0, 1, 2], [3, 4]]",
       Divided<"array_split(x, /, indices_or_sections, axis=0)", array_split>},
      {"hsplit(x, /, indices_or_sections)",
       "Parts along the second axis, of a vector along its only one. ValueError for 0 axes.",
       Divided<"hsplit(x, /, indices_or_sections)", ops::hsplit>},
      {"vsplit(x, /, indices_or_sections)", "Parts along the first axis of two or more.",
       Divided<"vsplit(x, /, indices_or_sections)", ops::vsplit>},
      {"dsplit(x, /, indices_or_sections)", "Parts along the third axis.",
       Divided<"dsplit(x, /, indices_or_sections)", ops::dsplit>},
      {"delete(x, where, /, axis=None)",
       "x without what stands at places along an axis: an integer, several, a slice or a mask. "
       "Places in a tensor are read. Without an axis x is flattened.\n\n"
       ">>> import frazil as fz\n>>> fz.delete(fz.arange(5), [1, -1]).tolist()\n[0, 2, 3]",
       Bound<"delete(x, where, /, axis=None)", ops::delete_, Reader>},
      {"insert(x, where, values, /, axis=None)",
       "x with values put before places along an axis: one integer, several, a slice or a mask. "
       "Places in a tensor are read. Without an axis x is flattened.\n\n"
       ">>> import frazil as fz\n>>> fz.insert(fz.arange(3), 1, 9).tolist()\n[0, 9, 1, 2]",
       Bound<"insert(x, where, values, /, axis=None)", ops::insert, Reader>},
  };
}

}  // namespace

std::vector<FunctionRow> FunctionsOf(std::string_view where) {
  std::vector<FunctionRow> rows;
#define FZ_FUNCTION(home, name, parameters, arguments, python, doc) \
  if (where == #home)                                               \
    rows.push_back({#name "(" python ")", doc, Bound<#name "(" python ")", ops::name, Reader>});
#define FZ_SEVERAL FZ_FUNCTION
#include "core/functions/functions.def"
  if (where == "frazil") {
    const std::vector<FunctionRow> more = DivisionFunctions();
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

std::vector<FunctionRow> InsideFunctions() {
  std::vector<FunctionRow> rows = FunctionsOf("inside");
  rows.push_back({"broadcast_shapes(shapes, /)", "The common shape.", BroadcastShapes});
  rows.push_back({"tensordot(x1, x2, axes1, axes2=None, /)",
                  "Sums of products over axes of both, in turn.", Tensordot});
  return rows;
}

}  // namespace frazil::python
