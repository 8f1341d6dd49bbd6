// The rows of core/functions/distributions.def as functions of frazil._frazil.random; frazil.random
// gives them their form.
#include "bindings/python/functions.h"
#include "bindings/python/movement.h"
#include "bindings/python/reader.h"
#include "core/functions/distributions.h"

namespace frazil::python {

template <>
struct Reader<const ops::Given&> : ParameterOf<ops::Given> {
  bool Load(const Signature&, PyObject* const* a, int i) {
    if (!ToArray(a[i], &value.tensor)) return false;
    value.known = !IsTensor(a[i]);
    if (IsNest(a[i])) {
      value.exact = FromObject(a[i], {.floats = DType::kF64});
      if (!value.exact.ok()) return false;
    }
    if (PyFloat_CheckExact(a[i])) value.number = PyFloat_AS_DOUBLE(a[i]);
    if (PyLong_CheckExact(a[i])) value.number = PyLong_AsDouble(a[i]);
    return !PyErr_Occurred();
  }
};

// shape, dtype and device.
template <>
struct Reader<const ops::DrawOptions&> {
  static constexpr int kSlots = 3;
  bool Load(const Signature& s, PyObject* const* a, int i) {
    if (Given(a[i])) {
      DimVec dims;
      if (!ToDims(a[i], s.name(), &dims)) return false;
      value.shape.emplace(dims.begin(), dims.end());
    }
    return ToOptionalDType(a[i + 1], s.name(), &value.dtype) &&
           ToDevice(a[i + 2], s.name(), &value.device);
  }
  const ops::DrawOptions& get() const { return value; }
  ops::DrawOptions value;
};

namespace {

// The generator whose state is a tensor; what is drawn replaces its content.
class Drawing {
 public:
  ~Drawing() {
    if (state_) NoteWrite(state_);
  }
  bool Load(PyObject* object) {
    if (IsTensor(object)) {
      state_ = &CellOf(object);
      return true;
    }
    Raise(TypeError("[random] the generator's state must be a tensor, got ",
                    Py_TYPE(object)->tp_name, "."));
    return false;
  }
  ops::Generator operator*() const { return ops::Generator(state_); }

 private:
  Tensor* state_ = nullptr;
};

template <SignatureText text, typename... P>
PyObject* DrawBound(Tensor (ops::Generator::*draw)(P...), PyObject* const* args, Py_ssize_t nargs,
                    PyObject* kwnames) {
  constexpr int slots = (Reader<P>::kSlots + ...);
  FZ_ARGS(slots + 2, text.text);
  FZ_CHECK(signature->size() == slots + 1);
  Drawing drawing;
  if (!drawing.Load(a[0])) return nullptr;
  std::tuple<Reader<P>...> parameters;
  return std::apply(
      [&](auto&... p) -> PyObject* {
        int next = 1;
        const auto load = [&](auto& one) {
          const int i = next;
          next += one.kSlots;
          return one.Load(*signature, a, i);
        };
        return (load(p) && ...) ? Wrap(((*drawing).*draw)(p.get()...)) : nullptr;
      },
      parameters);
}

template <SignatureText text, auto draw>
PyObject* Drawn(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return DrawBound<text>(draw, args, nargs, kwnames);
}

FZ_FAST(Categorical) {
  FZ_ARGS(4, "random.categorical(state, logits, shape, axis, /)");
  Drawing drawing;
  Tensor logits;
  DimVec dims;
  int64_t axis;
  if (!drawing.Load(a[0]) || !ToArray(a[1], &logits) ||
      (Given(a[2]) && !ToDims(a[2], "random.categorical", &dims)) ||
      !ToInt(a[3], "random.categorical", "axis", &axis))
    return nullptr;
  std::optional<std::vector<int64_t>> shape;
  if (Given(a[2])) shape.emplace(dims.begin(), dims.end());
  return Wrap((*drawing).categorical(logits, std::move(shape), axis));
}

FZ_FAST(Choice) {
  FZ_ARGS(6, "random.choice(state, x, shape, replace, p, axis, /)");
  Drawing drawing;
  Tensor x, p;
  DimVec dims;
  bool replace;
  int64_t axis;
  if (!drawing.Load(a[0]) || !ToArray(a[1], &x) || !ToDims(a[2], "random.choice", &dims) ||
      !ToBool(a[3], "random.choice", "replace", true, &replace) ||
      (Given(a[4]) && !ToArray(a[4], &p)) || !ToInt(a[5], "random.choice", "axis", &axis))
    return nullptr;
  return Wrap((*drawing).choice(x, dims, replace, Given(a[4]) ? &p : nullptr, axis));
}

FZ_FAST(Permutation) {
  FZ_ARGS(3, "random.permutation(state, x, axis, /)");
  Drawing drawing;
  Tensor x;
  int64_t axis;
  if (!drawing.Load(a[0]) || !ToArray(a[1], &x) ||
      !ToInt(a[2], "random.permutation", "axis", &axis))
    return nullptr;
  return Wrap((*drawing).permutation(x, axis));
}

}  // namespace

std::vector<FunctionRow> DistributionFunctions() {
  std::vector<FunctionRow> rows = {
      {"categorical(state, logits, shape, axis, /)", "Positions by logits.", Categorical},
      {"choice(state, x, shape, replace, p, axis, /)", "Elements of an array.", Choice},
      {"permutation(state, x, axis, /)", "An array in random order.", Permutation},
  };
#define FZ_DISTRIBUTION(name, parameters, arguments, python)                                  \
  rows.push_back({#name "(state, " python "shape, dtype, device, /)", "frazil.random." #name, \
                  Drawn<"random." #name "(state, " python "shape, dtype, device, /)",         \
                        &ops::Generator::name>});
#include "core/functions/distributions.def"
  return rows;
}

}  // namespace frazil::python
