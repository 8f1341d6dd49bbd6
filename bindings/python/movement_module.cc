// Module functions that move elements: views, joins, indexing, and matmul.
#include "bindings/python/convert.h"
#include "bindings/python/dtype_type.h"
#include "bindings/python/functions.h"
#include "bindings/python/import.h"
#include "bindings/python/movement.h"
#include "core/functions/composites.h"
#include "core/functions/joining.h"

namespace frazil::python {

FZ_FAST(MoveAstype) {
  FZ_ARGS(4, "astype(x, /, dtype, *, copy=True, device=None)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], "astype", &own);
  DType dtype;
  Device device;
  bool copy;
  if (!x || !ToDType(a[1], "astype", &dtype) || !ToBool(a[2], "astype", "copy", true, &copy) ||
      !ToDevice(a[3], "astype", &device)) {
    return nullptr;
  }
  // Values are immutable: a new cell over the same value is a copy.
  const bool stays = !Given(a[3]) || device == x->device();
  if (!copy && stays && x->dtype() == dtype && IsTensor(a[0])) return Py_NewRef(a[0]);
  const Tensor converted = ops::astype(*x, dtype);
  return Wrap(stays ? converted : ops::to_device(converted, device));
}

FZ_FAST(MoveReshape) {
  FZ_ARGS(3, "reshape(x, /, shape, *, copy=None)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], "reshape", &own);
  DimVec dims;
  bool copy;  // values are immutable: nobody can tell
  if (!x || !ToDims(a[1], "reshape", &dims) ||
      !ToBool(Given(a[2]) ? a[2] : nullptr, "reshape", "copy", false, &copy)) {
    return nullptr;
  }
  return Wrap(ops::reshape(*x, dims));
}

FZ_FAST(MoveBroadcastTo) {
  FZ_ARGS(2, "broadcast_to(x, /, shape)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], "broadcast_to", &own);
  DimVec dims;
  if (!x || !ToDims(a[1], "broadcast_to", &dims)) return nullptr;
  return Wrap(ops::broadcast_to(*x, dims));
}

FZ_FAST(MoveExpandDims) {
  FZ_ARGS(2, "expand_dims(x, /, axis=0)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], "expand_dims", &own);
  DimVec axes = {0};
  if (!x || (a[1] && !ToInts(a[1], "expand_dims", "axis", &axes))) return nullptr;
  return Wrap(ops::expand_dims(*x, axes));
}

FZ_FAST(MoveSqueeze) {
  FZ_ARGS(2, "squeeze(x, /, axis=None)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], "squeeze", &own);
  Axes axes;
  if (!x || !ToAxes(a[1], "squeeze", &axes)) return nullptr;
  return Wrap(ops::squeeze(*x, axes));
}

FZ_FAST(MoveFlip) {
  FZ_ARGS(2, "flip(x, /, axis=None)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], "flip", &own);
  Axes axes;
  if (!x || !ToAxes(a[1], "flip", &axes)) return nullptr;
  return Wrap(ops::flip(*x, axes));
}

FZ_FAST(MoveFlatten) {
  FZ_ARGS(1, "flatten(x, /)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], "flatten", &own);
  return x ? Wrap(ops::flatten(*x)) : nullptr;
}

FZ_FAST(MoveSwapaxes) {
  FZ_ARGS(3, "swapaxes(x, /, axis1, axis2)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], "swapaxes", &own);
  int64_t i, j;
  if (!x || !ToInt(a[1], "swapaxes", "axis1", &i) || !ToInt(a[2], "swapaxes", "axis2", &j))
    return nullptr;
  return Wrap(ops::swapaxes(*x, i, j));
}

const Tensor* IndicesOf(PyObject* object, const char* op, Tensor* own) {
  if (!PyList_Check(object) && !PyTuple_Check(object)) return TensorOf(object, op, own);
  *own = FromObject(object, {});
  if (own->ok()) return own;
  if (!PyErr_Occurred()) Raise(own->status());
  return nullptr;
}

FZ_FAST(MoveTake) {
  FZ_ARGS(3, "take(x, /, indices, axis=None)");
  Tensor own, own_indices;
  const Tensor* x = TensorOf(a[0], "take", &own);
  const Tensor* indices = x ? IndicesOf(a[1], "take", &own_indices) : nullptr;
  if (!indices) return nullptr;
  if (!Given(a[2])) return Wrap(ops::take(ops::flatten(*x), *indices, 0));
  int64_t axis;
  return ToInt(a[2], "take", "axis", &axis) ? Wrap(ops::take(*x, *indices, axis)) : nullptr;
}

namespace {

FZ_FAST(PermuteDims) {
  FZ_ARGS(2, "permute_dims(x, /, axes)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], "permute_dims", &own);
  DimVec axes;
  if (!x || !ToDims(a[1], "permute_dims", &axes)) return nullptr;
  return Wrap(ops::permute_dims(*x, axes));
}

FZ_FAST(Moveaxis) {
  FZ_ARGS(3, "moveaxis(x, /, source, destination)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], "moveaxis", &own);
  DimVec from, to;
  if (!x || !ToInts(a[1], "moveaxis", "source", &from) ||
      !ToInts(a[2], "moveaxis", "destination", &to))
    return nullptr;
  return Wrap(ops::moveaxis(*x, from, to));
}

FZ_FAST(MatrixTranspose) {
  FZ_ARGS(1, "matrix_transpose(x, /)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], "matrix_transpose", &own);
  return x ? Wrap(ops::matrix_transpose(*x)) : nullptr;
}

FZ_FAST(Concat) {
  FZ_ARGS(2, "concat(arrays, /, axis=0)");
  std::vector<Tensor> arrays;
  int64_t axis = 0;
  if (!ToTensors(a[0], "concat", &arrays)) return nullptr;
  if (a[1] == Py_None) {
    for (Tensor& t : arrays) t = ops::flatten(t);
  } else if (a[1] && !ToInt(a[1], "concat", "axis", &axis)) {
    return nullptr;
  }
  return Wrap(ops::concat(arrays, axis));
}

FZ_FAST(Stack) {
  FZ_ARGS(2, "stack(arrays, /, axis=0)");
  std::vector<Tensor> arrays;
  int64_t axis = 0;
  if (!ToTensors(a[0], "stack", &arrays) || (a[1] && !ToInt(a[1], "stack", "axis", &axis)))
    return nullptr;
  return Wrap(ops::stack(arrays, axis));
}

template <OpName name, Tensor (*join)(absl::Span<const Tensor>)>
FZ_FAST(Join) {
  FZ_ARGS(1, std::string(name.text) + "(arrays, /)");
  std::vector<Tensor> arrays;
  if (!ToTensors(a[0], name.text, &arrays)) return nullptr;
  return Wrap(join(arrays));
}

FZ_FAST(Tile) {
  FZ_ARGS(2, "tile(x, /, repetitions)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], "tile", &own);
  DimVec repetitions;
  if (!x || !ToDims(a[1], "tile", &repetitions)) return nullptr;
  return Wrap(ops::tile(*x, repetitions));
}

template <OpName name, Tensor (*triangle)(const Tensor&, int64_t)>
FZ_FAST(Triangle) {
  FZ_ARGS(2, std::string(name.text) + "(x, /, k=0)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], name.text, &own);
  int64_t k = 0;
  if (!x || (a[1] && !ToInt(a[1], name.text, "k", &k))) return nullptr;
  return Wrap(triangle(*x, k));
}

FZ_FAST(TakeAlongAxis) {
  FZ_ARGS(3, "take_along_axis(x, /, indices, axis=-1)");
  Tensor own, own_indices;
  const Tensor* x = TensorOf(a[0], "take_along_axis", &own);
  const Tensor* indices = x ? TensorOf(a[1], "take_along_axis", &own_indices) : nullptr;
  int64_t axis = -1;
  if (!indices || (a[2] && !ToInt(a[2], "take_along_axis", "axis", &axis))) return nullptr;
  return Wrap(ops::take_along_axis(*x, *indices, axis));
}

// 3, (1, 2), or ((1, 2), (3, 4)): how much to add before and after each axis.
bool ToWidths(PyObject* object, int rank, DimVec* out) {
  if (!PySequence_Check(object) || IsOneInt(object)) {
    int64_t width;
    if (!ToInt(object, "pad", "pad_width", &width)) return false;
    out->assign(static_cast<size_t>(2 * rank), width);
    return true;
  }
  const Object items = Object::Steal(PySequence_Tuple(object));  // which no item's code can change
  if (!items) return false;
  const Py_ssize_t n = PyTuple_GET_SIZE(items.get());
  DimVec pair;
  if (n == 2 && PyIndex_Check(PyTuple_GET_ITEM(items.get(), 0))) {
    if (!ToDims(items.get(), "pad", &pair)) return false;
    for (int i = 0; i < rank; ++i) out->insert(out->end(), pair.begin(), pair.end());
    return true;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!ToDims(PyTuple_GET_ITEM(items.get(), i), "pad", &pair)) return false;
    if (pair.size() == 1) pair.push_back(pair[0]);
    if (pair.size() != 2) {
      Raise(ValueError("[pad] widths of axis ", i, " must be (before, after), got ", ToString(pair),
                       "."));
      return false;
    }
    for (int repeat = 0; repeat < (n == 1 ? rank : 1); ++repeat)
      out->insert(out->end(), pair.begin(), pair.end());
  }
  if (static_cast<int>(out->size()) == 2 * rank) return true;
  Raise(ValueError("[pad] needs widths for ", rank, " axes, got ", n, "."));
  return false;
}

FZ_FAST(Pad) {
  FZ_ARGS(4, "pad(x, /, pad_width, mode='constant', *, constant_values=0)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], "pad", &own);
  DimVec widths;
  Scalar fill = Scalar::Int(0);
  if (!x || !ToWidths(a[1], x->rank(), &widths)) return nullptr;
  if (a[2] && (!PyUnicode_Check(a[2]) || PyUnicode_CompareWithASCIIString(a[2], "constant") != 0)) {
    return Raise(NotImplementedError(
        "[pad] only mode=\"constant\" exists; build others with concat and slices."));
  }
  if (a[3] && !ToNumber(a[3], "pad", "constant_values", &fill)) return nullptr;
  return Wrap(ops::pad(*x, widths, fill));
}

FZ_FAST(Matmul) {
  FZ_ARGS(2, "matmul(x1, x2, /)");
  Operand x, y;
  if (!x.Load(a[0], "matmul", true, a[1]) || !y.Load(a[1], "matmul", true, a[0])) return nullptr;
  return Wrap(ops::matmul(x.arg(), y.arg()));
}

FZ_FAST(Detach) {
  FZ_ARGS(1, "detach(x, /)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], "detach", &own);
  return x ? Wrap(x->Detach()) : nullptr;
}

std::string Doc(OpId op) { return std::string(Info(op).doc); }

}  // namespace

std::vector<FunctionRow> MovementFunctions() {
  return {
      {"astype(x, /, dtype, *, copy=True, device=None)", Doc(OpId::k_astype), MoveAstype},
      {"reshape(x, /, shape, *, copy=None)", Doc(OpId::k_reshape) + " One extent may be -1.",
       MoveReshape},
      {"permute_dims(x, /, axes)", Doc(OpId::k_permute_dims), PermuteDims},
      {"broadcast_to(x, /, shape)", Doc(OpId::k_broadcast_to), MoveBroadcastTo},
      {"concat(arrays, /, axis=0)", Doc(OpId::k_concat) + " axis=None joins them flattened.",
       Concat},
      {"concat(arrays, /, axis=0)", "The same as concat.", Concat, "concatenate"},
      {"stack(arrays, /, axis=0)", "Joins arrays of one shape along a new axis.", Stack},
      {"hstack(arrays, /)",
       "Joins arrays side by side: along the second axis, vectors along their only one.",
       Join<"hstack", ops::hstack>},
      {"vstack(arrays, /)",
       "Joins arrays one below the other: along the first axis; vectors are rows.",
       Join<"vstack", ops::vstack>},
      {"dstack(arrays, /)", "Joins arrays along the third axis, which they get if they lack it.",
       Join<"dstack", ops::dstack>},
      {"column_stack(arrays, /)", "Joins arrays along the second axis; vectors are columns.",
       Join<"column_stack", ops::column_stack>},
      {"pad(x, /, pad_width, mode='constant', *, constant_values=0)", Doc(OpId::k_pad), Pad},
      {"take(x, /, indices, axis=None)", Doc(OpId::k_take) + " Without an axis, of x flattened.",
       MoveTake},
      {"take_along_axis(x, /, indices, axis=-1)",
       "Elements of x at indices of x's rank along an axis.", TakeAlongAxis},
      {"matmul(x1, x2, /)", Doc(OpId::k_matmul), Matmul},
      {"squeeze(x, /, axis=None)", "Without axes of extent 1: those given, or all of them.",
       MoveSqueeze},
      {"expand_dims(x, /, axis=0)",
       "With new axes of extent 1 at these places of the result, one or a tuple.", MoveExpandDims},
      {"flip(x, /, axis=None)", "Elements in reverse order along axes.", MoveFlip},
      {"flatten(x, /)", "All elements along one axis.", MoveFlatten},
      {"flatten(x, /)", "The same as flatten.", MoveFlatten, "ravel"},
      {"swapaxes(x, /, axis1, axis2)", "Two axes swapped.", MoveSwapaxes},
      {"moveaxis(x, /, source, destination)",
       "Axes moved to other places: one, or as many in `source` as in `destination`.", Moveaxis},
      {"matrix_transpose(x, /)", "The last two axes swapped.", MatrixTranspose},
      {"tile(x, /, repetitions)", "The array repeated along its axes.", Tile},
      {"tril(x, /, k=0)", "Zero above the k-th diagonal of the last two axes.",
       Triangle<"tril", ops::tril>},
      {"triu(x, /, k=0)", "Zero below the k-th diagonal of the last two axes.",
       Triangle<"triu", ops::triu>},
      {"detach(x, /)", "The same value without history: no gradient flows through it.", Detach},
  };
}

}  // namespace frazil::python
