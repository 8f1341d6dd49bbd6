#include <cstring>

#include "bindings/python/class_info.h"
#include "bindings/python/tree.h"

namespace frazil::python {
namespace {

// An instance without state, made as pickle and copy do: without __init__ and the class's __new__.
Object Empty(PyTypeObject* type, PyObject* items = nullptr) {
  const PyTypeObject* base = type;
  while (base->tp_flags & Py_TPFLAGS_HEAPTYPE) base = base->tp_base;
  if (PyType_IsSubtype(type, &PyDict_Type)) base = &PyDict_Type;
  const Object args = Object::Steal(items ? PyTuple_Pack(1, items) : PyTuple_New(0));
  return args ? Object::Steal(base->tp_new(type, args.get(), nullptr)) : Object();
}

class Builder {
 public:
  Builder(const Tree& tree, PyObject* const* leaves) : node_(tree.nodes.data()), leaf_(leaves) {}

  Object Make() {
    const TreeNode& node = *node_++;
    if (node.kind == Container::kLeaf) return Object::Share(*leaf_++);
    if (node.kind == Container::kNone) return Object::Share(Py_None);
    if (Py_EnterRecursiveCall(" while a nest is put together")) return Object();
    Object made = MakeContainer(node);
    Py_LeaveRecursiveCall();
    if (made && node.rest && node.kind != Container::kRegistered && !SetRest(made.get(), node))
      return Object();
    return made;
  }

 private:
  PyTypeObject* TypeOf(const TreeNode& node) {
    return reinterpret_cast<PyTypeObject*>(node.type.get());
  }
  // Whether only the class itself can make an instance: it is not made in Python.
  bool IsForeign(const TreeNode& node) {
    const ClassInfo* info = InfoOf(TypeOf(node));
    return !info || !info->is_shown;
  }

  Object MakeContainer(const TreeNode& node) {
    switch (node.kind) {
      case Container::kTuple:
      case Container::kNamedTuple: {
        Object items = Items(node.children);
        if (!items || !node.type) return items;
        if (IsForeign(node))
          return Object::Steal(PyObject_CallOneArg(node.type.get(), items.get()));
        return Empty(TypeOf(node), items.get());
      }
      case Container::kList: {
        Object items = Items(node.children);
        if (!items) return items;
        if (node.type && IsForeign(node))
          return Object::Steal(PyObject_CallOneArg(node.type.get(), items.get()));
        Object list = node.type ? Empty(TypeOf(node)) : Object::Steal(PyList_New(0));
        if (!list || PyList_SetSlice(list.get(), 0, 0, items.get()) < 0) return Object();
        return list;
      }
      case Container::kDict: {
        const bool is_foreign = node.type && IsForeign(node);
        Object dict = node.type && !is_foreign ? Empty(TypeOf(node)) : Object::Steal(PyDict_New());
        const bool ordered = dict && PyODict_Check(dict.get());
        for (Py_ssize_t i = 0; dict && i < node.children; ++i) {
          PyObject* key = PyTuple_GET_ITEM(node.keys.get(), i);
          const Object value = Make();
          if (!value || (ordered ? PyODict_SetItem(dict.get(), key, value.get())
                                 : PyDict_SetItem(dict.get(), key, value.get())) < 0)
            return Object();
        }
        return is_foreign && dict ? Object::Steal(PyObject_CallOneArg(node.type.get(), dict.get()))
                                  : dict;
      }
      case Container::kDataclass:
      case Container::kModule:
        return Instance(node);
      case Container::kRegistered: {
        const Registration* registration = RegistrationOf(TypeOf(node));
        const Object items = Items(node.children);
        if (!items) return Object();
        return Object::Steal(PyObject_CallFunctionObjArgs(registration->unflatten, node.rest.get(),
                                                          items.get(), nullptr));
      }
      case Container::kLeaf:
      case Container::kNone:
        break;
    }
    return Object();
  }

  Object Items(Py_ssize_t n) {
    Object items = Object::Steal(PyTuple_New(n));
    for (Py_ssize_t i = 0; items && i < n; ++i) {
      PyObject* item = Make().release();
      if (!item) return Object();
      PyTuple_SET_ITEM(items.get(), i, item);
    }
    return items;
  }

  // Past the class's own __setattr__: a module's looks for parameters, a frozen class's refuses.
  Object Instance(const TreeNode& node) {
    Object made = Empty(TypeOf(node));
    for (Py_ssize_t i = 0; made && i < node.children; ++i) {
      const Object value = Make();
      PyObject* name = PyTuple_GET_ITEM(node.keys.get(), i);
      if (!value || PyObject_GenericSetAttr(made.get(), name, value.get()) < 0) return Object();
    }
    return made;
  }

  static bool SetRest(PyObject* made, const TreeNode& node) {
    Py_ssize_t at = 0;
    PyObject *name, *value;
    while (PyDict_Next(node.rest.get(), &at, &name, &value)) {
      if (PyObject_GenericSetAttr(made, name, value) < 0) return false;
    }
    return true;
  }

  const TreeNode* node_;
  PyObject* const* leaf_;
};

std::string Text(const Object& text) {
  const char* bytes = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (!bytes) PyErr_Clear();
  return bytes ? bytes : "?";
}

const TreeNode* AddPaths(const TreeNode* node, std::string* path, std::vector<std::string>* out) {
  const TreeNode& own = *node++;
  if (own.kind == Container::kLeaf) out->push_back(*path);
  for (Py_ssize_t i = 0; i < own.children; ++i) {
    const size_t length = path->size();
    const bool named = own.keys && i < PyTuple_GET_SIZE(own.keys.get());
    *path += Step(own.kind, named ? PyTuple_GET_ITEM(own.keys.get(), i) : nullptr, i);
    node = AddPaths(node, path, out);
    path->resize(length);
  }
  return node;
}

}  // namespace

Object Build(const Tree& tree, PyObject* const* leaves) { return Builder(tree, leaves).Make(); }

std::vector<std::string> Paths(const Tree& tree) {
  std::vector<std::string> paths;
  std::string path;
  AddPaths(tree.nodes.data(), &path, &paths);
  return paths;
}

std::string Repr(PyObject* o) { return Text(Object::Steal(PyObject_Repr(o))); }

std::string Step(Container kind, PyObject* key, Py_ssize_t i) {
  if (i < 0) return "";
  if (!key) return StrCat("[", i, "]");
  return kind == Container::kDict ? StrCat("[", Repr(key), "]")
                                  : StrCat(".", Text(Object::Steal(PyObject_Str(key))));
}

std::string NameOf(const TreeNode& node) {
  if (node.type) {
    const char* name = reinterpret_cast<PyTypeObject*>(node.type.get())->tp_name;
    const char* dot = std::strrchr(name, '.');
    return dot ? dot + 1 : name;
  }
  switch (node.kind) {
    case Container::kTuple:
      return "tuple";
    case Container::kList:
      return "list";
    case Container::kDict:
      return "dict";
    case Container::kNone:
      return "None";
    default:
      return "leaf";
  }
}

}  // namespace frazil::python
