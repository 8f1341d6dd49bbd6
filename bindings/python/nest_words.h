// The words that nests and results are written in. Called by nest.cc, result.cc and
// proof/effects.cc alone.
#pragma once

#include <cstdint>

#include "bindings/python/py.h"

namespace frazil::python {

enum Tag : uint64_t {
  kTensor,  // its marks in the place of a count
  kNone,
  kFalse,
  kTrue,
  kInt,          // bits
  kFloat,        // bits
  kString,       // address of the interned string
  kTuple,        // items
  kList,         // items
  kNamedTuple,   // address of the type, items
  kDict,         // keys and values
  kDataclass,    // result: address of the type, names and values
  kInstance,     // address of the type, its class, items, attributes, slots
  kAttributes,   // names and values
  kIdentity,     // address
  kMethod,       // function, object
  kModule,       // number of its structure
  kArgument,     // result: number of a tensor among the arguments
  kContainer,    // result: number of a container among the arguments
  kAgain,        // number of an earlier container; result: of an earlier tensor of the result
  kFunction,     // its parts, what its closure holds
  kAnnotations,  // names and values, or arguments
  kDefaults,     // positional, named
  kPartial,      // function, arguments, keywords
  kOpen,         // a cell of a closure, or a slot, that holds nothing
  kMade,         // result: number of a list, a dict or an instance that the result made
  kSet,          // items, and whether it is frozen
  kDeque,        // items, behind how many there may be
  kNumber,       // result: node of the function's Numbers
};
// What a body changed (proof/effects.h), behind the words of a result: the kind of change and the
// number of the container, then what is said here.
enum class Change : uint64_t {
  kSetItem,      // of a list: index, value
  kAppend,       // value
  kReplace,      // all items of a list or deque: a list
  kReplaceKeys,  // all keys and values of an OrderedDict: a dict
  kSetKey,       // of a dict: key, value
  kDeleteKey,    // key
  kSetSlot,      // of an instance: address of the name, value
  kSetCell,      // value
  kSetName,      // a place's number; value
  kDeleteName
};
constexpr int kTagBits = 8;
constexpr int kMaxDepth = 64;

// The one weak reference to an object, which no later one at its address shares. Borrowed. Words name
// by it what may hold the traced function itself, which pins would keep for ever.
PyObject* WeakTo(PyObject* object);

inline uint64_t Word(Tag tag, uint64_t count = 0) { return tag | count << kTagBits; }
inline uint64_t Address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

}  // namespace frazil::python
