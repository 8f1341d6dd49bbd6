#include "bindings/python/other_names.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "bindings/python/errors.h"
#include "bindings/python/tensor_type.h"
#include "core/op.h"
#include "core/str.h"

namespace frazil::python {
namespace {

enum class Place { kModule, kTensor, kRandom, kKeyword };

struct Row {
  Place place;
  const char* theirs;
  const char* ours;
};

constexpr Place module = Place::kModule, tensor = Place::kTensor, random = Place::kRandom,
                keyword = Place::kKeyword;
constexpr Row kRows[] = {
#define FZ_OTHER_NAME(place, theirs, ours) {place, theirs, ours},
#include "bindings/python/other_names.def"
#undef FZ_OTHER_NAME
};

const char* NameOf(Place place) {
  switch (place) {
    case module:
      return "module";
    case tensor:
      return "tensor";
    case random:
      return "random";
    case keyword:
      return "keyword";
  }
  return "";
}

// Functions as methods, which they are not: x.exp is frazil.exp(x). The elementwise rows of the op
// table are looked for with PyTorch's name of what works in place, too.
std::vector<Row> RowsOfFunctions() {
  std::vector<Row> rows;
#define FZ_ELEMENTWISE(name, call) \
  rows.push_back({tensor, #name, call}), rows.push_back({tensor, #name "_", "x[...] = " call});
#define FZ_OP(name, ...)
#define FZ_UNARY(name, ...) FZ_ELEMENTWISE(name, "frazil." #name "(x)")
#define FZ_BINARY(name, ...) FZ_ELEMENTWISE(name, "frazil." #name "(x, y)")
#define FZ_TERNARY(name, ...)
#include "core/ops.def"
#undef FZ_ELEMENTWISE
  constexpr bool frazil = true, nn = false, linalg = false, fft = false, inside = false;
  const auto add = [&](bool home, const char* name, std::string_view python, const char* alone,
                       const char* more) {
    if (home && python.starts_with("x"))
      rows.push_back({tensor, name, python == "x, /" ? alone : more});
  };
#define FZ_OF(home, name, python) \
  add(home, #name, python, "frazil." #name "(x)", "frazil." #name "(x, ...)");
#define FZ_COMPOSITE(home, name, parameters, python, ...) FZ_OF(home, name, python)
#define FZ_INNER(...)
#include "core/functions/composites.def"
#undef FZ_COMPOSITE
#undef FZ_INNER
#define FZ_FUNCTION(home, name, parameters, arguments, python, ...) FZ_OF(home, name, python)
#define FZ_SEVERAL FZ_FUNCTION
#include "core/functions/functions.def"
#undef FZ_FUNCTION
#undef FZ_SEVERAL
#undef FZ_OF
  return rows;
}

PyObject* GetOther(PyObject*, void* row) {
  const Row* r = static_cast<const Row*>(row);
  return PyErr_Format(PyExc_AttributeError, "'frazil.Tensor' object has no attribute '%s': use %s.",
                      r->theirs, r->ours);
}

// What tensors have: methods and attributes.
absl::flat_hash_set<std::string_view> OwnNames() {
  absl::flat_hash_set<std::string_view> names;
  for (const PyMethodDef* m = tensor_methods; m->ml_name; ++m) names.insert(m->ml_name);
  for (const PyGetSetDef* a = tensor_type.tp_getset; a->name; ++a) names.insert(a->name);
  return names;
}

// The rows for tensors, which live for ever; the last entry is empty.
PyGetSetDef* Attributes() {
  static PyGetSetDef* const table = [] {
    auto* rows = new std::vector<Row>;
    for (const Row& row : kRows) {
      if (row.place == tensor) rows->push_back(row);
    }
    for (const Row& row : RowsOfFunctions()) rows->push_back(row);
    absl::flat_hash_set<std::string_view> taken = OwnNames();
    auto* out = new std::vector<PyGetSetDef>;
    for (Row& row : *rows) {
      if (!taken.insert(row.theirs).second) continue;  // such as round; the rows above come first
      const char* doc = (new std::string(StrCat("Here: ", row.ours, ".")))->c_str();
      out->push_back({row.theirs, GetOther, nullptr, doc, &row});
    }
    out->push_back({});
    return out->data();
  }();
  return table;
}

}  // namespace

PyTypeObject* OtherNamesType() {
  static PyTypeObject type = [] {
    PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
    t.tp_name = "frazil.OtherNames";
    t.tp_doc = "What other libraries call what a tensor has under another name.";
    t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    t.tp_getset = Attributes();
    return t;
  }();
  return &type;
}

PyObject* DirWithoutOtherNames(PyObject* self, PyObject*) {
  auto* object = reinterpret_cast<PyObject*>(&PyBaseObject_Type);
  Object names = Object::Steal(PyObject_CallMethod(object, "__dir__", "O", self));
  Object set = names ? Object::Steal(PySet_New(names.get())) : Object();
  for (const PyGetSetDef* a = Attributes(); set && a->name; ++a) {
    Object name = Object::Steal(PyUnicode_FromString(a->name));
    if (!name || PySet_Discard(set.get(), name.get()) < 0) return nullptr;
  }
  return set ? PySequence_List(set.get()) : nullptr;
}

std::string_view KeywordHere(std::string_view theirs) {
  for (const Row& row : kRows) {
    if (row.place == keyword && theirs == row.theirs) return row.ours;
  }
  return {};
}

PyObject* OtherNames() {
  Object out = Object::Steal(PyDict_New());
  for (const Place place : {module, tensor, random, keyword}) {
    Object names = Object::Steal(PyDict_New());
    if (!out || !names || PyDict_SetItemString(out.get(), NameOf(place), names.get()) < 0)
      return nullptr;
    for (const Row& row : kRows) {
      if (row.place != place) continue;
      Object ours = Object::Steal(PyUnicode_FromString(row.ours));
      if (!ours || PyDict_SetItemString(names.get(), row.theirs, ours.get()) < 0) return nullptr;
    }
  }
  return out.release();
}

}  // namespace frazil::python
