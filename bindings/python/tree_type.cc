#include "bindings/python/tree_type.h"

#include <utility>

#include "absl/hash/hash.h"

namespace frazil::python {
namespace {

struct PyStructure {
  PyObject_HEAD Tree tree;
};
extern PyTypeObject structure_type;
Tree& Of(PyObject* self) { return reinterpret_cast<PyStructure*>(self)->tree; }

int Traverse(PyObject* self, visitproc visit, void* arg) {
  for (TreeNode& node : Of(self).nodes) {
    Py_VISIT(node.type.get());
    Py_VISIT(node.keys.get());
    Py_VISIT(node.rest.get());
  }
  return 0;
}
int Clear(PyObject* self) {  // what may hold the structure itself; it stays one that can be read
  for (TreeNode& node : Of(self).nodes) {
    if (node.rest) node.rest = Object::Share(Py_None);
  }
  return 0;
}
void Dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  Of(self).~Tree();
  Py_TYPE(self)->tp_free(self);
}

// -1 with a Python error. Attributes that cannot be compared, such as arrays, are different.
int SameRest(const TreeNode& a, const TreeNode& b) {
  PyObject *mine = a.rest.get(), *other = b.rest.get();
  if (mine == other) return 1;
  if (!mine || !other) return 0;
  const int same = PyObject_RichCompareBool(mine, other, Py_EQ);
  if (same >= 0 || a.kind == Container::kRegistered || !PyErr_ExceptionMatches(PyExc_Exception))
    return same;
  PyErr_Clear();
  return 0;
}

int Same(const Tree& a, const Tree& b) {
  if (a.nodes.size() != b.nodes.size() || a.leaves != b.leaves) return 0;
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    const TreeNode &x = a.nodes[i], &y = b.nodes[i];
    if (x.kind != y.kind || x.children != y.children || x.type.get() != y.type.get() ||
        !x.keys != !y.keys)
      return 0;
    int same = x.keys ? PyObject_RichCompareBool(x.keys.get(), y.keys.get(), Py_EQ) : 1;
    if (same > 0) same = SameRest(x, y);
    if (same <= 0) return same;
  }
  return 1;
}

PyObject* Compare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || !IsStructure(b)) Py_RETURN_NOTIMPLEMENTED;
  const int same = Same(Of(a), Of(b));
  return same < 0 ? nullptr : PyBool_FromLong((same != 0) == (op == Py_EQ));
}

Py_hash_t Hash(PyObject* self) {
  size_t hash = 0;
  for (const TreeNode& node : Of(self).nodes) {
    Py_hash_t keys = 0, data = 0;
    if (node.keys && (keys = PyObject_Hash(node.keys.get())) == -1) return -1;
    if (node.kind == Container::kRegistered && (data = PyObject_Hash(node.rest.get())) == -1)
      return -1;
    hash = absl::HashOf(hash, node.kind, node.children, node.type.get(), keys, data);
  }
  return hash == static_cast<size_t>(-1) ? -2 : static_cast<Py_hash_t>(hash);
}

// Writes the node and those below it; returns the one behind them.
const TreeNode* Print(const TreeNode* node, std::string* out) {
  const TreeNode& own = *node++;
  if (own.kind == Container::kLeaf) return *out += "*", node;
  if (own.kind == Container::kNone) return *out += "None", node;
  const bool is_dict = own.kind == Container::kDict, is_list = own.kind == Container::kList;
  if (own.type) *out += NameOf(own);
  if (own.type && (is_dict || is_list)) *out += "(";
  *out += is_dict ? "{" : is_list ? "[" : "(";
  if (own.kind == Container::kRegistered) *out += Repr(own.rest.get()) + ": ";
  const Py_ssize_t named = own.keys ? PyTuple_GET_SIZE(own.keys.get()) : 0;
  for (Py_ssize_t i = 0; i < own.children; ++i) {
    if (i > 0) *out += ", ";
    PyObject* key = i < named ? PyTuple_GET_ITEM(own.keys.get(), i) : nullptr;
    if (key && is_dict) *out += Repr(key) + ": ";
    if (key && !is_dict) *out += Step(own.kind, key, i).substr(1) + "=";
    node = Print(node, out);
  }
  if (own.kind == Container::kTuple && !own.type && own.children == 1) *out += ",";
  *out += is_dict ? "}" : is_list ? "]" : ")";
  if (own.type && (is_dict || is_list)) *out += ")";
  return node;
}

