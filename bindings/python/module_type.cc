#include "bindings/python/module_type.h"

#include <cstddef>

#include "bindings/python/nest.h"

namespace frazil::python {

namespace {

struct PyModule {
  PyObject_HEAD ModuleSnapshot* snapshot;
  bool busy;  // its snapshot is being taken
};
PyModule* Self(PyObject* o) { return reinterpret_cast<PyModule*>(o); }
extern PyTypeObject module_type;

uint64_t g_epoch = 1;

// Numbers for structures, never given twice. Forgotten at once when there are too many (a counter
// among the attributes makes one at each change): entries of forgotten numbers are never met again.
class Structures {
 public:
  uint64_t Number(absl::Span<const uint64_t> words, Pinned pins) {
    const std::vector<uint64_t> key(words.begin(), words.end());
    const auto it = known_.find(key);
    if (it != known_.end()) return it->second.number;
    if (known_.size() >= 4096) known_.clear();
    known_[key] = {++last_, std::move(pins)};
    return last_;
  }

 private:
  struct Known {
    uint64_t number;
    Pinned pins;
  };
  absl::flat_hash_map<std::vector<uint64_t>, Known> known_;
  uint64_t last_ = 0;
};
Structures& AllStructures() {
  static Structures* structures = new Structures;
  return *structures;
}

std::vector<PyObject*> Items(PyObject* container) {
  std::vector<PyObject*> items;
  if (PyList_Check(container)) {
    PyObject** first = PySequence_Fast_ITEMS(container);
    items.assign(first, first + PyList_GET_SIZE(container));
  } else {
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (PyDict_Next(container, &at, &key, &value)) items.insert(items.end(), {key, value});
  }
  return items;
}

bool Unchanged(const ModuleSnapshot::Container& c) {
  PyObject* o = c.object.get();
  if (PyList_Check(o)) {
    return PyList_GET_SIZE(o) == static_cast<Py_ssize_t>(c.items.size()) &&
           std::equal(c.items.begin(), c.items.end(), PySequence_Fast_ITEMS(o));
  }
  size_t i = 0;
  Py_ssize_t at = 0;
  PyObject *key, *value;
  while (PyDict_Next(o, &at, &key, &value)) {
    if (i + 2 > c.items.size() || c.items[i] != key || c.items[i + 1] != value) return false;
    i += 2;
  }
  return i == c.items.size();
}

bool Current(const ModuleSnapshot& snapshot) {
  if (snapshot.epoch != g_epoch) return false;
  for (const auto& c : snapshot.containers) {
    if (!Unchanged(c)) return false;
  }
  return true;
}

int Traverse(PyObject* self, visitproc visit, void* arg) {
  if (ModuleSnapshot* s = Self(self)->snapshot) {
    for (auto& c : s->containers) Py_VISIT(c.object.get());
  }
  return 0;
}
int Clear(PyObject* self) {
  delete std::exchange(Self(self)->snapshot, nullptr);
  return 0;
}
void Dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  Clear(self);
  Py_TYPE(self)->tp_free(self);
}

PyObject* New(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  const bool given = PyTuple_GET_SIZE(args) > 0 || (keywords && PyDict_GET_SIZE(keywords) > 0);
  if (given && type->tp_init == PyBaseObject_Type.tp_init) {
    return PyErr_Format(PyExc_TypeError, "%s() takes no arguments", type->tp_name);
  }
  return type->tp_alloc(type, 0);
}

PyObject* Changed(PyObject*, PyObject*) {
  ++g_epoch;
  Py_RETURN_NONE;
}
PyMethodDef methods[] = {
    {"_changed", Changed, METH_NOARGS | METH_STATIC, "_changed()\n--\n\nAn attribute changes."},
    {nullptr, nullptr, 0, nullptr},
};

constinit PyTypeObject module_type = [] {
  PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
  t.tp_name = "frazil._frazil.ModuleBase";
  t.tp_doc = "What frazil.nn.Module is built on.";
  t.tp_basicsize = sizeof(PyModule);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  t.tp_new = New;
  t.tp_dealloc = Dealloc;
  t.tp_traverse = Traverse;
  t.tp_clear = Clear;
  t.tp_methods = methods;
  return t;
}();

}  // namespace

// Walks a module's attributes with a Nest of its own.
struct SnapshotTaker {
  static ModuleSnapshot* Take(PyObject* module) {
    Object attributes = Object::Steal(PyObject_GetAttrString(module, "__dict__"));
    if (!attributes || !PyDict_Check(attributes.get())) return nullptr;
    Pinned pins;
    Nest nest(&pins);
    nest.lenient_ = true;
    nest.AddIdentity(reinterpret_cast<PyObject*>(Py_TYPE(module)));
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (PyDict_Next(attributes.get(), &at, &key, &value)) {
      if (!nest.Add(key) || !nest.Add(value)) return nullptr;
    }
    auto snapshot = std::make_unique<ModuleSnapshot>();
    for (PyObject* tensor : nest.owners) snapshot->tensors.push_back(Object::Share(tensor));
    for (PyObject* o : nest.containers) {
      if (PyList_Check(o) || PyDict_Check(o)) {
        snapshot->containers.push_back({Object::Share(o), Items(o)});
      } else if (IsModule(o) && Self(o)->snapshot) {
        const auto& inner = Self(o)->snapshot->containers;
        snapshot->containers.insert(snapshot->containers.end(), inner.begin(), inner.end());
      }
    }
    snapshot->epoch = g_epoch;
    snapshot->structure = AllStructures().Number(nest.words.span(), std::move(pins));
    return snapshot.release();
  }
};

bool IsModule(PyObject* o) { return PyObject_TypeCheck(o, &module_type); }

const ModuleSnapshot* SnapshotOf(PyObject* module) {
  PyModule* self = Self(module);
  if (self->snapshot && Current(*self->snapshot)) return self->snapshot;
  if (self->busy) return nullptr;  // a module inside itself
  self->busy = true;
  ModuleSnapshot* fresh = SnapshotTaker::Take(module);
  self->busy = false;
  delete std::exchange(self->snapshot, fresh);
  return fresh;
}

bool AddModuleType(PyObject* module) {
  return PyType_Ready(&module_type) >= 0 &&
         PyModule_AddObjectRef(module, "ModuleBase", reinterpret_cast<PyObject*>(&module_type)) >=
             0;
}

}  // namespace frazil::python
