#include <algorithm>

#include "bindings/python/class_info.h"
#include "bindings/python/functions.h"
#include "bindings/python/tree.h"

namespace frazil::python {
namespace {

// A walk down an object: where it is, for errors and against objects that hold themselves.
class Place {
 public:
  // False with an error if the object is inside of itself, or too deep for the stack.
  bool Enter(PyObject* o, Container kind) {
    for (const Level& level : levels_) {
      if (level.object != o) continue;
      Raise(ValueError("[tree] ", Path(), " is the ", Py_TYPE(o)->tp_name,
                       " that holds it: a nest must end, so keep what points upwards out of it."));
      return false;
    }
    if (Py_EnterRecursiveCall(" while a nest is taken apart")) return false;
    levels_.push_back({o, kind, Object(), -1});
    return true;
  }
  void Leave() {
    Py_LeaveRecursiveCall();
    levels_.pop_back();
  }
  void Next(PyObject* key) {
    levels_.back().key = Object::Share(key);
    ++levels_.back().index;
  }
  std::string Path() const {
    std::string path = "tree";
    for (const Level& level : levels_) path += Step(level.kind, level.key.get(), level.index);
    return path;
  }

 private:
  struct Level {
    PyObject* object;
    Container kind;
    Object key;
    Py_ssize_t index;
  };
  std::vector<Level> levels_;
};

// A module that is traced is a module: copies hold it as it is, and follow its calls with the rest.
PyObject* WithoutTrace(PyObject* o) {
  PyObject* traced = FunctionOfTraced(o);
  return traced && ContainerOf(traced) == Container::kModule ? traced : o;
}

// Whether there is a tensor in what a module has for an attribute.
bool HoldsTensor(PyObject* o, int depth) {
  o = WithoutTrace(o);
  if (IsTensor(o) || depth == 0) return true;  // where it does not end Flatten says so
  const Container kind = ContainerOf(o);
  if (kind == Container::kModule || kind == Container::kRegistered) return true;
  const bool none = EachChild(
      o, kind, [&](PyObject*, PyObject* child) { return !HoldsTensor(child, depth - 1); });
  return !none;
}

class Flattener {
 public:
  Flattener(PyObject* is_leaf, PyObject* leaves, Tree* tree)
      : is_leaf_(is_leaf), leaves_(leaves), tree_(tree) {}

  bool Add(PyObject* o) {
    o = WithoutTrace(o);
    Container kind = ContainerOf(o);
    if (is_leaf_) {
      const Object answer = Object::Steal(PyObject_CallOneArg(is_leaf_, o));
      const int yes = answer ? PyObject_IsTrue(answer.get()) : -1;
      if (yes < 0) return false;
      if (yes) kind = Container::kLeaf;
    }
    const size_t at = tree_->nodes.size();
    tree_->nodes.emplace_back().kind = kind;
    if (kind == Container::kNone) return true;
    if (kind == Container::kLeaf) {
      ++tree_->leaves;
      return PyList_Append(leaves_, o) == 0;
    }
    if (!place_.Enter(o, kind)) return false;
    const bool good = AddChildren(o, kind, at);
    place_.Leave();
    return good;
  }

 private:
  bool AddChildren(PyObject* o, Container kind, size_t at) {
    std::vector<Object> keys;
    Py_ssize_t n = 0;
    const bool keyed = kind == Container::kDict || kind == Container::kModule;
    if (keyed && kind == Container::kDict) keys.reserve(static_cast<size_t>(PyDict_GET_SIZE(o)));
    const auto add = [&](PyObject* key, PyObject* child) {
      if (kind == Container::kModule && !HoldsTensor(child, 64)) return !PyErr_Occurred();
      place_.Next(key);
      if (keyed) keys.push_back(Object::Share(key));
      ++n;
      return Add(child);
    };
    Object children, rest;
    if (kind == Container::kRegistered) {
      if (!OpenRegistered(o, &children, &rest) ||
          !EachChild(children.get(), Container::kTuple, add))
        return false;
    } else if (!EachChild(o, kind, add)) {
      return false;
    }
    TreeNode& node = tree_->nodes[at];
    node.children = n;
    tree_->has_modules |= kind == Container::kModule;
    if (keyed) {
      node.keys = Object::Steal(PyTuple_New(n));
      for (Py_ssize_t i = 0; node.keys && i < n; ++i)
        PyTuple_SET_ITEM(node.keys.get(), i, keys[static_cast<size_t>(i)].release());
      if (!node.keys) return false;
    }
    if (PyTuple_CheckExact(o) || PyList_CheckExact(o) || PyDict_CheckExact(o)) return true;
    node.type = Object::Share(reinterpret_cast<PyObject*>(Py_TYPE(o)));
    if (kind == Container::kDataclass || kind == Container::kNamedTuple)
      node.keys = NamesOf(Py_TYPE(o));
    if (kind != Container::kRegistered && !AddRest(o, node.keys.get(), kind, &rest)) return false;
    tree_->nodes[at].rest = std::move(rest);
    return true;
  }

