// The words that nests and results are written in, and what both ask of objects. Called by nest.cc,
// result.cc and module_type.cc alone. Invariant: no question here runs code of the user's, which
// could change what is being read, so borrowed references are good until the reading ends.
#pragma once

#include <cstdint>

#include "bindings/python/py.h"

namespace frazil::python {

enum Tag : uint64_t {
  kTensor,
  kNone,
  kFalse,
  kTrue,
  kInt,         // bits
  kFloat,       // bits
  kString,      // address of the interned string
  kTuple,       // items
  kList,        // items
  kNamedTuple,  // address of the type, items
  kDict,        // address of the type, keys and values
  kDataclass,   // address of the type, values
  kIdentity,    // address
  kMethod,      // function, object
  kModule,      // number of its structure
  kArgument,    // result: number of a tensor among the arguments
  kContainer,   // result: number of a container among the arguments
  kAgain,       // result: number of an earlier tensor of the result
  kFunction,    // code, globals, attributes, defaults, what its closure holds
  kDefaults,    // positional, named
  kPartial,     // function, arguments, keywords
  kOpen,        // a cell of a closure that holds nothing yet
};
constexpr int kTagBits = 8;
constexpr int kMaxDepth = 64;

inline uint64_t Word(Tag tag, uint64_t count = 0) { return tag | count << kTagBits; }
inline uint64_t Address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

// What never changes under the same address: built-in functions, dtypes, enumeration members.
bool IsFixed(PyObject* object);
// The dict of an instance's attributes, if it has one and it is not empty. Borrowed.
PyObject* AttributesOf(PyObject* object);
// A dataclass's fields by name, or null. Borrowed.
PyObject* FieldsOf(PyObject* object);
// What `object.name` is without asking a property, __getattr__ or __getattribute__; null without an
// error if only they know.
Object Attribute(PyObject* object, PyObject* name);
// Whether a dict finds the key without asking its __hash__ and __eq__.
bool IsPlainKey(PyObject* key);

}  // namespace frazil::python
