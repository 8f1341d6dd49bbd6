// World: what a traced function reads of Python's state besides its arguments, as far as its calls
// have been watched (proof/watch.h): names of modules, attributes of modules, classes, the insides
// of functions that run. A call by proof compares it before it skips the body.
//
// What hardly ever changes is *fixed*: numbers, strings, classes, modules and functions that hold
// nothing else. It is compared by versions, a word for each dict of names, each class, each part of
// a function. What may change in itself (a list, an instance, a tensor) or has been seen to change
// is *given*: it is added to the call's nest (bindings/python/nest.h) like one more argument.
//
// Called by watch.cc, which adds, and by prover.cc, which compares. Invariants: if Guard says that
// nothing changed, every name, class and function that was read is what it was when it was added;
// adding and comparing run no code of the user's. It holds what it compares: whoever owns a World
// shows it to the garbage collector.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "bindings/python/nest.h"
#include "bindings/python/proof/dict_version.h"

namespace frazil::python {

class World {
 public:
  // What a body reads, at `where` ("train.py:12"). False with refusal() set if it cannot be
  // compared.
  bool AddName(PyObject* globals, PyObject* builtins, PyObject* name, const std::string& where);
  bool AddAttribute(PyObject* module, PyObject* name, const std::string& where);
  bool AddEntry(PyObject* dict, PyObject* name, const std::string& where);
  // A global name is assigned to: calls that skip the body do so, too (Nest::places).
  bool AddWritten(PyObject* globals, PyObject* name, const std::string& where);
  // An object that is reached without a name: a descriptor, say.
  bool AddObject(PyObject* object, const std::string& where);
  // A function's name, module, documentation or, as long as there are none, further attributes.
  // False if `name` is something else.
  bool AddMetadata(PyObject* function, PyObject* name);
  // Something that is not to be fixed, as it is written to.
  bool MakeGiven(PyObject* function, const std::string& where);
  // A function runs that nobody has read: a method, say.
  bool AddFunction(PyObject* function, const std::string& where);

  // Compares what is fixed. False if something has changed, which is forgotten or given from now
  // on, or with refusal() set if it cannot be compared any more: what was learnt under the world
  // before is void.
  bool Compare();
  // Then adds what is given to the nest. False with refusal() set if something cannot be added.
  bool AddGiven(Nest* nest);
  // Both.
  bool Guard(Nest* nest) { return Compare() && AddGiven(nest); }

  // Counts what has been added or forgotten.
  int64_t changes() const { return changes_; }
  const std::string& refusal() const { return refusal_; }
  // What is compared, a line each: "train.py:3: the name 'rate'".
  std::string Describe() const;

  int Traverse(visitproc visit, void* arg) const;
  void Clear();

 private:
  struct Name {
    Object name;
    Object value;  // null: there is none
    bool given = false, written = false;
    std::string where;
  };
  // The names of one dict.
  struct Scope {
    Object dict;
    DictVersion version;
    uint64_t seen;
    std::vector<Name> names;
  };
  struct Class {
    Object type;
    unsigned version;
  };
  struct Function {
    Object function, code, defaults, named, attributes, closure;
    bool Same() const;
  };
  struct Cell {
    Object function, cell, content;
  };
  struct Metadata {
    Object function;
    PyObject* PyFunctionObject::*member;
    Object value;
    bool Same() const;
  };
  // A module or function whose attributes are those of the dict: the module has no class of its
  // own that says otherwise.
  struct Owner {
    Object object, dict;
    bool Same() const;
  };
  struct Given {
    Object object;
    std::string where;
  };
  // What finding out whether something is fixed adds.
  struct Fixed;

  Scope& ScopeOf(PyObject* dict);
  Name* Find(Scope* scope, PyObject* name);
  bool Add(PyObject* dict, PyObject* name, PyObject* value, const std::string& where);
  bool CheckNames(Scope* scope);
  bool IsFixed(PyObject* object, int depth = 0);
  bool IsMoving(PyObject* object) const;
  bool IsFixedType(PyTypeObject* type, int depth);
  bool IsFixedFunction(PyObject* function, int depth);
  bool Give(PyObject* object, const std::string& what, const std::string& where);
  bool CanBeGiven(PyObject* object, const std::string& what);
  bool Forget(const Object& moving);

  std::vector<std::unique_ptr<Scope>> scopes_;
  std::vector<Class> classes_;
  std::vector<Function> functions_;
  std::vector<Cell> cells_;
  std::vector<Given> given_;
  std::vector<Metadata> metadata_;
  std::vector<Owner> owners_;
  absl::flat_hash_set<PyObject*> known_;  // classes and functions that were found to be fixed
  std::vector<Object> moving_;            // that have been seen to change: they are never fixed
  int64_t changes_ = 0;
  std::string refusal_;
};

}  // namespace frazil::python
