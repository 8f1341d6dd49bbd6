#include "bindings/python/module_type.h"

#include <algorithm>
#include <cstddef>

#include "bindings/python/nest.h"
#include "core/bounded_cache.h"
#include "tracer/trace.h"

namespace frazil::python {
namespace {

struct PyModule {
  PyObject_HEAD ModuleSnapshot* snapshot;
  bool busy;         // its snapshot is being taken
  PyObject* traced;  // its call in mode("graph"), or null
};
PyModule* Self(PyObject* o) { return reinterpret_cast<PyModule*>(o); }
extern PyTypeObject module_type;

uint64_t g_epoch = 1;

// Numbers for structures, never given twice: entries of forgotten numbers are never met again (a
// counter among the attributes makes one at each change).
struct Structure {
  uint64_t number;
  Pinned pins;
};
uint64_t NumberOf(absl::Span<const uint64_t> words, Pinned pins) {
  static auto* const known = new BoundedCache<std::vector<uint64_t>, Structure, CountBound<4096>>;
  static uint64_t last = 0;
  const std::vector<uint64_t> key(words.begin(), words.end());
  if (const auto found = known->Find(key)) return found->number;
  return known->Add(key, std::make_shared<Structure>(Structure{++last, std::move(pins)}), 0)
      ->number;
}

// PEP 509; 0 where the interpreter has no such thing.
uint64_t DictVersion(PyObject* dict) {
#if PY_VERSION_HEX < 0x030C0000
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
  return 0;
#endif
}

// Calls f(object) for each item, keys and values alike, until it gives false; false in that case.
template <typename F>
bool EachItem(PyObject* container, F&& f) {
  if (PyList_Check(container)) {
    PyObject** first = PySequence_Fast_ITEMS(container);
    return std::all_of(first, first + PyList_GET_SIZE(container), f);
  }
  Py_ssize_t at = 0;
  PyObject *key, *value;
  while (PyDict_Next(container, &at, &key, &value)) {
    if (!f(key) || !f(value)) return false;
  }
  return true;
}

ModuleSnapshot::Container Contents(PyObject* o) {
  ModuleSnapshot::Container c = {Object::Share(o), PyDict_Check(o) ? DictVersion(o) : 0, {}};
  EachItem(o, [&](PyObject* item) {
    c.items.push_back(Object::Share(item));
    return true;
  });
  return c;
}

bool Unchanged(const ModuleSnapshot::Container& c) {
  PyObject* o = c.object.get();
  if (c.version && PyDict_Check(o) && DictVersion(o) == c.version) return true;
  size_t i = 0;
  return EachItem(
             o, [&](PyObject* item) { return i < c.items.size() && c.items[i++].get() == item; }) &&
         i == c.items.size();
}

bool Current(const ModuleSnapshot& snapshot) {
  if (snapshot.epoch != g_epoch || snapshot.is_volatile) return false;
  for (const auto& [type, version] : snapshot.types) {
    if (VersionOf(reinterpret_cast<PyTypeObject*>(type.get())) != version) return false;
  }
  return std::all_of(snapshot.containers.begin(), snapshot.containers.end(), Unchanged);
}

int Traverse(PyObject* self, visitproc visit, void* arg) {
  if (ModuleSnapshot* s = Self(self)->snapshot) {
    for (auto& c : s->containers) {
      Py_VISIT(c.object.get());
      for (auto& item : c.items) Py_VISIT(item.get());
    }
    for (auto& [type, version] : s->types) Py_VISIT(type.get());
  }
  Py_VISIT(Self(self)->traced);
  return 0;
}
int Clear(PyObject* self) {
  delete std::exchange(Self(self)->snapshot, nullptr);
  Py_CLEAR(Self(self)->traced);
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
  NoteAttributeChange();
  Py_RETURN_NONE;
}
PyObject* TracesModules(PyObject*, PyObject*) { return PyBool_FromLong(tracer::TracesModules()); }
PyObject* GetTraced(PyObject* self, void*) {
  PyObject* traced = Self(self)->traced;
  return Py_NewRef(traced ? traced : Py_None);
}
int SetTraced(PyObject* self, PyObject* value, void*) {
  Py_XSETREF(Self(self)->traced, Py_XNewRef(value));
  return 0;
}
PyGetSetDef getset[] = {
    {"_traced", GetTraced, SetTraced, "The module's call in mode(\"graph\").", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMethodDef methods[] = {
    {"_traces", TracesModules, METH_NOARGS | METH_STATIC,
     "_traces()\n--\n\nWhether a module called now is traced."},
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
  t.tp_getset = getset;
  return t;
}();

}  // namespace

// Walks a module's attributes with a Nest of its own.
struct SnapshotTaker {
  static ModuleSnapshot* Take(PyObject* module) {
    Object attributes = Object::Steal(PyObject_GetAttrString(module, "__dict__"));
    if (!attributes || !PyDict_Check(attributes.get())) return nullptr;
    auto snapshot = std::make_unique<ModuleSnapshot>();
    Pinned pins;
    Nest nest(&pins);
    nest.lenient_ = true;
    const bool good = AddClass(module, &nest) && AddAttributes(attributes.get(), &nest);
    if (!good && nest.refusal().empty()) return nullptr;
    snapshot->refusal = nest.refusal();
    snapshot->foreign = nest.foreign_;
    for (PyObject* tensor : nest.owners) snapshot->tensors.push_back(Object::Share(tensor));
    snapshot->containers.push_back(Contents(attributes.get()));
    for (PyTypeObject* type : nest.types) {
      snapshot->types.emplace_back(Object::Share(reinterpret_cast<PyObject*>(type)),
                                   VersionOf(type));
    }
    snapshot->has_default = nest.has_default_;
    snapshot->is_volatile = !good || nest.volatile_;
    for (PyObject* o : nest.containers) Contain(o, snapshot.get());
    snapshot->epoch = g_epoch;
    snapshot->structure = NumberOf(nest.words.span(), std::move(pins));
    return snapshot.release();
  }

 private:
  static bool AddAttributes(PyObject* dict, Nest* nest) {
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (PyDict_Next(dict, &at, &key, &value)) {
      if (!nest->Add(key) || !nest->Add(value)) return false;
    }
    return true;
  }

  static bool AddClass(PyObject* module, Nest* nest) {
    const ClassInfo* info = InfoOf(Py_TYPE(module));
    if (!info || !info->is_shown) return nest->Refuse(module);
    nest->AddIdentity(reinterpret_cast<PyObject*>(Py_TYPE(module)));
    const ClassInfo::Slots slots = info->slots;
    return nest->AddClass(Py_TYPE(module)) && nest->AddSlots(module, slots);
  }

  static void Contain(PyObject* o, ModuleSnapshot* snapshot) {
    if (PyList_Check(o) || PyDict_Check(o)) {
      snapshot->containers.push_back(Contents(o));
    } else if (IsModule(o)) {
      const ModuleSnapshot* inner = Self(o)->snapshot;
      if (!inner) return;  // it is the one that is being looked at
      snapshot->is_volatile |= inner->is_volatile;
      snapshot->containers.insert(snapshot->containers.end(), inner->containers.begin(),
                                  inner->containers.end());
      snapshot->types.insert(snapshot->types.end(), inner->types.begin(), inner->types.end());
    }
  }
};

void NoteAttributeChange() { ++g_epoch; }

bool IsMethodOfModules(const PyMethodDef* method) {
  return method >= std::begin(methods) && method < std::end(methods);
}
bool IsModule(PyObject* o) { return PyObject_TypeCheck(o, &module_type); }
bool IsModuleType(const PyTypeObject* type) { return type == &module_type; }
bool IsModuleSubtype(PyTypeObject* type) { return PyType_IsSubtype(type, &module_type); }

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
