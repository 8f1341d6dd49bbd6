#include "bindings/python/nest.h"

#include <algorithm>
#include <bit>

#include "autograd/tape.h"
#include "bindings/python/library_types.h"
#include "bindings/python/module_type.h"
#include "bindings/python/nest_words.h"

namespace frazil::python {
namespace {

Tensor* g_default_generator = nullptr;

bool IsPartial(PyObject* o) { return Py_IS_TYPE(o, Library().partial); }
bool IsUnion(PyObject* o) { return Py_IS_TYPE(o, Library().type_union); }

// The one weak reference to what owns globals, which no later owner shares. Borrowed.
PyObject* WeakTo(PyObject* owner) {
  static auto* const kept = new absl::flat_hash_map<PyObject*, Object>;
  static size_t limit = 64;
  const auto it = kept->find(owner);
  if (it != kept->end() && PyWeakref_GET_OBJECT(it->second.get()) == owner) return it->second.get();
  Object made = Object::Steal(PyWeakref_NewRef(owner, nullptr));  // may run the collector
  if (!made) return PyErr_Clear(), nullptr;
  if (kept->size() >= limit) {
    absl::erase_if(
        *kept, [](const auto& row) { return PyWeakref_GET_OBJECT(row.second.get()) == Py_None; });
    limit = 2 * kept->size() + 64;
  }
  return ((*kept)[owner] = std::move(made)).get();
}

std::string Unknown(PyObject* o) {
  return StrCat("an object of type ", Py_TYPE(o)->tp_name, " cannot be compared from call to call");
}

}  // namespace

void SetDefaultGenerator(PyObject* state) {
  Py_INCREF(state);  // for the life of the process
  g_default_generator = &CellOf(state);
  SetMarks(state, MarksOf(state) | kDefaultGenerator);
}

bool Nest::Refuse(PyObject* object) {
  if (refusal_.empty()) refusal_ = Unknown(object);
  return false;
}

void Nest::AddIdentity(PyObject* object) {
  Pin(object);
  words.push_back(Word(kIdentity));
  words.push_back(Address(object));
}

bool Nest::AddString(PyObject* string) {
  PyObject* interned = Py_NewRef(string);
  PyUnicode_InternInPlace(&interned);
  words.push_back(Word(kString));
  words.push_back(Address(interned));
  Pin(interned);
  Py_DECREF(interned);
  return true;
}

void Nest::NoteContainer(PyObject* container) {
  if (places_) places_->try_emplace(container, containers.size());
  containers.push_back(container);
}

// Adds a container, or the number of the same one if it has been met: then it is done.
bool Nest::IsAgain(PyObject* container) {
  constexpr size_t kFew = 16;
  const size_t n = containers.size();
  size_t place = n;
  if (n <= kFew) {
    place = static_cast<size_t>(std::find(containers.begin(), containers.end(), container) -
                                containers.begin());
  } else {
    if (!places_) {
      places_ = std::make_unique<absl::flat_hash_map<PyObject*, size_t>>();
      for (size_t i = 0; i < n; ++i) places_->try_emplace(containers[i], i);
    }
    const auto it = places_->find(container);
    if (it != places_->end()) place = it->second;
  }
  if (place == n) return NoteContainer(container), false;
  words.push_back(Word(kAgain, place));
  return true;
}

bool Nest::AddItems(PyObject* o, Container kind) {
  return EachChild<false>(o, kind, [&](PyObject*, PyObject* item) { return Add(item); });
}

// The items alone.
bool Nest::AddDict(PyObject* dict) {
  words.push_back(Word(kDict, static_cast<uint64_t>(PyDict_GET_SIZE(dict))));
  if (IsOrderedDict(dict) && !HasPlainKeys(dict)) return false;
  return EachChild<false>(dict, Container::kDict, [&](PyObject* key, PyObject* value) {
    const bool text = PyUnicode_CheckExact(key) && AddString(key);
    return ((text || (!IsTensor(key) && Add(key))) && Add(value)) || RefuseKey(key);
  });
}

// False, and the key is to blame unless something else has been said already.
bool Nest::RefuseKey(PyObject* key) {
  return refusal_.empty() && !PyErr_Occurred() ? Refuse(key) : false;
}

// An OrderedDict is looked through by its keys, which must not run code.
bool Nest::HasPlainKeys(PyObject* dict) {
  volatile_ = true;
  Py_ssize_t at = 0;
  PyObject* key;
  while (PyDict_Next(dict, &at, &key, nullptr)) {
    if (!IsPlainKey(key)) return Refuse(key);
  }
  return true;
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

bool Nest::AddDefaults(PyObject* function) {
  PyObject* positional = PyFunction_GET_DEFAULTS(function);
  PyObject* named = PyFunction_GET_KW_DEFAULTS(function);
  if (!positional && !named) return true;
  words.push_back(Word(kDefaults));
  return Add(positional ? positional : Py_None) && Add(named ? named : Py_None);
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
    PyObject* content = PyCell_GET(PyTuple_GET_ITEM(cells, i));
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
  AddIdentity(reinterpret_cast<PyObject*>(type));
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return true;  // nobody can change it
  if (!AddClass(type)) return false;
  for (const Object& member : std::vector(InfoOf(type)->members)) {
    if (!Add(member.get())) return false;
  }
  return true;
}

// Of an enumeration's member its value and what is not the enumeration's own.
bool Nest::AddAttributes(PyObject* object, bool is_enum) {
  static PyObject* const value_name = PyUnicode_InternFromString("_value_");
  PyObject* dict = AttributesOf(object);
  words.push_back(Word(kAttributes, dict ? static_cast<uint64_t>(PyDict_GET_SIZE(dict)) : 0));
  if (!dict) return true;
  NoteContainer(dict);
  Py_ssize_t at = 0;
  PyObject *key, *value;
  while (PyDict_Next(dict, &at, &key, &value)) {
    if (is_enum && key != value_name && IsSunder(key)) continue;
    if (!Add(key) || !Add(value)) return false;
  }
  return true;
}

bool Nest::AddSlots(PyObject* object, const ClassInfo::Slots& slots) {
  if (!slots.empty()) volatile_ = true;  // they are assigned unseen
  for (const ClassInfo::Slot& slot : slots) {
    PyObject* content = SlotOf(object, slot);
    if (!content) {
      words.push_back(Word(kOpen));
    } else if (!Add(content)) {
      return false;
    }
  }
  return true;
}

bool Nest::AddInstance(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  const ClassInfo* info = InfoOf(type);
  if (!info || !info->is_shown || info->container == Container::kModule) return Refuse(o);
  const bool is_enum = info->is_enum, has_dict = info->has_dict;
  const ClassInfo::Slots slots = info->slots;  // the class may change meanwhile
  if (!is_enum && IsAgain(o)) return true;
  words.push_back(Word(kInstance));
  words.push_back(Address(type));
  Pin(reinterpret_cast<PyObject*>(type));
  if (is_enum) AddIdentity(o);
  if (!AddClass(type)) return false;
  // What a registered class is made from is compared, not what its functions would say.
  if (!is_enum && (PyTuple_Check(o) || PyList_Check(o))) {
    const bool is_list = PyList_Check(o);
    words.push_back(Word(is_list ? kList : kTuple, static_cast<uint64_t>(Py_SIZE(o))));
    if (!AddItems(o, is_list ? Container::kList : Container::kTuple)) return false;
  } else if (!is_enum && PyDict_Check(o) && !AddDict(o)) {
    return false;
  }
  if (has_dict && !AddAttributes(o, is_enum)) return false;
  return AddSlots(o, slots);
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
  return true;
}

inline bool Nest::AddContainer(PyObject* o, Container kind) {
  switch (kind) {
    case Container::kTuple:
    case Container::kList: {
      if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) break;
      if (IsAgain(o)) return true;
      const auto n = static_cast<uint64_t>(PySequence_Fast_GET_SIZE(o));
      words.push_back(Word(kind == Container::kTuple ? kTuple : kList, n));
      return kind == Container::kTuple ? AddItems(o, Container::kTuple)
                                       : AddItems(o, Container::kList);
    }
    case Container::kDict:
      if (!PyDict_CheckExact(o)) break;
      return IsAgain(o) || AddDict(o);
    case Container::kModule:
      return IsAgain(o) || AddModule(o);
    case Container::kLeaf:
      return AddLeaf(o);
    case Container::kNone:
    case Container::kNamedTuple:
    case Container::kDataclass:
    case Container::kRegistered:
      break;
  }
  return AddInstance(o);
}

bool Nest::AddLeaf(PyObject* o) {
  if (PyMethod_Check(o)) {
    words.push_back(Word(kMethod));
    return Add(PyMethod_GET_FUNCTION(o)) && Add(PyMethod_GET_SELF(o));
  }
  if (PyFunction_Check(o)) return IsAgain(o) || AddFunction(o);
  if (IsPartial(o)) return AddPartial(o);
  if (PyType_Check(o)) return AddType(reinterpret_cast<PyTypeObject*>(o));
  if (!IsFixed(o)) return AddInstance(o);
  AddIdentity(o);
  return true;
}

bool Nest::Add(PyObject* o) {
  if (__builtin_expect(IsTensor(o), 1)) {
    words.push_back(Word(kTensor, MarksOf(o)));
    has_default_ |= MarksOf(o) & kDefaultGenerator;
    cells.push_back(&CellOf(o));
    if (pins_) owners.push_back(o);
    return true;
  }
  if (o == Py_None) return words.push_back(Word(kNone)), true;
  if (o == Py_True) return words.push_back(Word(kTrue)), true;
  if (o == Py_False) return words.push_back(Word(kFalse)), true;
  if (PyFloat_CheckExact(o)) {
    words.push_back(Word(kFloat));
    words.push_back(std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(o)));
    return true;
  }
  if (PyLong_CheckExact(o)) {
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) return Refuse(o);
    words.push_back(Word(kInt));
    words.push_back(static_cast<uint64_t>(v));
    return true;
  }
  if (PyUnicode_CheckExact(o)) return AddString(o);
  if (++depth_ > kMaxDepth) return Refuse(o);
  const bool good = AddContainer(o, ContainerOf(o));
  --depth_;
  return good;
}

size_t Nest::AddHidden() {
  const size_t n = cells.size();
  for (size_t i = 0; i < n; ++i) {
    GradNode* node = cells[i]->node();
    if (node && node->leaf()) cells.push_back(&static_cast<autograd::LeafNode*>(node)->grad);
  }
  if (!g_default_generator || has_default_) return 0;
  cells.push_back(g_default_generator);
  return 1;
}

}  // namespace frazil::python
