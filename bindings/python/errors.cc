#include "bindings/python/errors.h"

namespace frazil::python {
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
      return PyExc_FileNotFoundError;
    case ErrorKind::kRuntime:
      return PyExc_RuntimeError;
  }
  return PyExc_RuntimeError;
}

}  // namespace

PyObject* Raise(const Status& status) {
  const auto text = status.message();
  Object message = Object::Steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  if (message) PyErr_SetObject(ExceptionFor(KindOf(status)), message.get());
  return nullptr;
}

}  // namespace frazil::python