PyObject* Show(PyObject* self) {
  std::string text = "Structure(";
  Print(Of(self).nodes.data(), &text);
  text += ")";
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

PyObject* Unflatten(PyObject* self, PyObject* argument) {
  const Object leaves = Object::Steal(PySequence_Tuple(argument));
  if (!leaves) return nullptr;
  const Tree& tree = Of(self);
  if (PyTuple_GET_SIZE(leaves.get()) != tree.leaves) {
    return Raise(ValueError("[tree.unflatten] the structure has ", tree.leaves, " leaves, got ",
                            PyTuple_GET_SIZE(leaves.get()), "."));
  }
  return Build(tree, PySequence_Fast_ITEMS(leaves.get())).release();
}

PyObject* UpTo(PyObject* self, PyObject* object) {
  Object leaves = Object::Steal(PyList_New(0));
  if (!leaves || !FlattenUpTo(Of(self), object, leaves.get())) return nullptr;
  return leaves.release();
}

PyObject* PathList(PyObject* self, PyObject*) {
  const std::vector<std::string> paths = Paths(Of(self));
  Object list = Object::Steal(PyList_New(0));
  for (const std::string& path : paths) {
    const Object text = Object::Steal(PyUnicode_FromString(path.c_str()));
    if (!list || !text || PyList_Append(list.get(), text.get()) < 0) return nullptr;
  }
  return list.release();
}

// Appends for each leaf whether it lies in a module.
const TreeNode* Mark(const TreeNode* node, bool inside, PyObject* list) {
  const TreeNode& own = *node++;
  if (own.kind == Container::kLeaf) PyList_Append(list, inside ? Py_True : Py_False);
  inside |= own.kind == Container::kModule;
  for (Py_ssize_t i = 0; i < own.children; ++i) node = Mark(node, inside, list);
  return node;
}
PyObject* InModules(PyObject* self, PyObject*) {
  Object list = Object::Steal(PyList_New(0));
  if (list) Mark(Of(self).nodes.data(), false, list.get());
  return PyErr_Occurred() ? nullptr : list.release();
}

PyObject* Nodes(PyObject* self, PyObject*) {
  Object list = Object::Steal(PyList_New(0));
  for (const TreeNode& node : Of(self).nodes) {
    const auto or_none = [](const Object& o) { return o ? o.get() : Py_None; };
    const Object row =
        Object::Steal(Py_BuildValue("inOOO", static_cast<int>(node.kind), node.children,
                                    or_none(node.type), or_none(node.keys), or_none(node.rest)));
    if (!list || !row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
}

PyObject* NumLeaves(PyObject* self, void*) { return PyLong_FromSsize_t(Of(self).leaves); }
PyObject* HasModules(PyObject* self, void*) { return PyBool_FromLong(Of(self).has_modules); }

PyMethodDef methods[] = {
    {"unflatten", Unflatten, METH_O,
     "unflatten($self, leaves, /)\n--\n\nThe nest with these leaves."},
    {"flatten_up_to", UpTo, METH_O,
     "flatten_up_to($self, tree, /)\n--\n\nWhat another nest of this structure holds in the places "
     "of the leaves."},
    {"paths", PathList, METH_NOARGS,
     "paths($self, /)\n--\n\nThe path of each leaf, such as \"['layers'][1].weight\"."},
    {"_in_modules", InModules, METH_NOARGS,
     "_in_modules($self, /)\n--\n\nFor each leaf, whether it lies in a module."},
    {"_nodes", Nodes, METH_NOARGS,
     "_nodes($self, /)\n--\n\nKind, number of children, class, keys and rest of each node."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef getset[] = {
    {"num_leaves", NumLeaves, nullptr, "How many leaves there are.", nullptr},
    {"_has_modules", HasModules, nullptr, "Whether there is a module in it.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

constinit PyTypeObject structure_type = [] {
  PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
  t.tp_name = "frazil.tree.Structure";
  t.tp_doc = "How a nest held its leaves.";
  t.tp_basicsize = sizeof(PyStructure);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  t.tp_dealloc = Dealloc;
  t.tp_traverse = Traverse;
  t.tp_clear = Clear;
  t.tp_richcompare = Compare;
  t.tp_hash = Hash;
  t.tp_repr = Show;
  t.tp_methods = methods;
  t.tp_getset = getset;
  return t;
}();

}  // namespace

bool AddStructureType(PyObject* module) {
  return PyType_Ready(&structure_type) >= 0 &&
         PyModule_AddObjectRef(module, "Structure", reinterpret_cast<PyObject*>(&structure_type)) >=
             0;
}
bool IsStructure(PyObject* o) { return Py_IS_TYPE(o, &structure_type); }
const Tree& TreeOf(PyObject* structure) { return Of(structure); }

PyObject* NewStructure(Tree tree) {
  auto* self = PyObject_GC_New(PyStructure, &structure_type);
  if (!self) return nullptr;
  new (&self->tree) Tree(std::move(tree));
  PyObject_GC_Track(self);
  return reinterpret_cast<PyObject*>(self);
}

}  // namespace frazil::python
