#include "bindings/python/nest.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "autograd/tape.h"
#include "bindings/python/dtype_type.h"
#include "bindings/python/module_type.h"

namespace frazil::python {
namespace {

enum Tag : uint64_t {
  kTensor,
  kNone,
  kFalse,
  kTrue,
  kInt,         // bits
  kFloat,       // bits
  kString,      // address of the interned string
  kTuple,       // items
  kList,        // items
  kNamedTuple,  // address of the type, items
  kDict,        // address of the type, keys and values
  kDataclass,   // address of the type, values
  kIdentity,    // address
  kMethod,      // function, object
  kModule,      // number of its structure
  kArgument,    // result: number of a tensor among the arguments
  kContainer,   // result: number of a container among the arguments
  kAgain,       // result: number of an earlier tensor of the result
  kFunction,    // code, globals, attributes, defaults, what its closure holds
  kDefaults,    // positional, named
  kPartial,     // function, arguments, keywords
  kOpen,        // a cell of a closure that holds nothing yet
};
constexpr int kTagBits = 8;
constexpr int kMaxDepth = 64;

uint64_t Word(Tag tag, uint64_t count = 0) { return tag | count << kTagBits; }
uint64_t Address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

Tensor* g_default_generator = nullptr;

// What never changes under the same address: built-in functions, dtypes, enumeration members.
bool IsFixed(PyObject* o) {
  static PyObject* const enum_type = [] {
    Object module = Object::Steal(PyImport_ImportModule("enum"));
    return module ? PyObject_GetAttrString(module.get(), "Enum") : nullptr;
  }();
  static PyTypeObject* const dtype_type = [] {
    Object dtype = Object::Steal(DTypeObject(DType::kF32));
    return Py_TYPE(dtype.get());
  }();
  if (PyCFunction_Check(o)) {
    PyObject* self = PyCFunction_GET_SELF(o);  // a method's holds state
    return !self || PyModule_Check(self);
  }
  return Py_IS_TYPE(o, dtype_type) || o == Py_Ellipsis ||
         (enum_type && PyObject_IsInstance(o, enum_type) == 1);
}

bool IsPartial(PyObject* o) {
  static PyObject* const type = [] {
    Object module = Object::Steal(PyImport_ImportModule("functools"));
    return module ? PyObject_GetAttrString(module.get(), "partial") : nullptr;
  }();
  return Py_IS_TYPE(o, reinterpret_cast<PyTypeObject*>(type));
}

// The dict of an instance's attributes, if it has one and it is not empty. Borrowed.
PyObject* AttributesOf(PyObject* o) {
  Object dict;
  if (Py_TYPE(o)->tp_dictoffset != 0) dict = Object::Steal(PyObject_GenericGetDict(o, nullptr));
  if (!dict) PyErr_Clear();
  return dict && PyDict_GET_SIZE(dict.get()) > 0 ? dict.get() : nullptr;
}

PyObject* FieldsOf(PyObject* o) {
  PyObject* dict = Py_TYPE(o)->tp_dict;
  static PyObject* const name = PyUnicode_InternFromString("__dataclass_fields__");
  PyObject* fields = dict ? PyDict_GetItemWithError(dict, name) : nullptr;
  if (!fields) {
    // Inherited.
    Object found = Object::Steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(o)), name));
    if (!found) PyErr_Clear();
    fields = found.get();
  }
  return fields && PyDict_Check(fields) ? fields : nullptr;
}

std::string Unknown(PyObject* o) {
  return StrCat("an object of type ", Py_TYPE(o)->tp_name, " cannot be compared from call to call");
}

}  // namespace

void SetDefaultGenerator(PyObject* state) {
  Py_INCREF(state);  // for the life of the process
  g_default_generator = &CellOf(state);
}

// ---- Arguments

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

bool Nest::AddItems(PyObject* const* items, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!Add(items[i])) return false;
  }
  return true;
}

