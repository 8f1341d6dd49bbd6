// What a class says of its instances: which kind of container they are, where their state lies, and
// which attributes of the class hold state themselves. Called by container.cc for every walk, and
// by nest.cc, result.cc, module_type.cc and tree_build.cc. Invariant: it is right while the class
// has the version that it was made at, which every assignment to the class, to its bases and to
// their bases changes.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "bindings/python/container.h"

namespace frazil::python {

struct ClassInfo {
  struct Slot {  // of __slots__, and a defaultdict's default_factory
    Object name;
    Py_ssize_t offset;
  };
  using Slots = absl::InlinedVector<Slot, 2>;

  unsigned version = 0;
  Container container = Container::kLeaf;
  bool is_enum = false;
  // Instances are containers or members of an enumeration, and Python shows all of their state.
  bool is_shown = false;
  bool has_dict = false;  // instances have a __dict__
  Slots slots;            // those of the bases as well
  Object names;           // of a dataclass's fields, of a named tuple's items: a tuple, or null
  // Attributes by name that are neither code (what has __get__) nor constant, but for special names
  // (__x__) and an enumeration's members. Borrowed from the class.
  absl::InlinedVector<std::pair<PyObject*, PyObject*>, 2> data;
  std::vector<Object> members;  // of an enumeration
  // The first special name under which Python calls what is no function written in Python and no
  // method of a built-in type (`__len__ = items.__len__`): what that reads nobody sees. Null: none.
  Object foreign;
};

// Changes whenever the class or one of its bases does; 0 if it cannot be told.
unsigned VersionOf(PyTypeObject* type);

// Null if the class has no version. Valid until the class changes.
const ClassInfo* InfoOf(PyTypeObject* type);
void Describe(PyTypeObject* type, ClassInfo* info);

// What a slot holds, or null. Borrowed.
inline PyObject* SlotOf(PyObject* object, const ClassInfo::Slot& slot) {
  return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + slot.offset);
}

// The dict of an instance's attributes, if it has one. Borrowed.
PyObject* AttributesOf(PyObject* object);

// What `object.name` is without asking a property, __getattr__ or __getattribute__; null without an
// error if only they know.
Object Attribute(PyObject* object, PyObject* name);

// Whether a dict finds the key without asking its __hash__ and __eq__.
bool IsPlainKey(PyObject* key);

// A nan equals no other object, so Python finds it by its address.
inline bool IsNan(PyObject* o) { return PyFloat_CheckExact(o) && std::isnan(PyFloat_AS_DOUBLE(o)); }

// Whether a name begins and ends with two underscores.
bool IsSpecial(PyObject* name);

// Whether a name begins and ends with an underscore.
bool IsSunder(PyObject* name);

// What never changes under the same address: built-in functions, dtypes, the ellipsis.
bool IsFixed(PyObject* object);

}  // namespace frazil::python
