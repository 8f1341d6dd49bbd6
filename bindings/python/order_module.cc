// Module functions that find, count, sort and accumulate.
#include "bindings/python/convert.h"
#include "bindings/python/dtype_type.h"
#include "bindings/python/errors.h"
#include "bindings/python/functions.h"
#include "bindings/python/import.h"
#include "bindings/python/movement.h"
#include "core/functions/composites.h"

namespace frazil::python {

FZ_FAST(MoveNonzero) {
  FZ_ARGS(1, "nonzero(x, /)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], "nonzero", &own);
  if (!x) return nullptr;
  std::vector<Tensor> positions = ops::nonzero(*x);
  Object tuple = Object::Steal(PyTuple_New(static_cast<Py_ssize_t>(positions.size())));
  for (size_t i = 0; tuple && i < positions.size(); ++i) {
    PyObject* item = Wrap(std::move(positions[i]));
    if (!item) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item);
  }
  return tuple.release();
}

namespace {

template <OpName name, Tensor (*sorting)(const Tensor&, int64_t, bool)>
FZ_FAST(Sorting) {
  FZ_ARGS(4, std::string(name.text) + "(x, /, axis=-1, *, descending=False, stable=True)");
  Tensor own;
  const Tensor* x = TensorOf(a[0], name.text, &own);
  int64_t axis = -1;
  bool descending, stable;  // always stable
  if (!x || (a[1] && !ToInt(a[1], name.text, "axis", &axis)) ||
      !ToBool(a[2], name.text, "descending", false, &descending) ||
      !ToBool(a[3], name.text, "stable", true, &stable))
    return nullptr;
  return Wrap(sorting(*x, axis, descending));
}

FZ_FAST(SearchSorted) {
  FZ_ARGS(4, "searchsorted(x1, x2, /, side='left', sorter=None)");
  Tensor own, own_values, own_order, ordered;
  const Tensor* x = TensorOf(a[0], "searchsorted", &own);
  const Tensor* values = x ? TensorOf(a[1], "searchsorted", &own_values) : nullptr;
  if (!values) return nullptr;
  if (Given(a[3])) {
    const Tensor* order = IndicesOf(a[3], "searchsorted", &own_order);
    if (!order) return nullptr;
    if (order->rank() != 1) {
      return Raise(TypeError("[searchsorted] the sorter must have one axis, got shape ",
                             ToString(order->dims()), "."));
    }
    if (x->rank() == 1 && order->size() != x->size()) {
      return Raise(ValueError("[searchsorted] the sorter has ", order->size(), " indices for ",
                              x->size(), " elements."));
    }
    ordered = ops::take(*x, *order, 0);
    if (!ordered.ok() && KindOf(ordered.status()) == ErrorKind::kIndex) {
      // NumPy raises a ValueError here.
      return Raise(ValueError(
          std::string_view(ordered.status().message().data(), ordered.status().message().size())));
    }
    x = &ordered;
  }
  const bool right =
      a[2] && PyUnicode_Check(a[2]) && PyUnicode_CompareWithASCIIString(a[2], "right") == 0;
  if (a[2] && !right &&
      !(PyUnicode_Check(a[2]) && PyUnicode_CompareWithASCIIString(a[2], "left") == 0)) {
    return Raise(ValueError("[searchsorted] side must be \"left\" or \"right\"."));
  }
  return Wrap(ops::searchsorted(*x, *values, right));
}

FZ_FAST(UniqueValues) {
  FZ_ARGS(2, "unique_values(x, /, *, equal_nan=False)");
  Tensor own;
  bool equal_nan;
  const Tensor* x = IndicesOf(a[0], "unique_values", &own);
  if (!x || !ToBool(a[1], "unique_values", "equal_nan", false, &equal_nan)) return nullptr;
  return Wrap(ops::unique_values(*x, equal_nan));
}

FZ_FAST(Bincount) {
  FZ_ARGS(3, "bincount(x, /, weights=None, minlength=0)");
  Tensor own, own_weights;
  int64_t least = 0;
  const Tensor* x = IndicesOf(a[0], "bincount", &own);
  const Tensor* weights =
      x && Given(a[1]) ? IndicesOf(a[1], "bincount", &own_weights) : &own_weights;
  if (!x || !weights || (a[2] && !ToInt(a[2], "bincount", "minlength", &least))) return nullptr;
  return Wrap(ops::bincount(*x, *weights, least));
}

FZ_FAST(Diff) {
  FZ_ARGS(5, "diff(x, /, n=1, axis=-1, *, prepend=None, append=None)");
  Tensor own, own_prepend, own_append;
  int64_t n = 1, axis = -1;
  int beyond = 0;  // more than 64 bits are as many as there are elements
  if (a[1] && PyLong_CheckExact(a[1])) PyLong_AsLongLongAndOverflow(a[1], &beyond);
  if (beyond > 0) n = INT64_MAX;
  const Tensor* x = IndicesOf(a[0], "diff", &own);
  const Tensor *prepend = &own_prepend, *append = &own_append;
  if (!x || (a[1] && beyond <= 0 && !ToInt(a[1], "diff", "n", &n)) ||
      (a[2] && !ToInt(a[2], "diff", "axis", &axis)) ||
      (Given(a[3]) && !(prepend = IndicesOf(a[3], "diff", &own_prepend))) ||
      (Given(a[4]) && !(append = IndicesOf(a[4], "diff", &own_append))))
    return nullptr;
  return Wrap(ops::diff(*x, n, axis, *prepend, *append));
}

using Cumulative = Tensor (*)(const Tensor&, int64_t, std::optional<DType>, bool);

// Without an axis: of the only one, or with `flat` of x flattened.
template <OpName name, Cumulative cumulative>
PyObject* Accumulate(PyObject* object, PyObject* axis, PyObject* dtype, PyObject* initial,
                     bool flat) {
  const ErrorName error_name(name.text);
  Tensor own;
  const Tensor* x = TensorOf(object, name.text, &own);
  int64_t along = 0;
  DType type{};
  bool include_initial;
  if (!x || (Given(axis) && !ToInt(axis, name.text, "axis", &along)) ||
      (Given(dtype) && !ToDType(dtype, name.text, &type)) ||
      !ToBool(initial, name.text, "include_initial", false, &include_initial))
    return nullptr;
  const bool without = !Given(axis);
  if (without && !flat && x->rank() > 1) {
    return Raise(ValueError("[", std::string(name.text), "] needs an axis for ", x->rank(),
                            " axes: ", Describe(*x), "."));
  }
  const bool flattened = without && x->rank() != 1;
  return Wrap(cumulative(flattened ? ops::flatten(*x) : *x, along,
                         Given(dtype) ? std::optional(type) : std::nullopt, include_initial));
}

template <OpName name, Cumulative cumulative>
FZ_FAST(CumulativeStandard) {
  FZ_ARGS(4, std::string(name.text) + "(x, /, *, axis=None, dtype=None, include_initial=False)");
  return Accumulate<name, cumulative>(a[0], a[1], a[2], a[3], false);
}
template <OpName name, Cumulative cumulative>
FZ_FAST(CumulativeNumPy) {
  FZ_ARGS(3, std::string(name.text) + "(x, /, axis=None, *, dtype=None)");
  return Accumulate<name, cumulative>(a[0], a[1], a[2], nullptr, true);
}

}  // namespace

std::vector<FunctionRow> OrderFunctions() {
  return {
      {"nonzero(x, /)",
       "Positions of elements that are not zero, one index array per axis. Reads how many "
       "there are.",
       MoveNonzero},
      {"argsort(x, /, axis=-1, *, descending=False, stable=True)",
       "Indices that sort along an axis: always stable, NaN last in either order.",
       Sorting<"argsort", ops::argsort>},
      {"sort(x, /, axis=-1, *, descending=False, stable=True)",
       "Elements in order along an axis: always stable, NaN last in either order.",
       Sorting<"sort", ops::sort>},
      {"searchsorted(x1, x2, /, side='left', sorter=None)",
       "Where the elements of x2 would stand in the sorted x1: before equal ones, or after them "
       "(\"right\"). `sorter` has the indices that sort x1, where it is not sorted.",
       SearchSorted},
      {"unique_values(x, /, *, equal_nan=False)",
       "Distinct elements in ascending order. Every NaN counts by itself, unless equal_nan. Reads "
       "how many there are.",
       UniqueValues},
      {"bincount(x, /, weights=None, minlength=0)",
       "How often each of 0, 1, 2 ... occurs in a vector of integers, or the sum of its weights: "
       "at least minlength results, int64, or of the weights' float dtype. Reads the largest. "
       "ValueError for negative elements and other shapes, TypeError for floats.",
       Bincount},
      {"diff(x, /, n=1, axis=-1, *, prepend=None, append=None)",
       "Differences of neighbours along an axis, n times. `prepend` and `append` are put before "
       "and behind x first: arrays, or numbers that stand for one slice each.",
       Diff},
      {"cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)",
       "Sums of the elements up to each one along an axis; integers are summed in 64 bits.",
       CumulativeStandard<"cumulative_sum", ops::cumulative_sum>},
      {"cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)",
       "Products of the elements up to each one along an axis; integers in 64 bits.",
       CumulativeStandard<"cumulative_prod", ops::cumulative_prod>},
      {"cumsum(x, /, axis=None, *, dtype=None)",
       "cumulative_sum under NumPy's name: without an axis, of x flattened.",
       CumulativeNumPy<"cumsum", ops::cumulative_sum>},
      {"cumprod(x, /, axis=None, *, dtype=None)",
       "cumulative_prod under NumPy's name: without an axis, of x flattened.",
       CumulativeNumPy<"cumprod", ops::cumulative_prod>},
  };
}

}  // namespace frazil::python
