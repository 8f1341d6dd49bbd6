// Module functions of the op table's elementwise and reduction rows.
#include "bindings/python/convert.h"
#include "bindings/python/functions.h"
#include "bindings/python/movement.h"
#include "bindings/python/reduce.h"
#include "core/functions/composites.h"

namespace frazil::python {
namespace {

bool OnlyPositional(OpId op, Py_ssize_t nargs, PyObject* kwnames) {
  const OpInfo& info = Info(op);
  if (nargs == info.arity && !kwnames) return true;
  PyErr_Format(PyExc_TypeError, "%s() takes %d positional arguments, got %zd%s",
               std::string(info.name).c_str(), info.arity, nargs, kwnames ? " and keywords" : "");
  return false;
}

template <OpId op>
PyObject* UnaryRow(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  if (!OnlyPositional(op, nargs, kwnames)) return nullptr;
  if (IsTensor(args[0])) {
    if (Value* known = TryApply(op, CellOf(args[0]))) return Wrap(known);
  }
  Tensor own;
  const Tensor* x = TensorOf(args[0], Info(op).name.data(), &own);
  return x ? Wrap(ops::Unary(op, *x)) : nullptr;
}

template <OpId op>
PyObject* BinaryRow(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  if (!OnlyPositional(op, nargs, kwnames)) return nullptr;
  if (IsTensor(args[0]) && IsTensor(args[1])) {
    if (Value* known = TryApply(op, CellOf(args[0]), CellOf(args[1]))) return Wrap(known);
  }
  Operand x, y;
  const char* name = Info(op).name.data();
  if (!x.Load(args[0], name, true, args[1]) || !y.Load(args[1], name, true, args[0]))
    return nullptr;
  return Wrap(ops::Binary(op, x.arg(), y.arg()));
}

template <OpId op>
PyObject* TernaryRow(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static_assert(op == OpId::k_where);
  const ErrorName error_name("where");
  if (nargs == 1 && !kwnames) return MoveNonzero(nullptr, args, 1, nullptr);
  if (!OnlyPositional(op, nargs, kwnames)) return nullptr;
  Operand c, x, y;
  if (!c.Load(args[0], "where", true, args[1]) || !x.Load(args[1], "where", true, args[2]) ||
      !y.Load(args[2], "where", true, args[1])) {
    return nullptr;
  }
  return Wrap(ops::where(c.arg(), x.arg(), y.arg()));
}

FZ_FAST(Complex) {
  FZ_ARGS(2, "complex(x1, x2, /)");
  Operand re, im;
  if (!re.Load(a[0], "complex", true, a[1]) || !im.Load(a[1], "complex", true, a[0]))
    return nullptr;
  return Wrap(ops::complex(re.arg(), im.arg()));
}

void AddRows(std::vector<FunctionRow>* rows) {
  using namespace traits;  // NOLINT: the words of the table
#define FZ_OP(name, ...)
#define FZ_UNARY(name, types, result, forward, saves, gradient, traits, cost, doc, ...) \
  rows->push_back({#name "(x, /)", doc, UnaryRow<OpId::k_##name>});
#define FZ_BINARY(name, types, result, forward, saves, gradient, traits, cost, doc, ...) \
  rows->push_back({#name "(x1, x2, /)", doc, BinaryRow<OpId::k_##name>});
#define FZ_TERNARY(name, types, result, forward, saves, gradient, traits, cost, doc, ...) \
  rows->push_back({#name "(condition, x1, x2, /)", doc, TernaryRow<OpId::k_##name>});
#define FZ_REDUCE(name, types, result, forward, saves, gradient, traits, cost, doc, ...)           \
  rows->push_back((traits)&kWidens                                                                 \
                      ? FunctionRow{#name "(x, /, axis=None, *, dtype=None, keepdims=False)", doc, \
                                    ReductionTo<#name, ops::name>}                                 \
                      : FunctionRow{#name "(x, /, axis=None, *, keepdims=False)", doc,             \
                                    Reduction<#name, ops::name>});
#include "core/ops.def"
}

// NumPy's round has a number of digits; without it, it is the row.
FZ_FAST(Round) {
  if (nargs == 1 && !kwnames) return UnaryRow<OpId::k_round>(nullptr, args, nargs, kwnames);
  FZ_ARGS(2, "round(x, /, decimals=0)");
  int64_t decimals = 0;
  Tensor own;
  const Tensor* x = TensorOf(a[0], "round", &own);
  if (!x || (Given(a[1]) && !ToInt(a[1], "round", "decimals", &decimals))) return nullptr;
  return Wrap(ops::round_to(*x, decimals));
}

void GiveRoundDigits(std::vector<FunctionRow>* rows) {
  for (FunctionRow& row : *rows) {
    if (row.signature != "round(x, /)") continue;
    row = {"round(x, /, decimals=0)",
           "The nearest multiple of 10**-decimals, elementwise; halves to even.", Round};
  }
}

// NumPy's names of rows: the row's function under another name.
void AddAliases(std::vector<FunctionRow>* rows) {
  const std::pair<const char*, const char*> aliases[] = {{"absolute", "abs"},
                                                         {"power", "pow"},
                                                         {"true_divide", "divide"},
                                                         {"mod", "remainder"},
                                                         {"invert", "bitwise_invert"},
                                                         {"left_shift", "bitwise_left_shift"},
                                                         {"right_shift", "bitwise_right_shift"}};
  const size_t n = rows->size();
  for (const auto& [alias, name] : aliases) {
    for (size_t i = 0; i < n; ++i) {
      if ((*rows)[i].signature.compare(0, std::string(name).size() + 1, std::string(name) + "(") !=
          0)
        continue;
      FunctionRow row = (*rows)[i];
      row.name = alias;
      row.doc = StrCat("The same as ", name, ": ", row.doc);
      rows->push_back(std::move(row));
    }
  }
}

}  // namespace

std::vector<FunctionRow> OpFunctions() {
  std::vector<FunctionRow> rows;
  AddRows(&rows);
  GiveRoundDigits(&rows);
  rows.push_back({"complex(x1, x2, /)",
                  "Complex numbers of real parts x1 and imaginary parts x2, elementwise.",
                  Complex});
  AddAliases(&rows);
  return rows;
}

}  // namespace frazil::python
