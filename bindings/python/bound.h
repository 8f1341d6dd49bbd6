// Python functions of C++ functions whose parameters say by their types how they are read:
// Bound<"softmax(x, /, axis=-1)", ops::softmax>. Called for every row of composites.def.
// Invariants: the text names the parameters in the function's order, and its defaults are what is
// passed for those that are not given; arrays are held, since another thread may replace the
// content of a cell between two ops.
#pragma once

#include <new>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "bindings/python/held.h"
#include "bindings/python/reduce.h"
#include "core/check.h"
#include "core/functions/composites.h"

namespace frazil::python {

// A parameter of type T: Load reads it from the slots a[i] on, of which it takes kSlots.
template <typename T>
struct Parameter;

template <typename T>
struct ParameterOf {
  static constexpr int kSlots = 1;
  const T& get() const { return value; }
  T value{};
};

template <>
struct Parameter<const Tensor*> : ParameterOf<const Tensor*> {
  bool Load(const Signature& s, PyObject* const* a, int i) {
    return !Given(a[i]) || (value = HeldTensor(a[i], s.name(), &own));
  }
  Tensor own;
};

template <>
struct Parameter<const Tensor&> : Parameter<const Tensor*> {
  bool Load(const Signature& s, PyObject* const* a, int i) {
    return (value = HeldTensor(a[i], s.name(), &own));
  }
  const Tensor& get() const { return *value; }
};

// Of a list the floats are those of the operand beside it: the first, or for that the second.
template <>
struct Parameter<const std::optional<Arg>&> {
  static constexpr int kSlots = 1;
  bool Load(const Signature& s, PyObject* const* a, int i) {
    return !Given(a[i]) || LoadGiven(s, a, i);
  }
  bool LoadGiven(const Signature& s, PyObject* const* a, int i) {
    if (!operand.Load(a[i], s.name(), true, a[i == 0])) return false;
    if (operand.tensor()) {
      value.emplace(own = *operand.tensor());
    } else {
      value.emplace(operand.scalar());
    }
    return true;
  }
  const std::optional<Arg>& get() const { return value; }

