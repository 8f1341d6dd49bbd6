// Nests of Python objects as words: what a call by promise compares its arguments by. Called by
// promised.cc and module_type.cc. It is a walk of its own because it compares more than structure:
// which objects are the same, the versions of classes, attributes that are no fields, the insides
// of functions. What kind of container an object is, and the order of its items, it asks
// container.h, as every other walk does. Invariants: nests of equal words are the same to a body
// that depends on them only; the words name objects by address, so whoever keeps words keeps the
// pins; adding runs no code of the user's: what only such code can tell is refused.
//
// The rule. Everything that an argument reaches is compared, or the call is refused and its body
// runs:
//   tensors               layout, dtype, device, node, sharing (tracer/promise_key.h), marks
//   numbers, strings      type and value; of nans which are one object
//   tuples, lists, dicts, deques   items in their order; sets of numbers and strings, too
//   instances             of classes written in Python, on top of object, tuple, list or dict: the
//                         class, items, every attribute, in __dict__ and in __slots__
//   modules               the same, by a snapshot (module_type.h)
//   classes               identity, every assignment to them, their bases and metaclasses, and what
//                         their attributes hold that are neither code (what has __get__), nor
//                         special (__x__)
//   functions             code, globals, name, documentation, annotations, defaults, attributes,
//                         closure; partials and methods by their parts
//   structures of nests   what they are made of (tree.h)
//   built-in functions, dtypes, Python's modules   identity
// Which of the lists, dicts, tuples, instances, modules and functions are one object is compared as
// well, but for those inside of two modules that do not hold each other.
// Refused is every other type, and a class whose instances have state that Python does not show.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "bindings/python/class_info.h"
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
  SmallStack<PyObject*, 8> containers;  // borrowed, each once: lists, tuples, dicts, functions ...
  // Names outside that the body writes to.
  struct Place {
    PyObject *dict, *name;
  };
  SmallStack<Place, 1> places;

  // Where an int or a float lies that may move from call to call: an argument (`owner` is
  // Py_Ellipsis), an item of a list or tuple, a value of a dict, a slot, a cell, a global name.
  struct Spot {
    PyObject *owner = nullptr, *key = nullptr;
    Py_ssize_t index = 0;
    PyObject* object = nullptr;  // what lies there
  };
  // Which of the ints and floats with a spot, in the order in which they are met, are not compared
  // by value but kept in `moving` (null: none).
  const std::vector<bool>* moves = nullptr;
  // Lists whose items are not compared, as they are only appended to (null: none).
  const absl::flat_hash_set<PyObject*>* unread = nullptr;
  SmallStack<Spot, 1> moving;
  SmallStack<uint32_t, 4> values;  // where in the words the values of those with a spot stand, or 0
  // Where in the words what somebody wants to name begins (null: nobody does).
  std::vector<std::pair<size_t, std::string>>* notes = nullptr;
  size_t compared = 0;          // how many words there are before those of numbers
  std::vector<Object> numbers;  // what is computed from them (proof/numbers.h)
  std::vector<Tensor> operands;
  // Where the next object that is added lies.
  void At(PyObject* owner, PyObject* key, Py_ssize_t index = 0) { spot_ = {owner, key, index}; }
  // Only if there are pins; borrowed:
  std::vector<PyObject*> owners;     // whose cells they are
  std::vector<PyTypeObject*> types;  // classes that were compared by their version

  const std::string& refusal() const { return refusal_; }
  // Refuses what a proof cannot see through: a class among what was added has a special method of
  // no Python function (ClassInfo::foreign).
  bool RefuseForeign();

 private:
  friend struct SnapshotTaker;
  [[gnu::always_inline]] bool AddContainer(PyObject* object, Container kind);
  bool AddLeaf(PyObject* object);
  bool AddItems(PyObject* object, Container kind);
  bool AddDict(PyObject* dict);
  bool AddSet(PyObject* set);
  bool AddDeque(PyObject* deque);
  [[gnu::noinline]] bool RefuseKey(PyObject* key);
  [[gnu::noinline]] bool HasPlainKeys(PyObject* dict);
  bool AddInstance(PyObject* object);
  bool AddAttributes(PyObject* object, bool is_enum);
  bool AddSlots(PyObject* object, const ClassInfo::Slots& slots);
  bool AddType(PyTypeObject* type);
  bool AddClass(PyTypeObject* type);
  bool AddFunction(PyObject* function);
  void AddGlobals(PyObject* function);
  void AddAnnotations(PyObject* annotations);
  void AddAnnotation(PyObject* annotation);
  bool AddPartial(PyObject* partial);
  bool AddStructure(PyObject* structure);
  bool AddModule(PyObject* module);
  bool AddString(PyObject* string);
  bool AddNan(PyObject* nan, const Spot& spot);
  bool Refuse(PyObject* object);
  bool Moves(PyObject* number, const Spot& spot);
  bool IsAgain(PyObject* container);
  void NoteContainer(PyObject* container);
  void Pin(PyObject* object) {
    if (pins_) pins_->push_back(Object::Share(object));
  }

  Pinned* pins_;
  Spot spot_;
  bool in_key_ = false;       // inside a dict's key, whose numbers are found by their values
  bool lenient_ = false;      // inside a module, whose snapshot outlives the look at it
  bool volatile_ = false;     // what was added can change in ways that a snapshot does not see
  bool has_default_ = false;  // the default generator's state is among the cells
  int depth_ = 0;
  std::unique_ptr<absl::flat_hash_map<PyObject*, size_t>> places_;  // of many containers
  std::vector<PyTypeObject*> classes_;  // whose attributes have been added
  std::string refusal_, foreign_;
};

// The cell of the default generator's state (frazil.random).
void SetDefaultGenerator(PyObject* state);

}  // namespace frazil::python