bool Nest::AddDict(PyObject* dict) {
  words.push_back(Word(kDict, static_cast<uint64_t>(PyDict_GET_SIZE(dict))));
  words.push_back(Address(Py_TYPE(dict)));
  Pin(reinterpret_cast<PyObject*>(Py_TYPE(dict)));
  const auto add = [&](PyObject* key, PyObject* value) {
    return !IsTensor(key) && value && Add(key) && Add(value) ? true
           : refusal_.empty()                                ? Refuse(key)
                                                             : false;
  };
  Py_ssize_t at = 0;
  PyObject *key, *value;
  if (PyODict_Check(dict)) {  // whose order is its own
    volatile_ = true;
    Object iterator = Object::Steal(PyObject_GetIter(dict));
    while (Object next = Object::Steal(iterator ? PyIter_Next(iterator.get()) : nullptr)) {
      if (!add(next.get(), PyDict_GetItemWithError(dict, next.get()))) return false;
    }
    return !PyErr_Occurred();
  }
  if (!PyDict_CheckExact(dict) && AttributesOf(dict)) return Refuse(dict);
  while (PyDict_Next(dict, &at, &key, &value)) {
    if (!add(key, value)) return false;
  }
  return true;
}

bool Nest::AddPartial(PyObject* partial) {
  volatile_ = true;
  words.push_back(Word(kPartial));
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

// What a function is made of; nothing that may hold a module is pinned.
bool Nest::AddFunction(PyObject* function) {
  volatile_ = true;
  PyObject *code = PyFunction_GET_CODE(function), *cells = PyFunction_GET_CLOSURE(function);
  words.push_back(Word(kFunction, cells ? static_cast<uint64_t>(PyTuple_GET_SIZE(cells)) : 0));
  words.push_back(Address(code));
  Pin(code);
  words.push_back(Address(PyFunction_GET_GLOBALS(function)));
  PyObject* attributes = AttributesOf(function);
  if (!Add(attributes ? attributes : Py_None) || !AddDefaults(function)) return false;
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

bool Nest::AddDataclass(PyObject* object, PyObject* fields) {
  words.push_back(Word(kDataclass, static_cast<uint64_t>(PyDict_GET_SIZE(fields))));
  words.push_back(Address(Py_TYPE(object)));
  Pin(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  Py_ssize_t at = 0;
  PyObject *name, *field;
  PyObject* attributes = AttributesOf(object);
  while (attributes && PyDict_Next(attributes, &at, &name, &field)) {
    if (!PyDict_Contains(fields, name)) return Refuse(object);
  }
  volatile_ = true;  // its attributes are assigned unseen
  at = 0;
  while (PyDict_Next(fields, &at, &name, &field)) {
    Object value = Object::Steal(PyObject_GetAttr(object, name));
    // The object holds it, unless a property made it.
    if (!value || Py_REFCNT(value.get()) < 2 || !Add(value.get())) {
      PyErr_Clear();
      return refusal_.empty() ? Refuse(object) : false;
    }
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
  return true;
}

bool Nest::Add(PyObject* o) {
  if (IsTensor(o)) {
    words.push_back(Word(kTensor));
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
  bool good;
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    containers.push_back(o);
    words.push_back(Word(PyTuple_CheckExact(o) ? kTuple : kList, static_cast<uint64_t>(n)));
    good = AddItems(PySequence_Fast_ITEMS(o), n);
  } else if (PyDict_Check(o)) {
    containers.push_back(o);
    good = AddDict(o);
  } else if (PyTuple_Check(o)) {
    containers.push_back(o);
    words.push_back(Word(kNamedTuple, static_cast<uint64_t>(PyTuple_GET_SIZE(o))));
    words.push_back(Address(Py_TYPE(o)));
    Pin(reinterpret_cast<PyObject*>(Py_TYPE(o)));
    good = AttributesOf(o) ? Refuse(o) : AddItems(PySequence_Fast_ITEMS(o), PyTuple_GET_SIZE(o));
  } else if (IsModule(o)) {
    containers.push_back(o);
    good = AddModule(o);
  } else if (PyMethod_Check(o)) {
    words.push_back(Word(kMethod));
    good = Add(PyMethod_GET_FUNCTION(o)) && Add(PyMethod_GET_SELF(o));
  } else if (PyFunction_Check(o)) {
    good = AddFunction(o);
  } else if (IsPartial(o)) {
    good = AddPartial(o);
  } else if (PyType_Check(o)) {
    const unsigned version = VersionOf(reinterpret_cast<PyTypeObject*>(o));
    AddIdentity(o);
    words.push_back(version);
    volatile_ = true;
    good = version != 0 || Refuse(o);
  } else if (IsFixed(o)) {
    AddIdentity(o);
    good = true;
  } else if (PyObject* fields = FieldsOf(o)) {
    containers.push_back(o);
    good = AddDataclass(o, fields);
  } else {
    good = Refuse(o);
  }
  --depth_;
  return good;
}

size_t Nest::AddHidden() {
  const size_t n = cells.size();
  for (size_t i = 0; i < n; ++i) {
    GradNode* node = cells[i]->node();
    if (node && node->leaf()) cells.push_back(&static_cast<autograd::LeafNode*>(node)->grad);
  }
  if (!g_default_generator) return 0;
  cells.push_back(g_default_generator);
  return 1;
}

// ---- Results

namespace {

template <typename Items>
int Find(const Items& items, PyObject* o) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i] == o) return static_cast<int>(i);
  }
  return -1;
}

int FindCell(absl::Span<Tensor* const> cells, const Tensor* cell) {
  const auto it = std::find(cells.begin(), cells.end(), cell);
  return it == cells.end() ? -1 : static_cast<int>(it - cells.begin());
}

}  // namespace

