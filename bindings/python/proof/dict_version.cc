#include "bindings/python/proof/dict_version.h"

#include <memory>

#include "absl/container/flat_hash_map.h"

#if PY_VERSION_HEX >= 0x030C0000

namespace frazil::python {
namespace {

// By address. A dict that is gone leaves its count, which the next one at its address goes on with:
// so there are as many as watched dicts at one time.
auto& Counts() {
  static auto* const counts = new absl::flat_hash_map<const PyObject*, std::unique_ptr<uint64_t>>;
  return *counts;
}

int OnChange(PyDict_WatchEvent, PyObject* dict, PyObject*, PyObject*) {
  const auto it = Counts().find(dict);
  if (it != Counts().end()) ++*it->second;
  return 0;
}

}  // namespace

DictVersion::DictVersion(PyObject* dict) {
  static const int watcher = PyDict_AddWatcher(OnChange);
  if (watcher < 0 || PyDict_Watch(watcher, dict) < 0) {
    PyErr_Clear();
    place_ = nullptr;
    return;
  }
  auto& place = Counts()[dict];
  if (!place) place = std::make_unique<uint64_t>(0);
  place_ = place.get();
}

}  // namespace frazil::python

#endif
