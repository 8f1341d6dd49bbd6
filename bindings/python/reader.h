// How parameters of functions that took lists as arrays before they were written in C++ are read: as
// Parameter reads them (bound.h), but an operand may be a list. Called by functions_module.cc and
// distributions_module.cc. Invariant: the content of a cell is held.
#pragma once

#include "bindings/python/bound.h"
#include "bindings/python/import.h"

namespace frazil::python {

// What asarray makes of an object; the content of a cell is held.
inline bool ToArray(PyObject* object, Tensor* out) {
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
struct Reader<std::optional<bool>> : ParameterOf<std::optional<bool>> {
  bool Load(const Signature& s, PyObject* const* a, int i) {
    return !Given(a[i]) || ToBool(a[i], s.name(), s.parameter(i), false, &value.emplace());
  }
};

// What is not given is the default, which may be a number; None is nothing.
template <>
struct Reader<std::optional<int64_t>> : Parameter<std::optional<int64_t>> {
  bool Load(const Signature& s, PyObject* const* a, int i) {
    if (!a[i] && s.text(i) != "None") value = static_cast<int64_t>(s.number(i));
    return Parameter<std::optional<int64_t>>::Load(s, a, i);
  }
};

}  // namespace frazil::python