  Operand operand;
  Tensor own;
  std::optional<Arg> value;
};

template <>
struct Parameter<const Arg&> : Parameter<const std::optional<Arg>&> {
  bool Load(const Signature& s, PyObject* const* a, int i) { return LoadGiven(s, a, i); }
  const Arg& get() const { return *value; }
};

template <>
struct Parameter<int64_t> : ParameterOf<int64_t> {
  bool Load(const Signature& s, PyObject* const* a, int i) {
    value = static_cast<int64_t>(s.number(i));
    return !a[i] || ToInt(a[i], s.name(), s.parameter(i), &value);
  }
};

template <>
struct Parameter<bool> : ParameterOf<bool> {
  bool Load(const Signature& s, PyObject* const* a, int i) {
    return ToBool(a[i], s.name(), s.parameter(i), s.number(i) != 0, &value);
  }
};

template <>
struct Parameter<double> : ParameterOf<double> {
  bool Load(const Signature& s, PyObject* const* a, int i) {
    value = s.number(i);
    return !a[i] || ToDouble(a[i], s.name(), s.parameter(i), &value);
  }
};

template <>
struct Parameter<std::optional<int64_t>> : ParameterOf<std::optional<int64_t>> {
  bool Load(const Signature& s, PyObject* const* a, int i) {
    return !Given(a[i]) || ToInt(a[i], s.name(), s.parameter(i), &value.emplace());
  }
};

template <>
struct Parameter<const ops::Lengths&> : ParameterOf<ops::Lengths> {
  bool Load(const Signature& s, PyObject* const* a, int i) {
    if (!Given(a[i])) return true;
    DimVec lengths;
    if (!ToInts(a[i], s.name(), s.parameter(i), &lengths)) return false;
    value.values.emplace(lengths.begin(), lengths.end());
    return true;
  }
};

template <>
struct Parameter<std::optional<double>> : ParameterOf<std::optional<double>> {
  bool Load(const Signature& s, PyObject* const* a, int i) {
    return !Given(a[i]) || ToDouble(a[i], s.name(), s.parameter(i), &value.emplace());
  }
};

// The function says which texts it knows.
template <>
struct Parameter<std::string_view> : ParameterOf<std::string_view> {
  bool Load(const Signature& s, PyObject* const* a, int i) {
    const char* text = !a[i]                   ? s.text(i).c_str()
                       : PyUnicode_Check(a[i]) ? PyUnicode_AsUTF8(a[i])
                                               : "";
    if (text) value = text;
    return text;
  }
};

// None is the default.
template <>
struct Parameter<ops::Norm> : Parameter<std::string_view> {
  bool Load(const Signature& s, PyObject* const* a, int i) {
    return !Given(a[i]) || Parameter<std::string_view>::Load(s, a, i);
  }
  ops::Norm get() const { return value; }
  Parameter() { value = ops::Norm().text; }
};

template <>
struct Parameter<const Axes&> : ParameterOf<Axes> {
  bool Load(const Signature& s, PyObject* const* a, int i) {
    return ToAxes(a[i], s.name(), &value);
  }
};

template <>
struct Parameter<std::optional<DType>> : ParameterOf<std::optional<DType>> {
  bool Load(const Signature& s, PyObject* const* a, int i) {
    return ToOptionalDType(a[i], s.name(), &value);
  }
};

// A number, lists of them, or an array. In composites_module.cc.
bool ToLevels(PyObject* o, const char* op, const char* name, ops::Levels* out, int depth = 0);

template <>
struct Parameter<const ops::Levels&> : ParameterOf<ops::Levels> {
  bool Load(const Signature& s, PyObject* const* a, int i) {
    return ToLevels(a[i], s.name(), s.parameter(i), &value);
  }
};

// correction and ddof.
template <>
struct Parameter<ops::Correction> {
  static constexpr int kSlots = 2;
  bool Load(const Signature& s, PyObject* const* a, int i) {
    return ToCorrection(a[i], a[i + 1], s.name(), &value);
  }
  ops::Correction get() const { return value; }
  double value = 0;
};

template <size_t n>
struct SignatureText {
  char text[n];
  constexpr SignatureText(const char (&s)[n]) {  // NOLINT: written as a literal
    for (size_t i = 0; i < n; ++i) text[i] = s[i];
  }
};

// A tuple of results; raises if one of them, made by a failed op, holds an error.
inline PyObject* Wrap(std::vector<Tensor>&& results) {
  Object tuple = Object::Steal(PyTuple_New(static_cast<Py_ssize_t>(results.size())));
  for (size_t i = 0; tuple && i < results.size(); ++i) {
    PyObject* const item = Wrap(std::move(results[i]));
    if (!item) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item);
  }
  return tuple.release();
}

template <SignatureText signature_text, template <typename> typename Reader, typename R,
          typename... P>
PyObject* CallBound(R (*function)(P...), PyObject* const* args, Py_ssize_t nargs,
                    PyObject* kwnames) {
  constexpr int slots = (Reader<P>::kSlots + ...);
  FZ_ARGS(slots + 1, signature_text.text);
  FZ_CHECK(signature->size() == slots);
  std::tuple<Reader<P>...> parameters;
  return std::apply(
      [&](auto&... p) -> PyObject* {
        int next = 0;
        const auto load = [&](auto& one) {
          const int i = next;
          next += one.kSlots;
          return one.Load(*signature, a, i);
        };
        return (load(p) && ...) ? Wrap(function(p.get()...)) : nullptr;
      },
      parameters);
}

// What call() returns. What the standard library throws where memory ends is a MemoryError: no
// exception leaves for the interpreter, which would end.
template <typename Call>
PyObject* Caught(const Call& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    const bool memory = dynamic_cast<const std::bad_alloc*>(&error) ||
                        dynamic_cast<const std::length_error*>(&error);
    return PyErr_Format(memory ? PyExc_MemoryError : PyExc_RuntimeError,
                        memory ? "The arguments ask for more memory than there is (%s)." : "%s",
                        error.what());
  }
}

template <SignatureText text, auto function, template <typename> typename Reader = Parameter>
PyObject* Bound(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return Caught([&] { return CallBound<text, Reader>(function, args, nargs, kwnames); });
}

// A function that reads its arguments itself.
template <FastFunction function>
PyObject* Guarded(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return Caught([&] { return function(self, args, nargs, kwnames); });
}

}  // namespace frazil::python
