#include "bindings/python/args.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "bindings/python/autocast.h"
#include "bindings/python/other_names.h"
#include "core/check.h"
#include "core/str.h"

namespace frazil::python {
namespace {

bool Fail(const std::string& message) {
  PyErr_SetString(PyExc_TypeError, message.c_str());
  return false;
}

std::string Utf8(PyObject* text) {
  const char* s = PyUnicode_AsUTF8(text);
  if (!s) PyErr_Clear();
  return s ? s : "?";
}

}  // namespace

Signature::Signature(std::string_view text) {
  const size_t open = text.find('(');
  FZ_CHECK(open != std::string_view::npos && text.back() == ')');
  name_ = std::string(text.substr(0, open));
  const std::string inside(text.substr(open + 1, text.size() - open - 2));
  bool keyword_only = false;
  int depth = 0;
  std::vector<std::string> parts(1);
  for (char c : inside) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (std::string& part : parts) {
    absl::StripAsciiWhitespace(&part);
    if (part.empty()) continue;
    if (part == "/") {
      positional_only_ = static_cast<int>(parameters_.size());
    } else if (part == "*") {
      keyword_only = true;
    } else {
      const size_t equals = part.find('=');
      Parameter made{part.substr(0, equals), equals == std::string::npos};
      if (!made.required) {
        made.text = part.substr(equals + 1);
        if (made.text.front() == '\'') made.text = made.text.substr(1, made.text.size() - 2);
        if (!absl::SimpleAtod(made.text, &made.number)) made.number = made.text == "True";
      }
      parameters_.push_back(std::move(made));
      if (!keyword_only) positional_ = static_cast<int>(parameters_.size());
    }
  }
}

int Signature::Find(PyObject* name) const {
  for (size_t i = positional_only_; i < parameters_.size(); ++i) {
    if (PyUnicode_CompareWithASCIIString(name, parameters_[i].name.c_str()) == 0)
      return static_cast<int>(i);
  }
  return -1;
}

std::string Signature::Unexpected(const std::string& keyword) const {
  std::string out = StrCat(name_, "() got an unexpected keyword argument '", keyword, "'");
  const std::string_view here = KeywordHere(keyword);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const bool by_position = static_cast<int>(i) < positional_only_;
    if (parameters_[i].name == keyword) out += ": it is given by position";
    if (parameters_[i].name != here) continue;
    out += StrCat(": here it is '", here, by_position ? "', and is given by position" : "'");
  }
  return out;
}

bool Signature::Parse(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                      PyObject** out) const {
  if (nargs > positional_) {
    return Fail(StrCat(name_, "() takes at most ", positional_, " positional arguments (", nargs,
                       " given)"));
  }
  for (Py_ssize_t i = 0; i < nargs; ++i) out[i] = args[i];
  const Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t k = 0; k < keywords; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    const int i = Find(name);
    if (i < 0) return Fail(Unexpected(Utf8(name)));
    if (out[i])
      return Fail(StrCat(name_, "() got multiple values for argument '", Utf8(name), "'"));
    out[i] = args[nargs + k];
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!out[i] && parameters_[i].required) {
      return Fail(StrCat(name_, "() missing required argument '", parameters_[i].name, "'"));
    }
  }
  return true;
}

bool AddFunctions(PyObject* module, const char* home, const std::vector<FunctionRow>& rows) {
  Object owner = Object::Steal(PyUnicode_FromString(home));
  if (!owner) return false;
  for (const FunctionRow& row : rows) {
    const size_t open = row.signature.find('(');
    const std::string name = row.name.empty() ? row.signature.substr(0, open) : row.name;
    // The first lines of a docstring in this form give the function its __text_signature__. They
    // live for ever.
    auto* doc = new std::string(StrCat(name, row.signature.substr(open), "\n--\n\n", row.doc));
    auto* def = new PyMethodDef{};
    def->ml_name = (new std::string(name))->c_str();
    const FastFunction called = WithAutocast(name, row.function);
    def->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(called));
    def->ml_flags = METH_FASTCALL | METH_KEYWORDS;
    def->ml_doc = doc->c_str();
    Object function = Object::Steal(PyCFunction_NewEx(def, nullptr, owner.get()));
    if (!function || PyModule_AddObjectRef(module, name.c_str(), function.get()) < 0) return false;
  }
  return true;
}

}  // namespace frazil::python
