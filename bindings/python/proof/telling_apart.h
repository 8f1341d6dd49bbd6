// Whether an instruction or a call may show which tensors are one object: `is`, keys of dicts and
// sets, == of what holds them, functions that nobody knows. Called by watch.cc for exported programs:
// states of their loops (tracer/while_loop.h) leave out which object holds a tensor, and inputs that are
// told apart are a condition (frozen/program.h: same). Invariant: what is not known to show nothing is
// taken to show it; asking runs no code of the program's.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "bindings/python/py.h"

namespace frazil::python {

// Borrowed.
using Tensors = absl::flat_hash_set<PyObject*>;

// The first places where a body asks which of its arguments' tensors are one.
struct Asked {
  struct Pair {
    Object a, b;
    std::string where;
  };
  std::vector<Pair> pairs;  // by `is`
  std::string otherwise;    // of any of them; empty: nowhere
};

// The tensors in lists, tuples and dicts.
void FindTensors(PyObject* object, Tensors* found, int depth = 0);

// Whether there is a tensor in it, or may be: one of `among` (null: any).
bool HoldsTensor(PyObject* object, const Tensors* among = nullptr, int depth = 0);

// Of C code: what is written in Python is looked at itself.
bool CallTellsApart(PyObject* callable, PyObject* const* arguments, int count,
                    const Tensors* among = nullptr);

bool ComparisonTellsApart(PyObject* a, PyObject* b, const Tensors* among = nullptr);  // ==, <, ...
// &, |, ... of sets and dicts.
bool OperatorTellsApart(PyObject* a, PyObject* b, const Tensors* among = nullptr);

}  // namespace frazil::python
