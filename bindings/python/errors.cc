#include "bindings/python/errors.h"

#include "bindings/python/host.h"
#include "core/files/system_error.h"

namespace frazil::python {

PyObject* NpuFaultType() {
  static PyObject* type =
      PyErr_NewExceptionWithDoc("frazil.NpuFault",
                                "A program on the simulated NPU did what it must not: a bug of "
                                "frazil's, never of the user's.",
                                PyExc_RuntimeError, nullptr);
  return type;
}

PyObject* LinAlgErrorType() {
  static PyObject* type = PyErr_NewExceptionWithDoc(
      "frazil.linalg.LinAlgError",
      "A matrix that an algorithm of linear algebra cannot take, as it is singular, not positive "
      "definite or not square.",
      PyExc_ValueError, nullptr);
  return type;
}

namespace {

PyObject* ExceptionFor(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kType:
      return PyExc_TypeError;
    case ErrorKind::kValue:
      return PyExc_ValueError;
    case ErrorKind::kIndex:
      return PyExc_IndexError;
    case ErrorKind::kNotImplemented:
      return PyExc_NotImplementedError;
    case ErrorKind::kMemory:
      return PyExc_MemoryError;
    case ErrorKind::kOverflow:
      return PyExc_OverflowError;
    case ErrorKind::kFile:
      return PyExc_OSError;
    case ErrorKind::kFloatingPoint:
      return PyExc_FloatingPointError;
    case ErrorKind::kInterrupted:
      return PyExc_KeyboardInterrupt;
    case ErrorKind::kLinAlg:
      return LinAlgErrorType();
    case ErrorKind::kNpuFault:
      return NpuFaultType();
    case ErrorKind::kRuntime:
    case ErrorKind::kRaised:
      return PyExc_RuntimeError;
  }
  return PyExc_RuntimeError;
}

// The class that Python has for an errno, such as FileNotFoundError.
Object OSErrorFor(int number) {
  const Object error = Object::Steal(PyObject_CallFunction(PyExc_OSError, "is", number, ""));
  if (!error) PyErr_Clear();
  return Object::Share(error ? reinterpret_cast<PyObject*>(Py_TYPE(error.get())) : PyExc_OSError);
}

}  // namespace

PyObject* Raise(const Status& status) {
  if (KindOf(status) == ErrorKind::kInterrupted) {
    RaiseInterrupt();
    return nullptr;
  }
  if (KindOf(status) == ErrorKind::kRaised) {
    RaiseKept();
    return nullptr;
  }
  const auto text = status.message();
  Object message = Object::Steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  if (message && KindOf(status) == ErrorKind::kFile) {
    PyErr_SetObject(OSErrorFor(ErrnoOf(status)).get(), message.get());
  } else if (message) {
    PyErr_SetObject(ExceptionFor(KindOf(status)), message.get());
  }
  return nullptr;
}

void ErrorName::Rename() const {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (IsKept(value)) return PyErr_Restore(type, value, trace);
  Object args = Object::Steal(value ? PyObject_GetAttrString(value, "args") : nullptr);
  if (args && PyTuple_CheckExact(args.get()) && PyTuple_GET_SIZE(args.get()) == 1 &&
      PyUnicode_Check(PyTuple_GET_ITEM(args.get(), 0))) {
    Py_ssize_t n = 0;
    const char* text = PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(args.get(), 0), &n);
    if (text) {
      const std::string renamed = Renamed({text, static_cast<size_t>(n)}, name_);
      Object changed = Object::Steal(Py_BuildValue("(s#)", renamed.data(), renamed.size()));
      if (changed) PyObject_SetAttrString(value, "args", changed.get());
    }
  }
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
}

}  // namespace frazil::python
