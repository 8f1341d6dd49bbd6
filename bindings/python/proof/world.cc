#include "bindings/python/proof/world.h"

#include <algorithm>
#include <cstring>

#include "absl/algorithm/container.h"
#include "bindings/python/functions.h"
#include "bindings/python/nest_words.h"

namespace frazil::python {
namespace {

constexpr int kMaxDepthOfFixed = 16;

// Bits are compared: 0.0 is not -0.0, and a nan is itself.
bool IsSameConstant(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (!a || !b || Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) {
    const double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return std::memcmp(&x, &y, sizeof x) == 0;
  }
  if (!PyLong_CheckExact(a) && !PyUnicode_CheckExact(a) && !PyBytes_CheckExact(a)) return false;
  return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

const char* Text(PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) PyErr_Clear();
  return text ? text : "?";
}

// tuple.__new__, dict.fromkeys
bool IsBoundToBuiltinType(PyObject* o) {
  PyObject* self = PyCFunction_Check(o) ? PyCFunction_GET_SELF(o) : nullptr;
  return self && PyType_Check(self) &&
         !(reinterpret_cast<PyTypeObject*>(self)->tp_flags & Py_TPFLAGS_HEAPTYPE);
}

}  // namespace

bool World::Function::Same() const {
  PyObject* f = function.get();
  return PyFunction_GET_CODE(f) == code.get() && PyFunction_GET_DEFAULTS(f) == defaults.get() &&
         PyFunction_GET_KW_DEFAULTS(f) == named.get();
}

bool World::Owner::Same() const {
  PyObject* o = object.get();
  return PyModule_Check(o) ? Py_IS_TYPE(o, &PyModule_Type)
                           : reinterpret_cast<PyFunctionObject*>(o)->func_dict == dict.get();
}

World::Scope& World::ScopeOf(PyObject* dict) {
  for (const auto& scope : scopes_) {
    if (scope->dict.get() == dict) return *scope;
  }
  const DictVersion version(dict);
  scopes_.push_back(
      std::make_unique<Scope>(Scope{Object::Share(dict), version, version.now(), {}}));
  return *scopes_.back();
}

World::Name* World::Find(Scope* scope, PyObject* name) {
  for (Name& known : scope->names) {
    if (known.name.get() == name || PyUnicode_Compare(known.name.get(), name) == 0) return &known;
  }
  return nullptr;
}

bool World::CanBeGiven(PyObject* object, const std::string& what) {
  Nest scratch;
  if (scratch.Add(object)) return true;
  PyErr_Clear();
  refusal_ = StrCat(what, ": ", scratch.refusal());
  return false;
}

bool World::Add(PyObject* dict, PyObject* name, PyObject* value, const std::string& where) {
  Scope& scope = ScopeOf(dict);
  if (Find(&scope, name)) return true;  // it has been compared when the call began
  Name added{Object::Share(name), Object::Share(value), false, false, where};
  added.given = value && !IsFixed(value);
  if (added.given && !CanBeGiven(value, StrCat("'", Text(name), "'"))) return false;
  if (added.given) added.value = Object();  // which is looked up at each call
  // Finding out may have added scopes.
  ScopeOf(dict).names.push_back(std::move(added));
  ++changes_;
  return true;
}

bool World::AddName(PyObject* globals, PyObject* builtins, PyObject* name,
                    const std::string& where) {
  if (!PyDict_CheckExact(globals) || !PyDict_CheckExact(builtins)) {
    refusal_ = StrCat("'", Text(name), "' is looked up in a mapping that is no dict");
    return false;
  }
  PyObject* value = PyDict_GetItemWithError(globals, name);
  if (!Add(globals, name, value, where)) return false;
  return value || Add(builtins, name, PyDict_GetItemWithError(builtins, name), where);
}

bool World::AddAttribute(PyObject* module, PyObject* name, const std::string& where) {
  PyObject* dict = PyModule_Check(module) ? PyModule_GetDict(module)
                                          : reinterpret_cast<PyFunctionObject*>(module)->func_dict;
  PyObject* value = dict ? PyDict_GetItemWithError(dict, name) : nullptr;
  if (!value) {
    refusal_ = StrCat("'", Text(name), "' is an attribute that only code of its owner's knows");
    return false;
  }
  if (!absl::c_any_of(owners_, [&](const Owner& o) { return o.object.get() == module; }))
    owners_.push_back({Object::Share(module), Object::Share(dict)});
  return Add(dict, name, value, where);
}

bool World::AddEntry(PyObject* dict, PyObject* name, const std::string& where) {
  return Add(dict, name, PyDict_GetItemWithError(dict, name), where);
}

bool World::AddWritten(PyObject* globals, PyObject* name, const std::string& where) {
  if (!PyDict_CheckExact(globals) || !AddEntry(globals, name, where)) return false;
  Name* known = Find(&ScopeOf(globals), name);
  if (known->written) return true;
  known->given = known->written = true;
  known->value = Object();
  ++changes_;
  return true;
}

bool World::Give(PyObject* object, const std::string& what, const std::string& where) {
  if (absl::c_any_of(given_, [&](const Given& g) { return g.object.get() == object; })) return true;
  if (!CanBeGiven(object, what)) return false;
  given_.push_back({Object::Share(object), where});
  ++changes_;
  return true;
}

bool World::AddObject(PyObject* object, const std::string& where) {
  return IsFixed(object) || Give(object, Py_TYPE(object)->tp_name, where);
}

namespace {

// A function's attributes may be none, or the function that it wraps: others can hold anything.
bool HasOnlyWrapped(PyObject* dict, PyObject** wrapped) {
  *wrapped = nullptr;
  if (!dict || PyDict_GET_SIZE(dict) == 0) return true;
  static PyObject* const name = PyUnicode_InternFromString("__wrapped__");
  *wrapped = PyDict_GetItemWithError(dict, name);
  return PyDict_GET_SIZE(dict) == 1 && *wrapped && PyFunction_Check(*wrapped);
}

}  // namespace

bool World::Metadata::Same() const {
  PyObject* now = reinterpret_cast<PyFunctionObject*>(function.get())->*member;
  if (member != &PyFunctionObject::func_dict) return IsSameConstant(now, value.get());
  PyObject* wrapped = nullptr;
  return HasOnlyWrapped(now, &wrapped) && wrapped == value.get();
}

bool World::AddMetadata(PyObject* function, PyObject* name) {
  static constexpr std::pair<const char*, PyObject * PyFunctionObject::*> kMembers[] = {
      {"__name__", &PyFunctionObject::func_name},
      {"__qualname__", &PyFunctionObject::func_qualname},
      {"__doc__", &PyFunctionObject::func_doc},
      {"__module__", &PyFunctionObject::func_module},
      {"__dict__", &PyFunctionObject::func_dict}};
  for (const auto& [text, member] : kMembers) {
    if (PyUnicode_CompareWithASCIIString(name, text) != 0) continue;
    PyObject* value = reinterpret_cast<PyFunctionObject*>(function)->*member;
    if (member == &PyFunctionObject::func_dict && !HasOnlyWrapped(value, &value)) return false;
    Metadata row{Object::Share(function), member, Object::Share(value)};
    if (!row.Same()) return false;
    const bool known = absl::c_any_of(metadata_, [&](const Metadata& m) {
      return m.function.get() == function && m.member == row.member;
    });
    if (!known) {
      metadata_.push_back(std::move(row));
      ++changes_;
    }
    return true;
  }
  return false;
}

bool World::MakeGiven(PyObject* function, const std::string& where) {
  if (!IsMoving(function)) moving_.push_back(Object::Share(function));
  if (!Give(function, "a function", where)) return false;
  known_.insert(function);
  return true;
}

bool World::AddFunction(PyObject* function, const std::string& where) {
  if (known_.contains(function) || IsFixed(function)) return true;
  PyObject* name = reinterpret_cast<PyFunctionObject*>(function)->func_qualname;
  if (!Give(function, StrCat("the function ", Text(name)), where)) return false;
  known_.insert(function);
  return true;
}

bool World::IsMoving(PyObject* object) const {
  return absl::c_any_of(moving_, [&](const Object& o) { return o.get() == object; });
}

bool World::IsFixedType(PyTypeObject* type, int depth) {
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return true;  // nobody can change it
  auto* object = reinterpret_cast<PyObject*>(type);
  if (known_.contains(object)) return true;
  if (IsMoving(object)) return false;
  const ClassInfo* info = InfoOf(type);
  if (!info) return false;
  const unsigned version = info->version;
  const auto data = info->data;
  const auto members = info->members;
  const bool foreign = static_cast<bool>(info->foreign);
  known_.insert(object);  // it may hold itself
  const bool fixed =
      absl::c_all_of(data, [&](const auto& row) { return IsFixed(row.second, depth); }) &&
      members.empty() && !foreign && IsFixedType(Py_TYPE(object), depth);
  if (!fixed) return known_.erase(object), false;
  classes_.push_back({Object::Share(object), version});
  return true;
}

bool World::IsFixedFunction(PyObject* function, int depth) {
  if (known_.contains(function)) return true;
  if (IsMoving(function)) return false;
  PyObject *defaults = PyFunction_GET_DEFAULTS(function),
           *named = PyFunction_GET_KW_DEFAULTS(function),
           *closure = PyFunction_GET_CLOSURE(function);
  known_.insert(function);
  bool fixed = !defaults || IsFixed(defaults, depth);
  Py_ssize_t at = 0;
  PyObject *name, *value;
  while (fixed && named && PyDict_Next(named, &at, &name, &value)) fixed = IsFixed(value, depth);
  for (Py_ssize_t i = 0; fixed && closure && i < PyTuple_GET_SIZE(closure); ++i) {
    PyObject* content = PyCell_GET(PyTuple_GET_ITEM(closure, i));
    fixed = !content || IsFixed(content, depth);
  }
  if (!fixed) return known_.erase(function), false;
  at = 0;
  while (named && PyDict_Next(named, &at, &name, &value)) {
    if (!Add(named, name, value, "")) return known_.erase(function), false;
  }
  for (Py_ssize_t i = 0; closure && i < PyTuple_GET_SIZE(closure); ++i) {
    PyObject* cell = PyTuple_GET_ITEM(closure, i);
    cells_.push_back(
        {Object::Share(function), Object::Share(cell), Object::Share(PyCell_GET(cell))});
  }
  functions_.push_back({Object::Share(function), Object::Share(PyFunction_GET_CODE(function)),
                        Object::Share(defaults), Object::Share(named)});
  ++changes_;
  return true;
}

bool World::IsFixed(PyObject* o, int depth) {
  if (o == Py_None || o == Py_Ellipsis || o == Py_NotImplemented || PyBool_Check(o) ||
      PyLong_CheckExact(o) || (PyFloat_CheckExact(o) && !IsNan(o)) || PyComplex_CheckExact(o) ||
      PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PyRange_Check(o) || PyModule_Check(o) ||
      Py_IS_TYPE(o, &PyMethodDescr_Type) || Py_IS_TYPE(o, &PyWrapperDescr_Type) ||
      IsBoundToBuiltinType(o) || python::IsFixed(o))
    return true;
  if (++depth > kMaxDepthOfFixed) return false;
  if (PyTuple_CheckExact(o)) {
    return std::all_of(&PyTuple_GET_ITEM(o, 0), &PyTuple_GET_ITEM(o, 0) + PyTuple_GET_SIZE(o),
                       [&](PyObject* item) { return IsFixed(item, depth); });
  }
  if (PyFunction_Check(o)) return IsFixedFunction(o, depth);
  if (PyType_Check(o)) return IsFixedType(reinterpret_cast<PyTypeObject*>(o), depth);
  if (PyObject* function = FunctionOfTraced(o)) return IsFixed(function, depth);
  return false;
}

// What was read of a name that is not what it was: from now on it is one more argument.
bool World::CheckNames(Scope* scope) {
  bool same = true;
  for (Name& name : scope->names) {
    PyObject* value = PyDict_GetItemWithError(scope->dict.get(), name.name.get());
    if (name.given || value == name.value.get()) continue;
    name.given = !IsSameConstant(value, name.value.get());
    same = same && !name.given;
    name.value = name.given ? Object() : Object::Share(value);
  }
  scope->seen = scope->version.now();
  if (!same) ++changes_;
  return same;
}

bool World::Forget(const Object& moving) {
  moving_.push_back(moving);
  const int64_t changes = changes_;
  Clear();
  changes_ = changes + 1;
  return false;
}

bool World::Compare() {
  refusal_.clear();
  for (const auto& scope : scopes_) {
    if (scope->version.now() != scope->seen && !CheckNames(scope.get())) return false;
  }
  for (const Class& c : classes_) {
    if (VersionOf(reinterpret_cast<PyTypeObject*>(c.type.get())) != c.version)
      return Forget(Object(c.type));
  }
  for (const Function& f : functions_) {
    if (!f.Same()) return Forget(Object(f.function));
  }
  for (const Owner& owner : owners_) {
    if (!owner.Same()) return Forget(Object(owner.object));
  }
  for (const Metadata& m : metadata_) {
    if (!m.Same()) return Forget(Object(m.function));
  }
  for (const Cell& c : cells_) {
    if (!IsSameConstant(PyCell_GET(c.cell.get()), c.content.get()))
      return Forget(Object(c.function));
  }
  return true;
}

bool World::AddGiven(Nest* nest) {
  const auto add = [&](PyObject* object, const auto& what) {
    if (!object) return nest->words.push_back(Word(kOpen)), true;
    if (nest->Add(object)) return true;
    refusal_ = StrCat(what(), nest->refusal());
    return false;
  };
  for (const auto& scope : scopes_) {
    for (const Name& name : scope->names) {
      if (!name.given) continue;
      if (name.written) nest->places.push_back({scope->dict.get(), name.name.get()});
      PyObject* value = PyDict_GetItemWithError(scope->dict.get(), name.name.get());
      if (nest->notes)
        nest->notes->emplace_back(nest->words.size(),
                                  StrCat(name.where, ": '", Text(name.name.get()), "'"));
      nest->At(scope->dict.get(), name.name.get());
      if (!add(value, [&] { return StrCat("'", Text(name.name.get()), "': "); })) return false;
    }
  }
  for (const Given& given : given_) {
    if (nest->notes)
      nest->notes->emplace_back(nest->words.size(),
                                StrCat(given.where, ": a ", Py_TYPE(given.object.get())->tp_name));
    if (!add(given.object.get(), [] { return std::string(); })) return false;
  }
  return true;
}

std::string World::Describe() const {
  std::string out;
  for (const auto& scope : scopes_) {
    for (const Name& name : scope->names) {
      if (!name.where.empty())
        StrAppend(&out, name.where, ": '", Text(name.name.get()), "'",
                  name.given ? ", by content" : "", "\n");
    }
  }
  for (const Given& given : given_)
    StrAppend(&out, given.where, ": a ", Py_TYPE(given.object.get())->tp_name, ", by content\n");
  return out;
}

int World::Traverse(visitproc visit, void* arg) const {
  for (const auto& scope : scopes_) {
    Py_VISIT(scope->dict.get());
    for (const Name& name : scope->names) Py_VISIT(name.value.get());
  }
  for (const Class& c : classes_) Py_VISIT(c.type.get());
  for (const Function& f : functions_) {
    Py_VISIT(f.function.get());
    Py_VISIT(f.code.get());
    Py_VISIT(f.defaults.get());
    Py_VISIT(f.named.get());
  }
  for (const Cell& c : cells_) {
    Py_VISIT(c.function.get());
    Py_VISIT(c.cell.get());
    Py_VISIT(c.content.get());
  }
  for (const Given& given : given_) Py_VISIT(given.object.get());
  for (const Metadata& m : metadata_) {
    Py_VISIT(m.function.get());
    Py_VISIT(m.value.get());
  }
  for (const Object& moving : moving_) Py_VISIT(moving.get());
  for (const Owner& owner : owners_) {
    Py_VISIT(owner.object.get());
    Py_VISIT(owner.dict.get());
  }
  return 0;
}

void World::Clear() {
  // Letting go may run code that comes back here.
  const auto scopes = std::move(scopes_);
  const auto classes = std::move(classes_);
  const auto functions = std::move(functions_);
  const auto cells = std::move(cells_);
  const auto given = std::move(given_);
  const auto metadata = std::move(metadata_);
  const auto owners = std::move(owners_);
  scopes_.clear();
  classes_.clear();
  functions_.clear();
  cells_.clear();
  given_.clear();
  metadata_.clear();
  owners_.clear();
  known_.clear();
  ++changes_;
}

}  // namespace frazil::python
