// Numbers: Python ints and floats that change from call to call (a counter, a schedule's rate), and
// what a body computes from them, as a program of its own: a call that skips its body runs that
// program first. Its values become operands of ops (as parameters of the script), parts of the
// result, and what is written to attributes; where anything else asked for a value (a branch, an
// index, a shape), the value is part of the call's key: it is *pinned*.
//
// It belongs to one traced function and grows while its calls are watched (proof/watch.h). Leaves
// are the moving numbers of a nest (bindings/python/nest.h) by their place in it. Nodes are computed
// by Python itself, so that they are what the body would compute. Called by watch.cc, which adds,
// and by promised.cc, which computes. Invariant: what a node means never changes, only that there
// are more.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/python/nest.h"

namespace frazil::python {

class Numbers {
 public:
  enum class Kind : uint8_t { kLeaf, kConstant, kBinary, kUnary, kCompare, kTruth, kCall, kSum };

  int Leaf(size_t place);
  int Constant(PyObject* number);
  // `how`: the argument of the instruction BINARY_OP (its in-place forms count as the others), the
  // opcode of a unary instruction, Py_LT and the like.
  int Binary(int how, int a, int b);
  int Unary(int how, int a);
  int Compare(int how, int a, int b);
  int Truth(int a);
  // A function that depends on its arguments alone.
  int Call(PyObject* function, const std::vector<int>& arguments);

  // sum(), given a tuple of numbers.
  int Sum(PyObject* function, const std::vector<int>& numbers);

  // From now on a part of the key.
  void Pin(int node, const std::string& where);
  // An operand of this dtype: its number among the script's last parameters.
  int Use(int node, DType dtype);
  const std::vector<std::pair<int, DType>>& uses() const { return uses_; }
  bool empty() const { return nodes_.empty(); }
  int64_t changes() const { return changes_; }  // of what is pinned or used
  void Clear();
  // Where values of numbers that change were asked for, a line each.
  std::string Describe() const;

  // Computes all nodes from the nest's moving numbers and adds what is pinned to its words and what
  // is used to its cells. False if something cannot be computed: the body has to run.
  bool Compute(Nest* nest) const;

 private:
  struct Node {
    Kind kind;
    int how = 0;
    std::vector<int> operands;
    Object object;  // the constant, or the function

    bool operator<(const Node& o) const {
      return std::tuple(kind, how, operands, object.get()) <
             std::tuple(o.kind, o.how, o.operands, o.object.get());
    }
  };
  int Add(Node node);
  static Object Compute(const Node& node, const std::vector<Object>& values, const Nest& nest);

  std::vector<Node> nodes_;
  std::map<Node, int> known_;
  std::map<std::pair<PyTypeObject*, uint64_t>, int> constants_;  // by their bits
  std::vector<std::pair<int, std::string>> pinned_;  // and where its value was asked for
  std::vector<std::pair<int, DType>> uses_;
  int64_t changes_ = 0;
};

// An object of its own with the same value: no other int or float is it.
Object UniqueCopy(PyObject* number);

// The one object that Python has of a small int; the number itself if there may be several.
Object SharedNumber(PyObject* number);

// A double that is exactly the number, in the dtype of an operand. False if there is none.
bool OperandBits(PyObject* number, DType dtype, uint64_t* bits);

}  // namespace frazil::python
