#include "bindings/python/convert.h"

#include <cmath>

#include "bindings/python/import.h"
#include "core/device.h"

namespace frazil::python {
namespace {

bool IntScalar(PyObject* object, Scalar* out) {
  int overflow = 0;
  const long long v = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow == 0) {
    *out = Scalar::Int(v);
    return true;
  }
  const unsigned long long u = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
  if (overflow > 0 && !PyErr_Occurred()) {
    *out = Scalar::Big(u);
    return true;
  }
  PyErr_Clear();
  double nearest = PyLong_AsDouble(object);
  if (PyErr_Occurred()) nearest = overflow > 0 ? INFINITY : -INFINITY;
  PyErr_Clear();
  *out = Scalar::Beyond(nearest);
  return true;
}

// Asks the type alone, which runs no code of the user's.
bool IsFromNumPy(PyObject* object) {
  static PyObject* const name = PyUnicode_InternFromString("__array_interface__");
  return _PyType_Lookup(Py_TYPE(object), name) != nullptr;
}

// NumPy's protocol: its class has the operators between the two.
bool LeavesOperators(PyObject* object) {
  static PyObject* const name = PyUnicode_InternFromString("__array_ufunc__");
  return _PyType_Lookup(Py_TYPE(object), name) == Py_None;
}

}  // namespace

bool TryScalar(PyObject* object, Scalar* out) {
  if (PyFloat_CheckExact(object)) {
    *out = Scalar::Float(PyFloat_AS_DOUBLE(object));
    return true;
  }
  if (PyLong_CheckExact(object)) return IntScalar(object, out);
  if (PyBool_Check(object)) {
    *out = Scalar::Bool(object == Py_True);
    return true;
  }
  // Subclasses count as their base, except that NumPy's float64 (a subclass of float) keeps its
  // dtype.
  if (PyFloat_Check(object) && !IsFromNumPy(object)) {
    *out = Scalar::Float(PyFloat_AS_DOUBLE(object));
    return true;
  }
  if (PyComplex_Check(object) && !IsFromNumPy(object)) {
    const Py_complex z = PyComplex_AsCComplex(object);
    *out = Scalar::Complex(z.real, z.imag);
    return true;
  }
  return PyLong_Check(object) && IntScalar(object, out);
}

bool Operand::LoadForeign(PyObject* object, const char* op, bool strict, PyObject* beside) {
  const bool nest = (strict || beside) && IsNest(object);  // a list is an array of its elements
  if (!nest && (LeavesOperators(object) || !IsArrayLike(object))) {
    if (strict) {
      Raise(TypeError("[", std::string(op), "] takes tensors, arrays and numbers, got ",
                      Py_TYPE(object)->tp_name, "; use asarray."));
    }
    return false;
  }
  const ErrorName error_name(op);
  ImportOptions options;
  // What the op computes in float64 is not rounded to a narrower default before.
  if (beside && IsTensor(beside)) options.floats = Promote(CellOf(beside).dtype(), DefaultFloat());
  own_ = FromObject(object, options);
  if (!own_.ok()) {
    if (!PyErr_Occurred()) Raise(own_.status());
    return false;
  }
  tensor_ = &own_;
  return true;
}

bool ToTensor(PyObject* object, const char* op, Tensor* out) {
  Operand operand;
  if (!operand.Load(object, op, true)) return false;
  if (operand.tensor()) {
    *out = *operand.tensor();
  } else {
    const Scalar& number = operand.scalar();
    if (number.is_complex()) {
      *out = ops::scalar(number, DefaultFor(number.kind));
    } else {
      auto immediate = ToImmediate(op, number, DefaultFor(number.kind));
      *out = immediate.ok() ? Tensor(*std::move(immediate)) : Tensor(std::move(immediate).status());
    }
  }
  if (out->ok()) return true;
  Raise(out->status());
  return false;
}

const Tensor* TensorOf(PyObject* object, const char* op, Tensor* own) {
  if (IsTensor(object)) return &CellOf(object);
  return ToTensor(object, op, own) ? own : nullptr;
}

bool ToInt(PyObject* object, const char* op, const char* what, int64_t* out) {
  Object index = PyBool_Check(object) ? Object() : Object::Steal(PyNumber_Index(object));
  if (!index) {
    if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Clear();
      Raise(TypeError("[", std::string(op), "] ", std::string(what), " must be an integer, got ",
                      Py_TYPE(object)->tp_name, "."));
    }
    return false;
  }
  *out = PyLong_AsLongLong(index.get());
  if (*out != -1 || !PyErr_Occurred()) return true;
  PyErr_Format(PyExc_OverflowError, "[%s] %s must fit into 64 bits, got %R.", op, what,
               index.get());
  return false;
}

bool ToDouble(PyObject* object, const char* op, const char* what, double* out) {
  *out = PyFloat_AsDouble(object);
  if (*out != -1 || !PyErr_Occurred()) return true;
  if (PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    Raise(TypeError("[", std::string(op), "] ", std::string(what), " must be a number, got ",
                    Py_TYPE(object)->tp_name, "."));
  }
  return false;
}

namespace {

bool IsTruth(PyObject* object) {
  if (PyBool_Check(object)) return true;
  if (IsTensor(object)) return CellOf(object).dtype() == DType::kBool;
  if (PyLong_CheckExact(object)) {
    const long value = PyLong_AsLong(object);  // NOLINT(google-runtime-int): Python's type
    if (value == -1 && PyErr_Occurred()) PyErr_Clear();
    return value == 0 || value == 1;
  }
  const std::string_view type = Py_TYPE(object)->tp_name;
  return type == "numpy.bool" || type == "numpy.bool_";
}

}  // namespace

