// The rows of core/functions/functions.def as functions of frazil, of frazil.linalg, and of
// frazil._frazil.inside, which functions written in Python call.
#include "bindings/python/bound.h"
#include "bindings/python/functions.h"
#include "bindings/python/movement.h"
#include "bindings/python/reader.h"
#include "core/functions/einsum.h"
#include "core/functions/functions.h"

namespace frazil::python {

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

// Arrays, and numbers that are weak beside them.
template <>
struct Reader<ops::ArgSpan> {
  static constexpr int kSlots = 1;
  bool Load(const Signature& s, PyObject* const* a, int i) {
    const Object items = Object::Steal(PySequence_Tuple(a[i]));
    if (!items) return false;
    tensors.resize(static_cast<size_t>(PyTuple_GET_SIZE(items.get())));
    for (size_t k = 0; k < tensors.size(); ++k) {
      PyObject* const item = PyTuple_GET_ITEM(items.get(), static_cast<Py_ssize_t>(k));
      Scalar number;
      if (!IsTensor(item) && TryScalar(item, &number)) {
        args.emplace_back(number);
        continue;
      }
      if (!ToArray(item, &tensors[k])) return false;
      args.emplace_back(tensors[k]);
    }
    return true;
  }
  ops::ArgSpan get() const { return args; }
  ops::Tensors tensors;
  std::vector<Arg> args;
};

template <>
struct Reader<const Arg&> {
  static constexpr int kSlots = 1;
  bool Load(const Signature& s, PyObject* const* a, int i) {
    Scalar number = Scalar::Int(static_cast<int64_t>(s.number(i)));
    if (a[i] && (IsTensor(a[i]) || !TryScalar(a[i], &number))) {
      if (!ToArray(a[i], &tensor)) return false;
      value.emplace(tensor);
    } else {
      value.emplace(number);
    }
    return true;
  }
  const Arg& get() const { return *value; }
  Tensor tensor;
  std::optional<Arg> value;
};

template <>
struct Reader<const ops::Bins&> : ParameterOf<ops::Bins> {
  bool Load(const Signature&, PyObject* const* a, int i) {
    if (!a[i]) return true;
    if (IsOneInt(a[i])) return ToInt(a[i], "histogram", "bins", &value.count);
    if (!PyUnicode_Check(a[i])) return ToArray(a[i], &value.edges);
    PyErr_Format(PyExc_ValueError, "[histogram] bins must be a number or edges, got '%U'.", a[i]);
    return false;
  }
};

template <>
struct Reader<const ops::Interval&> : ParameterOf<ops::Interval> {
  bool Load(const Signature& s, PyObject* const* a, int i) {
    if (!Given(a[i])) return true;
    const Object pair = Object::Steal(PySequence_Tuple(a[i]));
    if (!pair) return false;
    if (PyTuple_GET_SIZE(pair.get()) != 2) {
      PyErr_Format(PyExc_ValueError, "[histogram] the range must be two numbers, got %R.", a[i]);
      return false;
    }
    value.emplace();
    return ToDouble(PyTuple_GET_ITEM(pair.get(), 0), s.name(), "range", &value->first) &&
           ToDouble(PyTuple_GET_ITEM(pair.get(), 1), s.name(), "range", &value->second);
  }
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
    if (!a[i]) value = s.number(i);
    return !a[i] || TryScalar(a[i], &value) || ToNumber(a[i], s.name(), s.parameter(i), &value);
  }
  const ops::Number& get() const { return value; }
  ops::Number value{0};
};

