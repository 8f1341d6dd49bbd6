// Arguments of fast calls, parsed by the signature that help() shows: "sum(x, /, axis=None, *,
// keepdims=False)". Called by every module-level function that takes more than plain operands.
// Invariant: a parameter with a default is optional and its slot is null when not given; errors are
// TypeErrors worded as Python's own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bindings/python/errors.h"

namespace frazil::python {

using FastFunction = PyObject* (*)(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                                   PyObject* kwnames);

class Signature {
 public:
  explicit Signature(std::string_view text);

  const char* name() const { return name_.c_str(); }
  int size() const { return static_cast<int>(parameters_.size()); }
  const char* parameter(int i) const { return parameters_[i].name.c_str(); }
  // What the text says after "=": as a number (True is 1), and without quotes.
  double number(int i) const { return parameters_[i].number; }
  const std::string& text(int i) const { return parameters_[i].text; }
  // Fills out[0, parameters) with borrowed references. False with TypeError set.
  bool Parse(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, PyObject** out) const;

 private:
  struct Parameter {
    std::string name;
    bool required;
    double number = 0;
    std::string text = {};
  };
  int Find(PyObject* name) const;
  // The error for a keyword that is none.
  std::string Unexpected(const std::string& keyword) const;

  std::string name_;
  std::vector<Parameter> parameters_;
  int positional_only_ = 0;
  int positional_ = 0;  // how many may be given by position
};

// Parses into a local array `a`; returns null from the function on error. Errors of ops inside the
// function carry the signature's name.
#define FZ_ARGS(count, text)                                     \
  static const Signature* const signature = new Signature(text); \
  const ErrorName error_name(signature->name());                 \
  PyObject* a[count] = {};                                       \
  if (!signature->Parse(args, nargs, kwnames, a)) return nullptr

// A function's name as a template argument, for functions that differ in name and body only.
struct OpName {
  char text[32] = {};
  template <size_t n>
  constexpr OpName(const char (&s)[n]) {  // NOLINT: names are written as literals
    for (size_t i = 0; i < n; ++i) text[i] = s[i];
  }
};

inline bool Given(PyObject* o) { return o != nullptr && o != Py_None; }

// A module-level function. `doc` follows the signature in help().
struct FunctionRow {
  std::string signature;
  std::string doc;
  FastFunction function;
  std::string name = {};  // when it differs from the signature's: an alias
};

// Adds the functions to `module`, as living in the module `home`.
bool AddFunctions(PyObject* module, const char* home, const std::vector<FunctionRow>& rows);

}  // namespace frazil::python