bool Result::Add(PyObject* o, int holders) {
  const auto identity = [&](Tag tag, int number) {
    words.push_back(Word(tag, static_cast<uint64_t>(number)));
    return true;
  };
  if (IsTensor(o)) {
    const int i = FindCell(arguments_.cells.span(), &CellOf(o));
    if (i >= 0) return identity(kArgument, i);
    if (const int i = Find(tensors, o); i >= 0) return identity(kAgain, i);
    words.push_back(Word(kTensor));
    tensors.push_back(o);
    return true;
  }
  if (const int i = Find(arguments_.containers, o); i >= 0) return identity(kContainer, i);
  const auto refuse = [&] {
    if (refusal_.empty())
      refusal_ = StrCat("the result holds an object of type ", Py_TYPE(o)->tp_name,
                        ", which cannot be made again");
    return false;
  };
  if (++depth_ > kMaxDepth) return refuse();
  bool good = true;
  // What somebody else holds, a module or the result in another place, is not to be made again; nor
  // is what has attributes besides its fields.
  PyObject *fields = FieldsOf(o), *attributes = AttributesOf(o), *key, *value;
  Py_ssize_t at = 0;
  if ((PyList_Check(o) || PyDict_Check(o) || fields) && Py_REFCNT(o) > holders) return refuse();
  while (attributes && PyDict_Next(attributes, &at, &key, &value)) {
    if (!fields || !PyDict_Contains(fields, key)) return refuse();
  }
  const auto add_type = [&] {
    words.push_back(Address(Py_TYPE(o)));
    pins_->push_back(Object::Share(reinterpret_cast<PyObject*>(Py_TYPE(o))));
  };
  if (PyTuple_Check(o) || PyList_CheckExact(o)) {
    const auto n = static_cast<uint64_t>(PySequence_Fast_GET_SIZE(o));
    const bool named = !PyList_CheckExact(o) && !PyTuple_CheckExact(o);
    if (named && !PyObject_HasAttrString(o, "_fields")) return refuse();
    words.push_back(Word(named ? kNamedTuple : PyTuple_CheckExact(o) ? kTuple : kList, n));
    if (named) add_type();
    for (uint64_t i = 0; i < n && good; ++i) good = Add(PySequence_Fast_GET_ITEM(o, i));
  } else if (PyDict_CheckExact(o)) {
    words.push_back(Word(kDict, static_cast<uint64_t>(PyDict_GET_SIZE(o))));
    add_type();
    at = 0;
    while (good && PyDict_Next(o, &at, &key, &value)) good = Add(key) && Add(value);
  } else if (fields) {
    words.push_back(Word(kDataclass, static_cast<uint64_t>(PyDict_GET_SIZE(fields))));
    add_type();
    at = 0;
    while (good && PyDict_Next(fields, &at, &key, &value)) {
      Object attribute = Object::Steal(PyObject_GetAttr(o, key));
      good = attribute && Py_REFCNT(attribute.get()) > 1 && Add(attribute.get(), 2);
      if (!attribute) PyErr_Clear();
    }
    if (!good) return refuse();
  } else {
    // Numbers and strings, and what is fixed, are themselves.
    Nest simple(pins_);
    const bool plain = o == Py_None || PyBool_Check(o) || PyFloat_CheckExact(o) ||
                       PyLong_CheckExact(o) || PyUnicode_CheckExact(o) || IsFixed(o);
    if (PyType_Check(o)) {
      simple.AddIdentity(o);
    } else if (!plain || !simple.Add(o)) {
      return refuse();
    }
    words.insert(words.end(), simple.words.begin(), simple.words.end());
  }
  --depth_;
  return good;
}

