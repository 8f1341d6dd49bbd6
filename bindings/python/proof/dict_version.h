// Whether a dict has changed since it was looked at: one word. Called by world.cc for the dicts of
// modules' names, functions' attributes and keyword defaults. Invariant: a dict whose version is
// what it was holds the same keys and values in the same order; the owner of a DictVersion keeps
// the dict alive.
#pragma once

#include <cstdint>

#include "bindings/python/py.h"

namespace frazil::python {

#if PY_VERSION_HEX < 0x030C0000

class DictVersion {  // PEP 509
 public:
  explicit DictVersion(PyObject* dict)
      : place_(&reinterpret_cast<PyDictObject*>(dict)->ma_version_tag) {}
  uint64_t now() const { return *place_; }

 private:
  const uint64_t* place_;
};

#else

class DictVersion {  // a count that CPython's watcher of dicts raises
 public:
  explicit DictVersion(PyObject* dict);
  // Another at each look if CPython has no watcher to give.
  uint64_t now() const { return place_ ? *place_ : ++unknown_; }

 private:
  const uint64_t* place_;
  inline static uint64_t unknown_ = 0;
};

#endif

}  // namespace frazil::python
