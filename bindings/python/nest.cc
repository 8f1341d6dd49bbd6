#include "bindings/python/nest.h"

#include <algorithm>
#include <bit>

#include "autograd/tape.h"
#include "bindings/python/functions.h"
#include "bindings/python/library_types.h"
#include "bindings/python/nest_words.h"
#include "bindings/python/tree_type.h"

namespace frazil::python {
namespace {

Tensor* g_default_generator = nullptr;

bool IsPartial(PyObject* o) { return Py_IS_TYPE(o, Library().partial); }

std::string Unknown(PyObject* o) {
  const std::string_view type = Py_TYPE(o)->tp_name;
  const bool of_numbers = type.starts_with("numpy.") && PyObject_CheckBuffer(o);
  return StrCat("an object of type ", type, " cannot be compared from call to call",
                of_numbers ? " (make it a tensor, fz.asarray(...))" : "");
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

bool Nest::RefuseForeign() {
  if (foreign_.empty()) return false;
  if (refusal_.empty()) refusal_ = foreign_;
  return true;
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

// It stays where it is: a copy of it would be another one.
bool Nest::AddNan(PyObject* nan, const Spot& spot) {
  if (spot.owner) values.push_back(0);
  if (lenient_ && foreign_.empty())
    foreign_ = "a module holds a nan, which Python tells from another by its address";
  if (IsAgain(nan)) return true;
  words.push_back(Word(kFloat));
  words.push_back(std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(nan)));
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
  Py_ssize_t i = 0;
  return EachChild<false>(o, kind, [&](PyObject*, PyObject* item) {
    if (!in_key_) At(o, nullptr, i++);
    return Add(item);
  });
}

// Whether a number is kept instead of compared.
bool Nest::Moves(PyObject* number, const Spot& spot) {
  if (!spot.owner || in_key_) return false;
  const size_t place = values.size();
  if (!moves || place >= moves->size() || !(*moves)[place]) {
    values.push_back(static_cast<uint32_t>(words.size() + 1));
    return false;
  }
  values.push_back(0);
  moving.push_back({spot.owner, spot.key, spot.index, number});
  return true;
}

// The items alone.
bool Nest::AddDict(PyObject* dict) {
  words.push_back(Word(kDict, static_cast<uint64_t>(PyDict_GET_SIZE(dict))));
  if (IsOrderedDict(dict) && !HasPlainKeys(dict)) return false;
  return EachChild<false>(dict, Container::kDict, [&](PyObject* key, PyObject* value) {
    const bool outer = std::exchange(in_key_, true);
    const bool good = PyUnicode_CheckExact(key) ? AddString(key) : !IsTensor(key) && Add(key);
    in_key_ = outer;
    if (!good) return RefuseKey(key);
    At(dict, key);
    return Add(value) || RefuseKey(key);
  });
}

// In the order in which a loop would meet the items, which values alone decide.
bool Nest::AddSet(PyObject* set) {
  volatile_ = true;
  const Object items = Object::Steal(PySequence_Tuple(set));
  if (!items) return false;
  words.push_back(Word(kSet, static_cast<uint64_t>(PyTuple_GET_SIZE(items.get())) << 1 |
                                 PyFrozenSet_CheckExact(set)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    if (!IsPlainKey(item) || IsNan(item) || !Add(item)) return Refuse(set);
  }
  return true;
}

bool Nest::AddDeque(PyObject* deque) {
  volatile_ = true;
  const Object most = Object::Steal(PyObject_GetAttrString(deque, "maxlen"));
  const Object items = Object::Steal(PySequence_Tuple(deque));
  if (!most || !items) return false;
  words.push_back(Word(kDeque, static_cast<uint64_t>(PyTuple_GET_SIZE(items.get()))));
  if (!Add(most.get())) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    At(deque, nullptr, i);
    if (!Add(PyTuple_GET_ITEM(items.get(), i))) return false;
  }
  return true;
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
    if (!Add(key)) return false;
    if (!is_enum) At(dict, key);
    if (!Add(value)) return false;
  }
  return true;
}

bool Nest::AddSlots(PyObject* object, const ClassInfo::Slots& slots) {
  if (!slots.empty()) volatile_ = true;  // they are assigned unseen
  for (const ClassInfo::Slot& slot : slots) {
    PyObject* content = SlotOf(object, slot);
    At(object, slot.name.get());
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
  AddIdentity(WeakTo(reinterpret_cast<PyObject*>(type)));
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

inline bool Nest::AddContainer(PyObject* o, Container kind) {
  switch (kind) {
    case Container::kTuple:
    case Container::kList: {
      if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) break;
      if (IsAgain(o)) return true;
      if (unread && unread->contains(o)) return AddIdentity(o), true;
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
  if (PyObject* function = FunctionOfTraced(o)) {
    AddIdentity(WeakTo(o));
    return Add(function);
  }
  if (PyAnySet_CheckExact(o)) return IsAgain(o) || AddSet(o);
  if (Py_IS_TYPE(o, Library().deque)) return IsAgain(o) || AddDeque(o);
  if (IsPartial(o)) return AddPartial(o);
  if (PyType_Check(o)) return AddType(reinterpret_cast<PyTypeObject*>(o));
  if (PyModule_CheckExact(o)) return AddIdentity(WeakTo(o)), true;  // as functions' globals are
  if (IsStructure(o)) return AddStructure(o);
  if (!IsFixed(o)) return AddInstance(o);
  AddIdentity(o);
  return true;
}

bool Nest::AddStructure(PyObject* structure) {
  Pin(structure);
  for (const TreeNode& node : TreeOf(structure).nodes) {
    words.push_back(static_cast<uint64_t>(node.kind));
    words.push_back(static_cast<uint64_t>(node.children));
    AddIdentity(node.type ? node.type.get() : Py_None);
    for (PyObject* part : {node.keys.get(), node.rest.get()}) {
      if (!Add(part ? part : Py_None)) return false;
    }
  }
  return true;
}

bool Nest::Add(PyObject* o) {
  const Spot spot = spot_;
  spot_.owner = nullptr;
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
    if (IsNan(o)) return AddNan(o, spot);
    if (Moves(o, spot)) return words.push_back(Word(kFloat, 1)), true;
    words.push_back(Word(kFloat));
    words.push_back(std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(o)));
    return true;
  }
  if (PyLong_CheckExact(o)) {
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) return Refuse(o);
    if (Moves(o, spot)) return words.push_back(Word(kInt, 1)), true;
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

bool Nest::AddDefaults(PyObject* function) {
  PyObject* positional = PyFunction_GET_DEFAULTS(function);
  PyObject* named = PyFunction_GET_KW_DEFAULTS(function);
  if (!positional && !named) return true;
  words.push_back(Word(kDefaults));
  return Add(positional ? positional : Py_None) && Add(named ? named : Py_None);
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
