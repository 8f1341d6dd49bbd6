// The rows of core/functions/composites.def as functions of frazil and frazil.nn.
#include "absl/algorithm/container.h"
#include "bindings/python/bound.h"
#include "bindings/python/functions.h"

namespace frazil::python {

bool ToLevels(PyObject* o, const char* op, const char* name, ops::Levels* out, int depth) {
  const bool list = PyList_Check(o) || PyTuple_Check(o);
  if (!list) {
    double number = 0;
    if (PyFloat_Check(o) || PyLong_Check(o)) {
      if (!ToDouble(o, op, name, &number)) return false;
      *out = number;
      return true;
    }
    Tensor own;
    const Tensor* array = HeldTensor(o, op, &own);
    if (array) *out = ops::Levels(*array);
    return array;
  }
  if (depth == kMaxRank) {
    Raise(ValueError("[", std::string(op), "] ", name, " has lists nested deeper than ", kMaxRank,
                     "."));
    return false;
  }
  const Py_ssize_t n = PySequence_Size(o);
  *out = {};
  out->dims = {n};
  for (Py_ssize_t i = 0; i < n; ++i) {
    const Object item = Object::Steal(PySequence_GetItem(o, i));
    ops::Levels one;
    if (!item || !ToLevels(item.get(), op, name, &one, depth + 1)) return false;
    if (i == 0) out->dims.insert(out->dims.end(), one.dims.begin(), one.dims.end());
    if (!absl::c_equal(one.dims, absl::MakeSpan(out->dims).subspan(1))) {
      Raise(ValueError("[", std::string(op), "] ", name, " has lists of different lengths."));
      return false;
    }
    if (!one.status.ok()) out->status = one.status;
    out->values.insert(out->values.end(), one.values.begin(), one.values.end());
  }
  return true;
}

std::vector<FunctionRow> CompositeFunctions(std::string_view where) {
  std::vector<FunctionRow> rows;
#define FZ_COMPOSITE(home, name, parameters, python, doc) \
  if (where == #home)                                     \
    rows.push_back({#name "(" python ")", doc, Bound<#name "(" python ")", ops::name>});
#define FZ_INNER(...)
#include "core/functions/composites.def"
  return rows;
}

}  // namespace frazil::python
