// Nests of Python objects as words: what a call by promise compares its arguments by. Called by
// promised.cc and module_type.cc. Invariants: nests of equal
// words have the same structure, types, numbers, strings and, for what is compared by identity, the
// same objects; the words name objects by address, so whoever keeps words keeps the pins. Adding
// runs no code of the user's (nest_words.h): what only such code can tell is refused.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "bindings/python/tensor_type.h"
#include "tracer/promise.h"

namespace frazil::python {

using Pinned = std::vector<Object>;

class Nest {
 public:
  // pins (may be null): receives what the words name by address.
  explicit Nest(Pinned* pins = nullptr) : pins_(pins) {}

  // False with refusal() set, or with a Python error, if the object cannot be guarded.
  bool Add(PyObject* object);
  // What stands for arguments that are not given.
  bool AddDefaults(PyObject* function);
  // A keyword's name and what else is compared by identity.
  void AddIdentity(PyObject* object);
  // Adds the .grad of every leaf among the tensors, and last the default random generator's state.
  // Returns how many of the last cells need no guard: the state has one kind.
  size_t AddHidden();

  tracer::Words words;
  SmallStack<Tensor*, 16> cells;
  SmallStack<PyObject*, 8> containers;  // borrowed: lists, tuples, dicts ...
  std::vector<PyObject*> owners;        // borrowed: whose cells they are; only if there are pins

  const std::string& refusal() const { return refusal_; }

 private:
  friend struct SnapshotTaker;
  bool AddItems(PyObject* const* items, Py_ssize_t n);
  bool AddDict(PyObject* dict);
  bool AddDataclass(PyObject* object, PyObject* fields);
  bool AddFunction(PyObject* function);
  bool AddPartial(PyObject* partial);
  bool AddModule(PyObject* module);
  bool AddString(PyObject* string);
  bool Refuse(PyObject* object);
  void Pin(PyObject* object) {
    if (pins_) pins_->push_back(Object::Share(object));
  }

  Pinned* pins_;
  bool lenient_ = false;   // inside a module, whose snapshot outlives the look at it
  bool volatile_ = false;  // what was added can change in ways that a snapshot does not see
  int depth_ = 0;
  std::string refusal_;
};

// The cell of the default generator's state (frazil.random).
void SetDefaultGenerator(PyObject* state);

}  // namespace frazil::python
