// Elements as Python numbers: item() and tolist(). Called by the number slots, methods and
// formatting. Invariant: every byte read here is made real by core::Read first.
#pragma once

#include "bindings/python/tensor_type.h"

namespace frazil::python {

// The only element as bool, int or float; ValueError if there is not exactly one.
PyObject* Item(const Tensor& x, const char* op);
// Nested lists; a number for a 0-d tensor.
PyObject* ToList(const Tensor& x);
// The element at `data`.
PyObject* Element(DType dtype, const char* data);

// Replaces the content of `cell` with `result`, as `cell op= ...` does (number_protocol.cc). False
// with an error set.
bool Assign(std::string_view op, Tensor* cell, Tensor result);

}  // namespace frazil::python