namespace {

// A list of parts.
template <SignatureText text, auto function>
PyObject* Divided(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const Object parts = Object::Steal(CallBound<text, Reader>(function, args, nargs, kwnames));
  return parts ? PySequence_List(parts.get()) : nullptr;
}

PyObject* TupleOfInts(const std::vector<int64_t>& values) {
  Object tuple = Object::Steal(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; tuple && i < values.size(); ++i) {
    PyObject* const item = PyLong_FromLongLong(values[i]);
    if (!item) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item);
  }
  return tuple.release();
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
  return TupleOfInts(*out);
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

// "auto", "greedy", "optimal", "left", or a tuple of steps.
bool ToPath(PyObject* object, ops::EinsumPath* out) {
  using Kind = ops::EinsumPath::Kind;
  if (PyUnicode_Check(object)) {
    const std::pair<const char*, Kind> kinds[] = {{"auto", Kind::kAuto},
                                                  {"greedy", Kind::kGreedy},
                                                  {"optimal", Kind::kOptimal},
                                                  {"left", Kind::kLeft}};
    for (const auto& [name, kind] : kinds) {
      if (PyUnicode_CompareWithASCIIString(object, name) != 0) continue;
      *out = kind;
      break;
    }
    return true;
  }
  const Object items = Object::Steal(PySequence_Tuple(object));
  if (!items) return false;
  std::vector<std::vector<int64_t>> steps;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    DimVec step;
    if (!ToInts(PyTuple_GET_ITEM(items.get(), i), "einsum", "optimize", &step)) return false;
    steps.emplace_back(step.begin(), step.end());
  }
  *out = std::move(steps);
  return true;
}

// A formula, operands and the order in which they are contracted.
struct EinsumCall {
  bool Load(PyObject* const* a) {
    if (!PyUnicode_Check(a[0])) {
      Raise(TypeError("[einsum] the formula must be a text, got ", Py_TYPE(a[0])->tp_name, "."));
      return false;
    }
    const char* text = PyUnicode_AsUTF8(a[0]);
    if (text) formula = text;
    static const Signature signature("einsum(formula, operands, path, /)");
    return text && operands.Load(signature, a, 1) && ToPath(a[2], &path);
  }
  std::string_view formula;
  Reader<ops::TensorSpan> operands;
  ops::EinsumPath path;
};

FZ_FAST(Einsum) {
  FZ_ARGS(3, "einsum(formula, operands, path, /)");
  EinsumCall call;
  if (!call.Load(a)) return nullptr;
  return Wrap(ops::einsum(call.formula, call.operands.get(), call.path));
}

FZ_FAST(EinsumCost) {
  FZ_ARGS(3, "einsum_cost(formula, operands, path, /)");
  EinsumCall call;
  if (!call.Load(a)) return nullptr;
  const auto cost = ops::einsum_cost(call.formula, call.operands.get(), call.path);
  if (!cost.ok()) return Raise(cost.status());
  Object steps = Object::Steal(PyList_New(0));
  for (const auto& step : cost->steps) {
    const Object one = Object::Steal(TupleOfInts(step));
    if (!steps || !one || PyList_Append(steps.get(), one.get()) < 0) return nullptr;
  }
  return steps ? Py_BuildValue("(Odd)", steps.get(), cost->naive, cost->chosen) : nullptr;
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

Tensor PutFirst(const Tensor& x, const Tensor& index, const Tensor& values) {
  return ops::put(x, index, values, 0, false);
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
  rows.push_back(
      {"einsum(formula, operands, path, /)", "Sums of products by a formula.", Guarded<Einsum>});
  rows.push_back(
      {"einsum_cost(formula, operands, path, /)",
       "The steps that einsum takes, and how many operations a single one and these take.",
       Guarded<EinsumCost>});
  rows.push_back({"put(x, index, values, /)", "x with values at an index of the first axis.",
                  Bound<"put(x, index, values, /)", PutFirst, Reader>});
  rows.push_back({"broadcast_shapes(shapes, /)", "The common shape.", Guarded<BroadcastShapes>});
  rows.push_back({"tensordot(x1, x2, axes1, axes2=None, /)",
                  "Sums of products over axes of both, in turn.", Guarded<Tensordot>});
  return rows;
}

}  // namespace frazil::python
