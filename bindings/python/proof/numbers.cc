#include "bindings/python/proof/numbers.h"

#include <opcode.h>

#include <algorithm>
#include <bit>

#include "bindings/python/nest_words.h"
#include "core/promote.h"

namespace frazil::python {
namespace {

// By the argument of BINARY_OP (NB_ADD ... of CPython's opcode.h).
using BinaryFunction = PyObject* (*)(PyObject*, PyObject*);
PyObject* Power(PyObject* a, PyObject* b) { return PyNumber_Power(a, b, Py_None); }
constexpr BinaryFunction kBinary[] = {
    PyNumber_Add,      PyNumber_And,        PyNumber_FloorDivide, PyNumber_Lshift, nullptr,
    PyNumber_Multiply, PyNumber_Remainder,  PyNumber_Or,          Power,           PyNumber_Rshift,
    PyNumber_Subtract, PyNumber_TrueDivide, PyNumber_Xor};

constexpr long long kSmallest = -5, kLargest = 256;  // there is one object of each of these ints

// Ints of up to 64 bits: a power or a shift of more is not computed, as its size has no bound.
bool IsBounded(int how, PyObject* a, PyObject* b) {
  constexpr long kMost = 64;
  if ((how != NB_LSHIFT && how != NB_POWER) || !PyLong_Check(a) || !PyLong_Check(b)) return true;
  int overflow = 0;
  const long times = PyLong_AsLongAndOverflow(b, &overflow);
  return !overflow && times <= kMost;
}

bool IsNumber(PyObject* o) {
  if (PyFloat_CheckExact(o) || PyBool_Check(o)) return true;
  if (!PyLong_CheckExact(o)) return false;
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(o, &overflow);
  return overflow == 0;
}

}  // namespace

int Numbers::Add(Node node) {
  const auto [it, fresh] = known_.try_emplace(node, static_cast<int>(nodes_.size()));
  if (fresh) nodes_.push_back(std::move(node));
  return it->second;
}

int Numbers::Leaf(size_t place) { return Add({Kind::kLeaf, static_cast<int>(place), {}, {}}); }

// Equal constants are one node, whatever objects they are.
int Numbers::Constant(PyObject* number) {
  int overflow = 0;
  const bool is_float = PyFloat_CheckExact(number);
  const uint64_t bits =
      is_float ? std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(number))
               : static_cast<uint64_t>(PyLong_AsLongLongAndOverflow(number, &overflow));
  if (overflow) return Add({Kind::kConstant, 0, {}, Object::Share(number)});
  const auto [it, fresh] = constants_.try_emplace({Py_TYPE(number), bits}, 0);
  if (fresh) it->second = Add({Kind::kConstant, 0, {}, Object::Share(number)});
  return it->second;
}

int Numbers::Binary(int how, int a, int b) {
  return Add({Kind::kBinary, how % NB_INPLACE_ADD, {a, b}, {}});
}
int Numbers::Unary(int how, int a) { return Add({Kind::kUnary, how, {a}, {}}); }
int Numbers::Compare(int how, int a, int b) { return Add({Kind::kCompare, how, {a, b}, {}}); }
int Numbers::Truth(int a) { return Add({Kind::kTruth, 0, {a}, {}}); }
int Numbers::Call(PyObject* function, const std::vector<int>& arguments) {
  return Add({Kind::kCall, 0, arguments, Object::Share(function)});
}

int Numbers::Sum(PyObject* function, const std::vector<int>& numbers) {
  return Add({Kind::kSum, 0, numbers, Object::Share(function)});
}

void Numbers::Pin(int node, const std::string& where) {
  for (const auto& [known, first] : pinned_) {
    if (known == node) return;
  }
  pinned_.emplace_back(node, where);
  ++changes_;
}

int Numbers::Use(int node, DType dtype) {
  const std::pair<int, DType> use(node, dtype);
  const auto it = std::find(uses_.begin(), uses_.end(), use);
  if (it != uses_.end()) return static_cast<int>(it - uses_.begin());
  uses_.push_back(use);
  ++changes_;
  return static_cast<int>(uses_.size()) - 1;
}

void Numbers::Clear() {
  nodes_.clear();
  known_.clear();
  constants_.clear();
  pinned_.clear();
  uses_.clear();
  ++changes_;
}

std::string Numbers::Describe() const {
  std::string out;
  for (const auto& [node, where] : pinned_) {
    const Kind kind = nodes_[static_cast<size_t>(node)].kind;
    const bool compared = kind == Kind::kCompare || kind == Kind::kTruth;
    StrAppend(&out, where, compared ? ": compares" : ": asks for the value of",
              " a number that changes\n");
  }
  return out;
}

