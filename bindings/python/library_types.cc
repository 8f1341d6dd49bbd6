#include "bindings/python/library_types.h"

namespace frazil::python {
namespace {

LibraryTypes g_types;

PyObject* From(const char* module, const char* name) {
  const Object found = Object::Steal(PyImport_ImportModule(module));
  return found ? PyObject_GetAttrString(found.get(), name) : nullptr;
}
PyTypeObject* TypeFrom(const char* module, const char* name) {
  return reinterpret_cast<PyTypeObject*>(From(module, name));
}

}  // namespace

const LibraryTypes& Library() { return g_types; }

bool LoadLibraryTypes() {
  return (g_types.enumeration = TypeFrom("enum", "Enum")) &&
         (g_types.default_dict = TypeFrom("collections", "defaultdict")) &&
         (g_types.deque = TypeFrom("collections", "deque")) &&
         (g_types.partial = TypeFrom("functools", "partial")) &&
         (g_types.type_union = TypeFrom("types", "UnionType")) &&
         (g_types.field = From("dataclasses", "_FIELD"));
}

}  // namespace frazil::python
