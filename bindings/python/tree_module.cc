// frazil._frazil.tree: nests apart and together again (frazil/tree.py), and one container's
// children for the walks that meet each object once (frazil/_parameters.py).
#include "bindings/python/functions.h"
#include "bindings/python/movement.h"
#include "bindings/python/tree_type.h"

namespace frazil::python {
namespace {

// The leaves, or null; the structure, if it is wanted.
PyObject* TakeApart(PyObject* object, PyObject* is_leaf, PyObject** structure) {
  if (!Given(is_leaf)) is_leaf = nullptr;
  if (is_leaf && !PyCallable_Check(is_leaf)) {
    return Raise(
        TypeError("[tree] is_leaf must be a function, got ", Py_TYPE(is_leaf)->tp_name, "."));
  }
  Object leaves = Object::Steal(PyList_New(0));
  Tree tree;
  if (!leaves || !Flatten(object, is_leaf, leaves.get(), &tree)) return nullptr;
  if (structure && !(*structure = NewStructure(std::move(tree)))) return nullptr;
  return leaves.release();
}

FZ_FAST(FlattenTree) {
  FZ_ARGS(2, "tree.flatten(tree, /, is_leaf=None)");
  PyObject* structure = nullptr;
  Object leaves = Object::Steal(TakeApart(a[0], a[1], &structure));
  const Object held = Object::Steal(structure);
  return leaves ? PyTuple_Pack(2, leaves.get(), structure) : nullptr;
}

FZ_FAST(Leaves) {
  FZ_ARGS(2, "tree.leaves(tree, /, is_leaf=None)");
  return TakeApart(a[0], a[1], nullptr);
}

FZ_FAST(IsContainer) {
  FZ_ARGS(1, "is_container(object, /)");
  const Container kind = ContainerOf(a[0]);
  return PyBool_FromLong(kind != Container::kLeaf && kind != Container::kNone);
}

FZ_FAST(Children) {
  FZ_ARGS(1, "children(object, /)");
  const Container kind = ContainerOf(a[0]);
  if (kind == Container::kLeaf || kind == Container::kNone) Py_RETURN_NONE;
  Object list = Object::Steal(PyList_New(0));
  Py_ssize_t i = 0;
  const bool good =
      list && EachChild(a[0], kind, [&](PyObject* key, PyObject* child) {
        const Object name = key ? Object::Share(key) : Object::Steal(PyLong_FromSsize_t(i));
        ++i;
        const Object pair = Object::Steal(name ? PyTuple_Pack(2, name.get(), child) : nullptr);
        return pair && PyList_Append(list.get(), pair.get()) == 0;
      });
  return good ? list.release() : nullptr;
}

FZ_FAST(KindOfClass) {
  FZ_ARGS(1, "kind_of(cls, /)");
  if (!PyType_Check(a[0])) return Raise(TypeError("[tree] needs a class."));
  Object names;
  const Container kind = KindOfInstances(reinterpret_cast<PyTypeObject*>(a[0]), &names);
  return Py_BuildValue("iO", static_cast<int>(kind), names ? names.get() : Py_None);
}

FZ_FAST(RegisterNode) {
  FZ_ARGS(3, "register_pytree_node(cls, flatten, unflatten, /)");
  if (!Register(a[0], a[1], a[2])) return nullptr;
  Py_RETURN_NONE;
}

// What may come from a damaged file is checked here.
bool ReadNode(PyObject* row, TreeNode* node) {
  int kind;
  PyObject *type, *keys, *rest;
  if (!PyArg_ParseTuple(row, "inOOO", &kind, &node->children, &type, &keys, &rest)) return false;
  node->kind = static_cast<Container>(kind);
  const auto take = [](PyObject* o) { return o == Py_None ? Object() : Object::Share(o); };
  node->type = take(type);
  node->keys = take(keys);
  node->rest = take(rest);
  if (node->kind == Container::kRegistered) node->rest = Object::Share(rest);
  if (kind < 0 || node->kind > Container::kRegistered) return false;
  const bool needs_keys = node->kind == Container::kDict || node->kind == Container::kDataclass;
  const bool needs_type = node->kind >= Container::kDataclass;
  return node->children >= 0 && (!node->type || PyType_Check(type)) &&
         (!needs_type || node->type) &&
         (!needs_keys ||
          (node->keys && PyTuple_Check(keys) && PyTuple_GET_SIZE(keys) == node->children)) &&
         (node->kind != Container::kRegistered ||
          RegistrationOf(reinterpret_cast<PyTypeObject*>(type))) &&
         (!node->rest || node->kind == Container::kRegistered || PyDict_Check(rest));
}

FZ_FAST(FromNodes) {
  FZ_ARGS(1, "from_nodes(nodes, /)");
  Tree tree;
  const Object rows = Object::Steal(PySequence_Tuple(a[0]));
  if (!rows) return nullptr;
  Py_ssize_t open = 1;  // how many nodes are to come
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows.get()); ++i) {
    TreeNode node;
    PyObject* row = PyTuple_GET_ITEM(rows.get(), i);
    if (!PyTuple_Check(row) || !ReadNode(row, &node) || open == 0) {
      if (PyErr_Occurred()) return nullptr;
      return Raise(ValueError("[tree] node ", i, " of the structure is none."));
    }
    open += node.children - 1;
    tree.leaves += node.kind == Container::kLeaf;
    tree.has_modules |= node.kind == Container::kModule;
    tree.nodes.push_back(std::move(node));
  }
  if (open != 0) return Raise(ValueError("[tree] the structure lacks ", open, " nodes."));
  return NewStructure(std::move(tree));
}

}  // namespace

std::vector<FunctionRow> TreeFunctions() {
  return {
      {"flatten(tree, /, is_leaf=None)", "The leaves of a nest in order, and its structure.",
       FlattenTree},
      {"leaves(tree, /, is_leaf=None)", "The leaves of a nest in order.", Leaves},
      {"is_container(object, /)", "Whether a nest is looked into there.", IsContainer},
      {"children(object, /)",
       "(name, child) for each child of a container, in order; None for a leaf.", Children},
      {"kind_of(cls, /)", "The kind of a class's instances, and the names of fields or None.",
       KindOfClass},
      {"register_pytree_node(cls, flatten, unflatten, /)", "Makes a class a container.",
       RegisterNode},
      {"from_nodes(nodes, /)", "The structure of such nodes, as Structure._nodes() gives them.",
       FromNodes},
  };
}

}  // namespace frazil::python
