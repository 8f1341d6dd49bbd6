// What reading an attribute reaches besides the object's own content, which is compared already,
// and the class's functions, which are watched as they run: objects in a class that hold state of
// their own. Called by watch.cc before each read. Invariant: looking runs no code.
#pragma once

#include <string>

#include "bindings/python/proof/world.h"

namespace frazil::python {

// The class of `owner`, and `owner` itself if it is one, may give what descriptors written in
// Python, other callables in static methods, class methods and properties, and special names
// (__x__) hold: it is added to the world. False with the world's refusal if it cannot be compared.
bool AddMembers(World* world, PyObject* owner, PyObject* name, const std::string& where);

// The same for super().name of an object or class.
bool AddSuperMembers(World* world, PyObject* self, PyObject* name, const std::string& where);

}  // namespace frazil::python
