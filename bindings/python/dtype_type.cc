#include "bindings/python/dtype_type.h"

#include <array>
#include <string>

#include "bindings/python/errors.h"

namespace frazil::python {
namespace {

struct PyDType {
  PyObject_HEAD DType dtype;
};
std::array<PyDType*, kNumDTypes> objects;

DType Of(PyObject* self) { return reinterpret_cast<PyDType*>(self)->dtype; }
PyObject* Text(std::string_view s) {
  return PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size()));
}

PyObject* Repr(PyObject* self) { return Text("frazil." + std::string(Name(Of(self)))); }
PyObject* GetName(PyObject* self, void*) { return Text(Name(Of(self))); }
PyObject* GetItemSize(PyObject* self, void*) { return PyLong_FromLong(SizeOf(Of(self))); }

PyObject* GetKind(PyObject* self, void*) {
  switch (KindOf(Of(self))) {
    case DTypeKind::kBool:
      return Text("bool");
    case DTypeKind::kSigned:
      return Text("signed integer");
    case DTypeKind::kUnsigned:
      return Text("unsigned integer");
    case DTypeKind::kFloat:
      return Text("real floating");
    case DTypeKind::kComplex:
      return Text("complex floating");
  }
  return nullptr;
}

// What np.dtype(fz.float32) asks for.
PyObject* GetNumPy(PyObject* self, void*) {
  const bool bf16 = Of(self) == DType::kBF16;
  Object module = Object::Steal(PyImport_ImportModule(bf16 ? "ml_dtypes" : "numpy"));
  if (!module && bf16 && PyErr_ExceptionMatches(PyExc_ImportError)) {
    PyErr_Clear();
    return Raise(
        TypeError("[dtype] NumPy has no bfloat16 of its own: install ml_dtypes, or use "
                  "astype(frazil.float32)."));
  }
  if (!module) return nullptr;
  if (!bf16)
    return PyObject_CallMethod(module.get(), "dtype", "s", std::string(Name(Of(self))).c_str());
  Object numpy = Object::Steal(PyImport_ImportModule("numpy"));
  Object scalar = Object::Steal(PyObject_GetAttrString(module.get(), "bfloat16"));
  if (!numpy || !scalar) return nullptr;
  return PyObject_CallMethod(numpy.get(), "dtype", "O", scalar.get());
}

PyObject* Compare(PyObject* self, PyObject* other, int op) {
  if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  const auto dtype = TryDType(other);
  return PyBool_FromLong((dtype && *dtype == Of(self)) == (op == Py_EQ));
}

Py_hash_t Hash(PyObject* self) { return 1 + static_cast<Py_hash_t>(Of(self)); }

PyObject* Reduce(PyObject* self, PyObject*) { return Text(Name(Of(self))); }

PyGetSetDef getset[] = {
    {"name", GetName, nullptr, "The name, for example 'float32'.", nullptr},
    {"itemsize", GetItemSize, nullptr, "Bytes of one element.", nullptr},
    {"kind", GetKind, nullptr,
     "'bool', 'signed integer', 'unsigned integer', 'real floating' or 'complex floating'.",
     nullptr},
    {"dtype", GetNumPy, nullptr, "The NumPy dtype.", nullptr},
    {"__numpy_dtype__", GetNumPy, nullptr, "The NumPy dtype.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMethodDef methods[] = {
    {"__reduce__", Reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

constinit PyTypeObject type = [] {
  PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
  t.tp_name = "frazil.DType";
  t.tp_doc = "An element type.";
  t.tp_basicsize = sizeof(PyDType);
  t.tp_flags = Py_TPFLAGS_DEFAULT;
  t.tp_repr = Repr;
  t.tp_richcompare = Compare;
  t.tp_hash = Hash;
  t.tp_getset = getset;
  t.tp_methods = methods;
  return t;
}();

std::optional<DType> ParseText(PyObject* text) {
  Py_ssize_t n = 0;
  const char* s = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &n) : nullptr;
  if (!s) {
    PyErr_Clear();
    return std::nullopt;
  }
  return ParseDType({s, static_cast<size_t>(n)});
}

}  // namespace

bool AddDTypes(PyObject* module) {
  if (PyType_Ready(&type) < 0 ||
      PyModule_AddObjectRef(module, "DType", reinterpret_cast<PyObject*>(&type)) < 0)
    return false;
  for (int i = 0; i < kNumDTypes; ++i) {
    PyDType* object = PyObject_New(PyDType, &type);
    if (!object) return false;
    object->dtype = static_cast<DType>(i);
    objects[i] = object;
    // Modules give every attribute a plain name; `bool` hides the builtin only inside the package's
    // namespace.
    if (PyModule_AddObjectRef(module, std::string(Name(object->dtype)).c_str(),
                              reinterpret_cast<PyObject*>(object)) < 0)
      return false;
  }
  return true;
}

PyObject* DTypeObject(DType dtype) {
  return Py_NewRef(reinterpret_cast<PyObject*>(objects[static_cast<int>(dtype)]));
}

std::optional<DType> TryDType(PyObject* object) {
  if (Py_IS_TYPE(object, &type)) return Of(object);
  if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::kBool;
  if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::kI64;
  if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::kF64;
  if (object == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::kC128;
  if (PyUnicode_Check(object)) return ParseText(object);
  // np.dtype objects have a name, NumPy's scalar classes are named like their dtypes.
  Object name =
      Object::Steal(PyObject_GetAttrString(object, PyType_Check(object) ? "__name__" : "name"));
  if (!name) {
    PyErr_Clear();
    return std::nullopt;
  }
  if (PyUnicode_Check(name.get()) && PyUnicode_CompareWithASCIIString(name.get(), "bool_") == 0)
    return DType::kBool;
  return ParseText(name.get());
}

bool ToDType(PyObject* object, const char* op, DType* out) {
  if (const auto dtype = TryDType(object)) {
    *out = *dtype;
    return true;
  }
  if (!PyErr_Occurred()) {
    Object repr = Object::Steal(PyObject_Repr(object));
    const char* text = repr ? PyUnicode_AsUTF8(repr.get()) : nullptr;
    if (text)
      Raise(TypeError("[", std::string(op), "] ", std::string(text),
                      " is no dtype of frazil; there are bool, int8 to int64, uint8 to uint64, "
                      "float16, bfloat16, float32, float64, complex64 and complex128."));
  }
  return false;
}

bool ToOptionalDType(PyObject* object, const char* op, std::optional<DType>* out) {
  out->reset();
  if (!object || object == Py_None) return true;
  DType dtype;
  if (!ToDType(object, op, &dtype)) return false;
  *out = dtype;
  return true;
}

const char* FormatCode(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "?";
    case DType::kI8:
      return "b";
    case DType::kI16:
      return "h";
    case DType::kI32:
      return "i";
    case DType::kI64:  // NumPy takes "q" for another type than int64 where long has 64 bits
      return sizeof(long) == 8 ? "l" : "q";  // NOLINT(google-runtime-int)
    case DType::kU8:
      return "B";
    case DType::kU16:
      return "H";
    case DType::kU32:
      return "I";
    case DType::kU64:
      return sizeof(long) == 8 ? "L" : "Q";  // NOLINT(google-runtime-int)
    case DType::kF16:
      return "e";
    case DType::kBF16:
      return nullptr;
    case DType::kF32:
      return "f";
    case DType::kF64:
      return "d";
    case DType::kC64:
      return "Zf";
    case DType::kC128:
      return "Zd";
  }
  return nullptr;
}

}  // namespace frazil::python