Object Numbers::Compute(const Node& node, const std::vector<Object>& values, const Nest& nest) {
  const auto operand = [&](size_t i) {
    return values[static_cast<size_t>(node.operands[i])].get();
  };
  for (const int i : node.operands) {
    if (!values[static_cast<size_t>(i)]) return Object();
  }
  switch (node.kind) {
    case Kind::kLeaf: {
      const auto place = static_cast<size_t>(node.how);
      return place < nest.moving.size() ? Object::Share(nest.moving.span()[place].object)
                                        : Object();
    }
    case Kind::kConstant:
      return Object(node.object);
    case Kind::kBinary:
      if (!IsBounded(node.how, operand(0), operand(1))) return Object();
      return Object::Steal(kBinary[node.how](operand(0), operand(1)));
    case Kind::kUnary:
      switch (node.how) {
        case UNARY_NEGATIVE:
          return Object::Steal(PyNumber_Negative(operand(0)));
        case UNARY_INVERT:
          return Object::Steal(PyNumber_Invert(operand(0)));
        default:
          return Object::Steal(PyNumber_Positive(operand(0)));
      }
    case Kind::kCompare:
      return Object::Steal(PyObject_RichCompare(operand(0), operand(1), node.how));
    case Kind::kTruth:
      return Object::Steal(PyBool_FromLong(PyObject_IsTrue(operand(0))));
    case Kind::kSum: {
      const Object numbers =
          Object::Steal(PyTuple_New(static_cast<Py_ssize_t>(node.operands.size())));
      for (size_t i = 0; numbers && i < node.operands.size(); ++i)
        PyTuple_SET_ITEM(numbers.get(), static_cast<Py_ssize_t>(i), Py_NewRef(operand(i)));
      return Object::Steal(numbers ? PyObject_CallOneArg(node.object.get(), numbers.get())
                                   : nullptr);
    }
    case Kind::kCall: {
      std::vector<PyObject*> arguments;
      for (size_t i = 0; i < node.operands.size(); ++i) arguments.push_back(operand(i));
      return Object::Steal(
          PyObject_Vectorcall(node.object.get(), arguments.data(), arguments.size(), nullptr));
    }
  }
  return Object();
}

bool Numbers::Compute(Nest* nest) const {
  std::vector<Object>& values = nest->numbers;
  values.reserve(nodes_.size());
  // What only another branch computes may fail here.
  for (const Node& node : nodes_) {
    Object value = Compute(node, values, *nest);
    if (!value) PyErr_Clear();
    if (!value || !IsNumber(value.get())) {  // two calls are alike only if the same fail
      nest->words.push_back(Word(kOpen, values.size()));
      value = Object();
    }
    values.push_back(std::move(value));
  }
  for (const auto& [node, where] : pinned_) {
    const Object& value = values[static_cast<size_t>(node)];
    if (!value) {
      nest->words.push_back(Word(kOpen));
    } else if (!nest->Add(value.get())) {
      return PyErr_Clear(), false;
    }
  }
  nest->operands.reserve(uses_.size());
  for (const auto& [node, dtype] : uses_) {
    const Object& value = values[static_cast<size_t>(node)];
    uint64_t bits = 0;
    // A use that cannot be computed is one of another branch, or the body raises there.
    const bool computed = value && OperandBits(value.get(), dtype, &bits);
    nest->words.push_back(Word(computed ? kTrue : kOpen));
    if (computed) {
      nest->operands.emplace_back(Value::Immediate(dtype, bits));
    } else {
      nest->operands.emplace_back();
      // A number that is no operand, as no float holds it, is a constant of the program.
      if (value && !nest->Add(value.get())) return PyErr_Clear(), false;
    }
  }
  for (Tensor& operand : nest->operands) nest->cells.push_back(&operand);
  return true;
}

bool OperandBits(PyObject* number, DType dtype, uint64_t* bits) {
  constexpr long long kExact = 1LL << 53;
  double value = 0;
  if (PyFloat_CheckExact(number)) {
    value = PyFloat_AS_DOUBLE(number);
  } else {
    if (!PyLong_CheckExact(number)) return false;
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow || v < -kExact || v > kExact) return false;
    value = static_cast<double>(v);
  }
  *bits = BitsOf(dtype, value);
  return true;
}

Object SharedNumber(PyObject* number) {
  int overflow = 0;
  const long long v =
      PyLong_CheckExact(number) ? PyLong_AsLongLongAndOverflow(number, &overflow) : kLargest + 1;
  const bool shared = !overflow && v >= kSmallest && v <= kLargest;
  return shared ? Object::Steal(PyLong_FromLongLong(v)) : Object::Share(number);
}

Object UniqueCopy(PyObject* number) {
  if (PyFloat_CheckExact(number))
    return Object::Steal(PyFloat_FromDouble(PyFloat_AS_DOUBLE(number)));
  int overflow = 0;
  const long long v = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow) return Object();
  if (v < kSmallest || v > kLargest) return Object::Steal(PyLong_FromLongLong(v));
  PyLongObject* copy = _PyLong_New(1);
  if (!copy) return PyErr_Clear(), Object();
  const auto only = static_cast<digit>(v < 0 ? -v : v);
#if PY_VERSION_HEX < 0x030C0000
  copy->ob_digit[0] = only;
  Py_SET_SIZE(copy, v < 0 ? -1 : v > 0 ? 1 : 0);
#else
  copy->long_value.ob_digit[0] = only;
  constexpr uintptr_t kOneDigit = 1 << 3, kZero = 1, kNegative = 2;
  copy->long_value.lv_tag = v == 0 ? kZero : kOneDigit | (v < 0 ? kNegative : 0);
#endif
  return Object::Steal(reinterpret_cast<PyObject*>(copy));
}

}  // namespace frazil::python