  // The attributes that are no children.
  bool AddRest(PyObject* o, PyObject* keys, Container kind, Object* rest) {
    PyObject* attributes = AttributesOf(o);
    const ClassInfo* info = InfoOf(Py_TYPE(o));
    const auto add = [&](PyObject* name, PyObject* value) {
      const bool by_name = kind == Container::kDataclass || kind == Container::kModule;
      const int is_child = by_name && keys ? PySequence_Contains(keys, name) : 0;
      if (is_child != 0) return is_child > 0;
      if (!*rest) *rest = Object::Steal(PyDict_New());
      return *rest && PyDict_SetItem(rest->get(), name, value) == 0;
    };
    Py_ssize_t at = 0;
    PyObject *name, *value;
    while (attributes && PyDict_Next(attributes, &at, &name, &value)) {
      if (!add(name, value)) return false;
    }
    for (size_t i = 0; info && i < info->slots.size(); ++i) {
      value = SlotOf(o, info->slots[i]);
      if (value && !add(info->slots[i].name.get(), value)) return false;
    }
    return true;
  }

  PyObject* is_leaf_;
  PyObject* leaves_;
  Tree* tree_;
  Place place_;
};

// Goes through a tree and another object in step.
class Follower {
 public:
  Follower(const Tree& tree, PyObject* leaves) : node_(tree.nodes.data()), leaves_(leaves) {}

  bool Follow(PyObject* o) {
    const TreeNode& node = *node_++;
    if (node.kind == Container::kLeaf) return PyList_Append(leaves_, o) == 0;
    o = WithoutTrace(o);
    const Container kind = ContainerOf(o);
    const bool same_type = node.type ? reinterpret_cast<PyObject*>(Py_TYPE(o)) == node.type.get()
                                     : kind == node.kind && (o == Py_None || IsProper(o));
    if (kind != node.kind || !same_type)
      return Differ(StrCat("is a ", NameOf(node), " in the first tree, a ", Py_TYPE(o)->tp_name,
                           " in another"));
    if (kind == Container::kNone) return true;
    if (!place_.Enter(o, kind)) return false;
    const bool good = FollowChildren(o, node);
    place_.Leave();
    return good;
  }

 private:
  static bool IsProper(PyObject* o) {
    return PyTuple_CheckExact(o) || PyList_CheckExact(o) || PyDict_CheckExact(o);
  }
  bool Differ(const std::string& what) {
    Raise(ValueError("[tree] ", place_.Path(), " ", what, ": the trees must have one structure."));
    return false;
  }

  bool FollowChildren(PyObject* o, const TreeNode& node) {
    Object children = Object::Share(o), data;
    if (node.kind == Container::kRegistered) {
      if (!OpenRegistered(o, &children, &data)) return false;
      const int same = PyObject_RichCompareBool(data.get(), node.rest.get(), Py_EQ);
      if (same < 0) return false;
      if (same == 0) return Differ(StrCat("is a ", NameOf(node), " with other data"));
    }
    const bool by_key = node.kind == Container::kDict || node.kind == Container::kModule;
    Object dict = children;
    if (node.kind == Container::kModule) dict = Object::Steal(PyObject_GenericGetDict(o, nullptr));
    const Py_ssize_t n = node.kind == Container::kDict        ? PyDict_GET_SIZE(o)
                         : node.kind == Container::kModule    ? node.children
                         : node.kind == Container::kDataclass ? node.children
                                                              : Py_SIZE(children.get());
    if (!dict || n != node.children)
      return Differ(StrCat("has length ", node.children, " in the first tree, ", n, " in another"));
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* key = node.keys ? PyTuple_GET_ITEM(node.keys.get(), i) : nullptr;
      Object child;
      if (by_key) {
        child = Object::Share(PyDict_GetItemWithError(dict.get(), key));
        if (!child && PyErr_Occurred()) return false;
        if (!child)
          return Differ(StrCat("has ", Step(node.kind, key, i), " in the first tree alone"));
      } else if (node.kind == Container::kDataclass) {
        child = FieldOf(o, key);
        if (!child) return false;
      } else {
        if (i >= Py_SIZE(children.get())) return Differ("became shorter");
        child = Object::Share(PySequence_Fast_GET_ITEM(children.get(), i));
      }
      place_.Next(key);
      if (!Follow(child.get())) return false;
    }
    return true;
  }

  const TreeNode* node_;
  PyObject* leaves_;
  Place place_;
};

}  // namespace

bool Flatten(PyObject* object, PyObject* is_leaf, PyObject* leaves, Tree* tree) {
  tree->nodes.reserve(8);
  return Flattener(is_leaf, leaves, tree).Add(object);
}

bool FlattenUpTo(const Tree& tree, PyObject* object, PyObject* leaves) {
  return Follower(tree, leaves).Follow(object);
}

}  // namespace frazil::python
