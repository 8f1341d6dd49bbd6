// Functions, partials, classes and modules as words.
#include <algorithm>

#include "bindings/python/library_types.h"
#include "bindings/python/module_type.h"
#include "bindings/python/nest.h"
#include "bindings/python/nest_words.h"

namespace frazil::python {
namespace {

bool IsUnion(PyObject* o) { return Py_IS_TYPE(o, Library().type_union); }

// What a weak reference leads to; null once that is gone.
Object TargetOf(const Object& reference) {
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* target = nullptr;
  PyWeakref_GetRef(reference.get(), &target);
  return Object::Steal(target);
#else
  PyObject* target = PyWeakref_GET_OBJECT(reference.get());
  return target == Py_None ? Object() : Object::Share(target);
#endif
}

}  // namespace

PyObject* WeakTo(PyObject* owner) {
  static auto* const kept = new absl::flat_hash_map<PyObject*, Object>;
  static size_t limit = 64;
  const auto it = kept->find(owner);
  if (it != kept->end() && TargetOf(it->second).get() == owner) return it->second.get();
  Object made = Object::Steal(PyWeakref_NewRef(owner, nullptr));  // may run the collector
  if (!made) return PyErr_Clear(), nullptr;
  if (kept->size() >= limit) {
    absl::erase_if(*kept, [](const auto& row) { return !TargetOf(row.second); });
    limit = 2 * kept->size() + 64;
  }
  return ((*kept)[owner] = std::move(made)).get();
}

bool Nest::AddPartial(PyObject* partial) {
  volatile_ = true;
  words.push_back(Word(kPartial));
  if (!AddAttributes(partial, false)) return false;
  for (const char* name : {"func", "args", "keywords"}) {
    // The partial holds it.
    Object part = Object::Steal(PyObject_GetAttrString(partial, name));
    if (!part || !Add(part.get())) return false;
  }
  return true;
}

// Dicts cannot be referred to weakly, and a pinned one would keep what it holds: globals are those
// of the module that they belong to, else of this function.
void Nest::AddGlobals(PyObject* function) {
  static PyObject* const dunder_name = PyUnicode_InternFromString("__name__");
  PyObject* globals = PyFunction_GET_GLOBALS(function);
  PyObject* name = PyDict_GetItemWithError(globals, dunder_name);
  PyObject* module = name ? PyDict_GetItemWithError(PyImport_GetModuleDict(), name) : nullptr;
  const bool owns = module && PyModule_Check(module) && PyModule_GetDict(module) == globals;
  AddIdentity(WeakTo(owns ? module : function));
}

// Types and strings by what they are, others by identity: they may be anything.
void Nest::AddAnnotation(PyObject* o) {
  static PyObject* const origin = PyUnicode_InternFromString("__origin__");
  static PyObject* const arguments = PyUnicode_InternFromString("__args__");
  if (PyUnicode_CheckExact(o)) {
    AddString(o);
  } else if (Py_IS_TYPE(o, &Py_GenericAliasType) || IsUnion(o)) {
    const bool is_union = IsUnion(o);
    Object base = is_union ? Object() : Object::Steal(PyObject_GetAttr(o, origin));
    Object of = Object::Steal(PyObject_GetAttr(o, arguments));
    PyErr_Clear();
    if (base) AddAnnotation(base.get());
    const Py_ssize_t n = of && PyTuple_Check(of.get()) ? PyTuple_GET_SIZE(of.get()) : 0;
    words.push_back(Word(kAnnotations, static_cast<uint64_t>(n) << 1 | is_union));
    for (Py_ssize_t i = 0; i < n; ++i) AddAnnotation(PyTuple_GET_ITEM(of.get(), i));
  } else {
    AddIdentity(o);
  }
}

// A dict or, until somebody asks for one, a tuple of names and values by turns.
void Nest::AddAnnotations(PyObject* annotations) {
  const auto add = [&](PyObject* name, PyObject* value) {
    AddAnnotation(name);
    AddAnnotation(value);
  };
  if (annotations && PyTuple_CheckExact(annotations)) {
    const Py_ssize_t n = PyTuple_GET_SIZE(annotations) / 2;
    words.push_back(Word(kAnnotations, static_cast<uint64_t>(n)));
    for (Py_ssize_t i = 0; i < n; ++i)
      add(PyTuple_GET_ITEM(annotations, 2 * i), PyTuple_GET_ITEM(annotations, 2 * i + 1));
    return;
  }
  const bool some = annotations && PyDict_Check(annotations);
  words.push_back(
      Word(kAnnotations, some ? static_cast<uint64_t>(PyDict_GET_SIZE(annotations)) : 0));
  Py_ssize_t at = 0;
  PyObject *name, *value;
  while (some && PyDict_Next(annotations, &at, &name, &value)) add(name, value);
}

// What a function is made of; nothing that may hold a module is pinned.
bool Nest::AddFunction(PyObject* o) {
  volatile_ = true;
  const auto* function = reinterpret_cast<PyFunctionObject*>(o);
  PyObject *code = PyFunction_GET_CODE(o), *cells = PyFunction_GET_CLOSURE(o);
  words.push_back(Word(kFunction, cells ? static_cast<uint64_t>(PyTuple_GET_SIZE(cells)) : 0));
  AddIdentity(code);
  AddGlobals(o);
  for (PyObject* part : {function->func_name, function->func_qualname, function->func_doc,
                         function->func_module, function->func_dict}) {
    if (!Add(part ? part : Py_None)) return false;
  }
  AddAnnotations(function->func_annotations);
  if (!AddDefaults(o)) return false;
  for (Py_ssize_t i = 0; cells && i < PyTuple_GET_SIZE(cells); ++i) {
    NoteContainer(PyTuple_GET_ITEM(cells, i));
    PyObject* content = PyCell_GET(PyTuple_GET_ITEM(cells, i));
    At(PyTuple_GET_ITEM(cells, i), nullptr);
    if (!content) {
      words.push_back(Word(kOpen));
    } else if (!Add(content)) {
      return false;
    }
  }
  return true;
}

// What an instance's class says: its version, and what its attributes hold that changes without it.
bool Nest::AddClass(PyTypeObject* type) {
  const ClassInfo* info = InfoOf(type);
  if (!info) return Refuse(reinterpret_cast<PyObject*>(type));
  words.push_back(info->version);
  if (info->foreign && foreign_.empty()) {
    foreign_ = StrCat("'", type->tp_name, ".", PyUnicode_AsUTF8(info->foreign.get()),
                      "' is no function written in Python: what it reads nobody sees");
  }
  if (pins_ && std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  if (!info->data.empty() && std::find(classes_.begin(), classes_.end(), type) == classes_.end()) {
    classes_.push_back(type);
    const auto data = info->data;
    for (const auto& [name, value] : data) {
      if (Add(value)) continue;
      if (!refusal_.empty())
        refusal_ = StrCat(type->tp_name, ".", PyUnicode_AsUTF8(name), ": ", refusal_);
      return false;
    }
  }
  PyTypeObject* metaclass = Py_TYPE(type);
  return !(metaclass->tp_flags & Py_TPFLAGS_HEAPTYPE) || AddClass(metaclass);
}

bool Nest::AddType(PyTypeObject* type) {
  auto* object = reinterpret_cast<PyObject*>(type);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE))
    return AddIdentity(object), true;  // nobody can change it
  AddIdentity(WeakTo(object));
  if (!AddClass(type)) return false;
  for (const Object& member : std::vector(InfoOf(type)->members)) {
    if (!Add(member.get())) return false;
  }
  return true;
}

bool Nest::AddModule(PyObject* module) {
  const ModuleSnapshot* snapshot = SnapshotOf(module);
  if (!snapshot) {
    PyErr_Clear();
    if (!lenient_) return Refuse(module);
    words.push_back(Word(kModule));
    words.push_back(0);  // it is inside itself:
    volatile_ = true;    // what is seen from here lacks what the outer one sees
    return true;
  }
  if (!snapshot->refusal.empty()) {
    if (refusal_.empty()) refusal_ = snapshot->refusal;
    return false;
  }
  words.push_back(Word(kModule));
  words.push_back(snapshot->structure);
  for (const Object& tensor : snapshot->tensors) {
    cells.push_back(&CellOf(tensor.get()));
    if (pins_) owners.push_back(tensor.get());
  }
  has_default_ |= snapshot->has_default;
  if (foreign_.empty()) foreign_ = snapshot->foreign;
  return true;
}

}  // namespace frazil::python