namespace {

class Maker {
 public:
  Maker(const uint64_t* word, const Nest& arguments, absl::Span<Tensor> outputs)
      : word_(word), arguments_(arguments), outputs_(outputs), tensors_(outputs.size()) {}

  Object Make() {
    const uint64_t word = *word_++;
    const uint64_t count = word >> kTagBits;
    switch (static_cast<Tag>(word & ((1 << kTagBits) - 1))) {
      case kTensor: {
        Object t = Object::Steal(Wrap(std::move(outputs_[made_])));
        tensors_[made_++] = t.get();
        return t;
      }
      case kArgument:
        return Object::Share(ObjectOf(arguments_.cells.span()[count]));
      case kContainer:
        return Object::Share(arguments_.containers[count]);
      case kAgain:
        return Object::Share(tensors_[count]);
      case kNone:
        return Object::Share(Py_None);
      case kFalse:
        return Object::Share(Py_False);
      case kTrue:
        return Object::Share(Py_True);
      case kInt:
        return Object::Steal(PyLong_FromLongLong(static_cast<long long>(*word_++)));
      case kFloat:
        return Object::Steal(PyFloat_FromDouble(std::bit_cast<double>(*word_++)));
      case kString:
      case kIdentity:
        return Object::Share(Pointer());
      case kTuple:
        return Tuple(count);
      case kList: {
        Object list = Object::Steal(PyList_New(static_cast<Py_ssize_t>(count)));
        for (uint64_t i = 0; list && i < count; ++i) {
          PyObject* item = Make().release();
          if (!item) return Object();
          PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), item);
        }
        return list;
      }
      case kNamedTuple: {
        PyObject* type = Pointer();
        Object items = Tuple(count);
        // Without the type's own __new__, as pickle and copy do.
        Object one = items ? Object::Steal(PyTuple_Pack(1, items.get())) : Object();
        auto* named = reinterpret_cast<PyTypeObject*>(type);
        return one ? Object::Steal(PyTuple_Type.tp_new(named, one.get(), nullptr)) : Object();
      }
      case kDict: {
        Pointer();
        Object dict = Object::Steal(PyDict_New());
        for (uint64_t i = 0; dict && i < count; ++i) {
          Object key = Make();
          Object value = key ? Make() : Object();
          if (!value || PyDict_SetItem(dict.get(), key.get(), value.get()) < 0) return Object();
        }
        return dict;
      }
      case kDataclass:
        return Dataclass();
      case kMethod:
      case kModule:
      case kFunction:
      case kDefaults:
      case kPartial:
      case kOpen:
        break;
    }
    PyErr_SetString(PyExc_SystemError, "[trace] a result of unknown form.");
    return Object();
  }

 private:
  PyObject* Pointer() { return reinterpret_cast<PyObject*>(*word_++); }

  Object Tuple(uint64_t n) {
    Object tuple = Object::Steal(PyTuple_New(static_cast<Py_ssize_t>(n)));
    for (uint64_t i = 0; tuple && i < n; ++i) {
      PyObject* item = Make().release();
      if (!item) return Object();
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item);
    }
    return tuple;
  }

  // Without __init__, as copy.copy does: the values are those of the recorded object's fields.
  Object Dataclass() {
    auto* type = reinterpret_cast<PyTypeObject*>(Pointer());
    Object empty = Object::Steal(PyTuple_New(0));
    Object object =
        empty ? Object::Steal(PyBaseObject_Type.tp_new(type, empty.get(), nullptr)) : Object();
    PyObject* fields = object ? FieldsOf(object.get()) : nullptr;
    Py_ssize_t at = 0;
    PyObject *name, *field;
    while (fields && PyDict_Next(fields, &at, &name, &field)) {
      Object value = Make();
      if (!value || PyObject_GenericSetAttr(object.get(), name, value.get()) < 0) return Object();
    }
    return object;
  }

  const uint64_t* word_;
  const Nest& arguments_;
  absl::Span<Tensor> outputs_;
  absl::InlinedVector<PyObject*, 8> tensors_;
  size_t made_ = 0;
};

}  // namespace

PyObject* MakeResult(absl::Span<const uint64_t> words, const Nest& arguments,
                     absl::Span<Tensor> outputs) {
  if (words.size() == 1 && words[0] == Word(kTensor)) return Wrap(std::move(outputs[0]));
  return Maker(words.data(), arguments, outputs).Make().release();
}

}  // namespace frazil::python
