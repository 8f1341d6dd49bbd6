#include "bindings/python/nest.h"

#include <bit>

#include "autograd/tape.h"
#include "bindings/python/module_type.h"
#include "bindings/python/nest_words.h"

namespace frazil::python {
namespace {

Tensor* g_default_generator = nullptr;

bool IsPartial(PyObject* o) {
  static PyObject* const type = [] {
    Object module = Object::Steal(PyImport_ImportModule("functools"));
    return module ? PyObject_GetAttrString(module.get(), "partial") : nullptr;
  }();
  return Py_IS_TYPE(o, reinterpret_cast<PyTypeObject*>(type));
}

std::string Unknown(PyObject* o) {
  return StrCat("an object of type ", Py_TYPE(o)->tp_name, " cannot be compared from call to call");
}

}  // namespace

void SetDefaultGenerator(PyObject* state) {
  Py_INCREF(state);  // for the life of the process
  g_default_generator = &CellOf(state);
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
    if (Py_TYPE(dict)->tp_iter != PyODict_Type.tp_iter) return Refuse(dict);
    while (PyDict_Next(dict, &at, &key, &value)) {
      if (!IsPlainKey(key)) return Refuse(key);
    }
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
    if (!IsPlainKey(name) || !PyDict_Contains(fields, name)) return Refuse(object);
  }
  volatile_ = true;  // its attributes are assigned unseen
  at = 0;
  while (PyDict_Next(fields, &at, &name, &field)) {
    const Object value = Attribute(object, name);
    if (!value || !Add(value.get())) return refusal_.empty() ? Refuse(object) : false;
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

}  // namespace frazil::python