bool ToBool(PyObject* object, const char* op, const char* what, bool fallback, bool* out) {
  *out = fallback;
  if (!object) return true;
  if (!IsTruth(object)) {
    PyErr_Format(PyExc_TypeError, "[%s] %s must be True or False, got %R.", op, what, object);
    return false;
  }
  const int truth = PyObject_IsTrue(object);
  *out = truth > 0;
  return truth >= 0;
}

bool ToNumber(PyObject* object, const char* op, const char* what, Scalar* out) {
  if (TryScalar(object, out) && !out->is_complex()) return true;
  if (IsTensor(object) && CellOf(object).rank() == 0 && !IsComplex(CellOf(object).dtype())) {
    const Object item = Object::Steal(PyObject_CallMethod(object, "item", nullptr));
    return item && TryScalar(item.get(), out);
  }
  const auto try_as = [&](PyObject* (*as)(PyObject*)) {
    const Object number = Object::Steal(as(object));
    PyErr_Clear();
    return number && TryScalar(number.get(), out);
  };
  // A float can be read from text.
  if (!IsTensor(object) && !PyUnicode_Check(object) && !PyBytes_Check(object)) {
    if (PyIndex_Check(object) && try_as(PyNumber_Index)) return true;
    if (try_as(PyNumber_Float)) return true;
  }
  PyErr_Format(PyExc_TypeError, "[%s] %s must be a number, got %s.", op, what,
               Py_TYPE(object)->tp_name);
  return false;
}

bool IsOneInt(PyObject* object) {
  if (!PyIndex_Check(object)) return false;
  if (!PySequence_Check(object)) return true;
  const bool sized = PyObject_Size(object) >= 0;
  if (!sized) PyErr_Clear();
  return !sized;
}

namespace {

// Calls add(item) for an int or each item of a sequence.
template <typename Add>
bool ForInts(PyObject* object, const char* op, const char* what, const Add& add) {
  if (IsOneInt(object)) return add(object);
  if (!PySequence_Check(object) || PyUnicode_Check(object)) {
    Raise(TypeError("[", std::string(op), "] ", std::string(what),
                    " must be an integer or a tuple of integers, got ", Py_TYPE(object)->tp_name,
                    "."));
    return false;
  }
  const Object items = Object::Steal(PySequence_Tuple(object));  // which no item's code can change
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    if (!add(PyTuple_GET_ITEM(items.get(), i))) return false;
  }
  return true;
}

}  // namespace

bool ToAxes(PyObject* object, const char* op, Axes* out) {
  out->reset();
  if (!Given(object)) return true;
  out->emplace();
  return ForInts(object, op, "axis", [&](PyObject* item) {
    int64_t v;
    if (!ToInt(item, op, "axis", &v)) return false;
    (*out)->push_back(v);
    return true;
  });
}

bool ToInts(PyObject* object, const char* op, const char* what, DimVec* out) {
  out->clear();
  return ForInts(object, op, what, [&](PyObject* item) {
    int64_t v;
    if (!ToInt(item, op, what, &v)) return false;
    out->push_back(v);
    return true;
  });
}

bool ToDims(PyObject* object, const char* op, DimVec* out) {
  out->clear();
  return ForInts(object, op, "shape", [&](PyObject* item) {
    int64_t v;
    if (ToInt(item, op, "an extent", &v)) {
      out->push_back(v);
      return true;
    }
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
      PyErr_Clear();
      Raise(MemoryError("[", std::string(op), "] an extent of the shape is over 64 bits."));
    }
    return false;
  });
}

bool NamesDevice(PyObject* object, const char* op, Device* out) {
  if (Given(object)) return ToDevice(object, op, out);
  Raise(TypeError("[", std::string(op), "] device must be a name like \"cpu\", got None."));
  return false;
}

bool HasDLPackDevice(Device device) {
  if (device.kind() != DeviceKind::kNpu) return true;
  PyErr_Format(PyExc_BufferError,
               "[__dlpack__] DLPack has no name for the memory of \"%s\"; use "
               "x.to_device(\"cpu\").",
               Name(device).c_str());
  return false;
}

bool ToDevice(PyObject* object, const char* op, Device* out) {
  *out = Device();
  if (!Given(object)) return true;
  Py_ssize_t n = 0;
  const char* text = PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &n) : nullptr;
  if (!text) {
    if (!PyErr_Occurred()) {
      Raise(TypeError("[", std::string(op), "] device must be a name like \"cpu\", got ",
                      Py_TYPE(object)->tp_name, "."));
    }
    return false;
  }
  const auto device = ParseDevice({text, static_cast<size_t>(n)});
  if (!device.ok()) {
    Raise(device.status());
    return false;
  }
  *out = *device;
  return true;
}

bool ToTensors(PyObject* object, const char* op, std::vector<Tensor>* out) {
  if (IsTensor(object) || !PySequence_Check(object)) {
    Raise(TypeError("[", std::string(op), "] takes a list or tuple of tensors, got ",
                    Py_TYPE(object)->tp_name, "."));
    return false;
  }
  const Object items = Object::Steal(PySequence_Tuple(object));  // which no item's code can change
  if (!items) return false;
  const Py_ssize_t n = PyTuple_GET_SIZE(items.get());
  out->resize(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!ToTensor(PyTuple_GET_ITEM(items.get(), i), op, &(*out)[static_cast<size_t>(i)]))
      return false;
  }
  return true;
}

}  // namespace frazil::python
