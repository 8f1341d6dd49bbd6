// Nested structures (pytrees) apart and together again: a list of leaves, and a structure that says
// how they were held. Called by tree_type.cc and tree_module.cc: fz.tree, and over it gradients,
// optimizers and files. Modules are walked by EachChild (container.h) alone, since a parameter that
// is held twice is one. Invariant: what Build makes of a structure and the leaves that Flatten
// found has the same types, keys in the same order and the same state besides; no __init__ runs.
//
// None has no leaves; everything that is no container is a leaf. What is held in two places is two
// leaves. The attributes of a module that hold no tensor, and what a dataclass or an instance of a
// subclass of tuple, list or dict has besides its children, belong to the structure.
#pragma once

#include <string>
#include <vector>

#include "bindings/python/container.h"

namespace frazil::python {

struct TreeNode {
  Container kind = Container::kLeaf;
  Py_ssize_t children = 0;
  Object type;  // null for a tuple, a list and a dict proper
  Object keys;  // of children that have some: a tuple, or null
  Object rest;  // a dict of other attributes, or null; of a registered class its data
};

struct Tree {
  std::vector<TreeNode> nodes;  // each before its children, which come in order
  Py_ssize_t leaves = 0;
  bool has_modules = false;
};

// Appends the leaves to a list. `is_leaf` (may be null) is asked what is a leaf besides. False with
// a Python error.
bool Flatten(PyObject* object, PyObject* is_leaf, PyObject* leaves, Tree* tree);
// Appends what another object holds in the places of the tree's leaves. ValueError, with the path,
// where the two differ.
bool FlattenUpTo(const Tree& tree, PyObject* object, PyObject* leaves);
// The object with these leaves, as many as there are. Null with a Python error.
Object Build(const Tree& tree, PyObject* const* leaves);

// The path of each leaf: "['layers'][1].weight".
std::vector<std::string> Paths(const Tree& tree);
// One step of a path: that of the i-th child, with its key or null, of such a container.
std::string Step(Container kind, PyObject* key, Py_ssize_t i);
std::string NameOf(const TreeNode& node);
// repr(o), "?" where it fails.
std::string Repr(PyObject* o);

}  // namespace frazil::python
