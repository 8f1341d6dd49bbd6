// What every file of the extension module starts from: the Python headers and an owned reference.
// Called by the bindings only. Invariant: a null Object after a call of the C API means that a
// Python error is set.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <utility>

namespace frazil::python {

// An owned reference.
class Object {
 public:
  Object() = default;
  static Object Steal(PyObject* p) {
    Object o;
    o.p_ = p;
    return o;
  }
  static Object Share(PyObject* p) {
    Py_XINCREF(p);
    return Steal(p);
  }
  Object(const Object& o) : p_(o.p_) { Py_XINCREF(p_); }
  Object(Object&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Object& operator=(Object o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Object() { Py_XDECREF(p_); }
  PyObject* get() const { return p_; }
  PyObject* release() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject* p_ = nullptr;
};

}  // namespace frazil::python
