// What C code does with the numbers that it is given: hands them on, or asks for their values, which
// only a number that is part of the key may be asked for. Called by watch_numbers.cc and
// watch_operands.cc. Invariant: what is not known to hand a number on is taken to ask for it; asking
// runs no code.
#pragma once

#include <string_view>

#include "bindings/python/py.h"

namespace frazil::python {

constexpr int kMaxDepthOfPins = 16;

bool IsNumber(PyObject* object);

// Functions of numbers to a number.
bool IsNumeric(PyObject* callable);

// Gives items that nobody sees before.
bool IsIterator(PyObject* object);

// `object[i]`, `i in object` are functions of Python's.
bool IndexedByPython(PyObject* object);
bool SearchedByPython(PyObject* object);

// Built-in functions whose answer does not depend on the values of numbers.
bool AsksNoNumber(PyObject* callable, PyObject* const* arguments, int count);

// fz.asarray, which says itself what it asks of numbers (Watch::Element).
bool IsAsArray(PyObject* callable);
// Lists and tuples of numbers, tensors and further ones, and nothing that runs code.
bool IsNestOfNumbers(PyObject* object, int depth = 0);

// The name of a built-in function or method, else empty.
std::string_view NameOfMethod(PyObject* callable);

// Of a method of a list, dict or deque that hands on items: how many of its arguments it looks at,
// which come first. -1: it is something else.
int KeysOf(PyObject* callable);

// Callables that hand on what they get, or are watched themselves.
bool HandsOn(PyObject* callable);
// The same of what Python code returns to them, which they call.
bool GivesBack(PyObject* callable);

}  // namespace frazil::python
