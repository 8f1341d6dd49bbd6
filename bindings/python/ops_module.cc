// Module functions of the op table's elementwise and reduction rows and of the composites that look
// like them.
#include "bindings/python/convert.h"
#include "bindings/python/functions.h"
#include "bindings/python/held.h"
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

void AddRows(std::vector<FunctionRow>* rows) {
  using namespace traits;
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

// -- Composites of the same forms

template <OpName name, Tensor (*function)(const Tensor&)>
PyObject* UnaryComposite(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  FZ_ARGS(1, std::string(name.text) + "(x, /)");
  Tensor own;
  const Tensor* x = HeldTensor(a[0], name.text, &own);
  return x ? Wrap(function(*x)) : nullptr;
}

template <OpName name, Tensor (*function)(const Arg&, const Arg&)>
PyObject* BinaryComposite(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  FZ_ARGS(2, std::string(name.text) + "(x1, x2, /)");
  Operand x, y;
  if (!x.Load(a[0], name.text, true, a[1]) || !y.Load(a[1], name.text, true, a[0])) return nullptr;
  return Wrap(function(x.arg(), y.arg()));
}

using SpreadFunction = Tensor (*)(const Tensor& x, const Axes& axes, double correction,
                                  bool keepdims);

template <OpName name, SpreadFunction function>
PyObject* Spread(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  FZ_ARGS(5,
          std::string(name.text) + "(x, /, axis=None, *, correction=0.0, ddof=0, keepdims=False)");
  Tensor own;
  const Tensor* x = HeldTensor(a[0], name.text, &own);
  Axes axes;
  double correction;
  bool keepdims;
  if (!x || !ToAxes(a[1], name.text, &axes) || !ToCorrection(a[2], a[3], name.text, &correction) ||
      !ToBool(a[4], name.text, "keepdims", false, &keepdims)) {
    return nullptr;
  }
  return Wrap(function(*x, axes, correction, keepdims));
}

// The doc line of a row of composites.def.
std::string Doc(CompositeId id) { return std::string(Info(id).doc); }

void AddComposites(std::vector<FunctionRow>* rows) {
  const std::string reduction = "(x, /, axis=None, *, keepdims=False)";
  const std::string ddof = " ddof is NumPy's name of correction.";
  const std::string spread = "(x, /, axis=None, *, correction=0.0, ddof=0, keepdims=False)";
  rows->insert(rows->end(),
               {{"mean" + reduction, Doc(CompositeId::k_mean), Reduction<"mean", ops::mean>},
                {"logsumexp" + reduction, Doc(CompositeId::k_logsumexp),
                 Reduction<"logsumexp", ops::logsumexp>},
                {"var" + spread, Doc(CompositeId::k_var) + ddof, Spread<"var", ops::var>},
                {"std" + spread, Doc(CompositeId::k_std) + ddof, Spread<"std", ops::std>},
                {"square(x, /)", Doc(CompositeId::k_square), UnaryComposite<"square", ops::square>},
                {"reciprocal(x, /)", Doc(CompositeId::k_reciprocal),
                 UnaryComposite<"reciprocal", ops::reciprocal>},
                {"rsqrt(x, /)", Doc(CompositeId::k_rsqrt), UnaryComposite<"rsqrt", ops::rsqrt>},
                {"clip(x, /, min=None, max=None)", Doc(CompositeId::k_clip), ClipFunction},
                {"logical_and(x1, x2, /)", "True where both are true (not zero).",
                 BinaryComposite<"logical_and", ops::logical_and>},
                {"logical_or(x1, x2, /)", "True where either is true (not zero).",
                 BinaryComposite<"logical_or", ops::logical_or>},
                {"logical_xor(x1, x2, /)", "True where exactly one is true (not zero).",
                 BinaryComposite<"logical_xor", ops::logical_xor>},
                {"logical_not(x, /)", "True where x is false (zero).",
                 UnaryComposite<"logical_not", ops::logical_not>}});
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

FZ_FAST(ClipFunction) {
  FZ_ARGS(3, "clip(x, /, min=None, max=None)");
  Tensor own;
  const Tensor* x = HeldTensor(a[0], "clip", &own);
  if (!x) return nullptr;
  Tensor out = *x;
  for (int i = 0; i < 2; ++i) {
    Operand bound;
    if (!Given(a[1 + i])) continue;
    if (!bound.Load(a[1 + i], "clip", true, a[0])) return nullptr;
    if (!bound.tensor()) {
      out = i == 0 ? ops::clip(out, bound.scalar(), {}) : ops::clip(out, {}, bound.scalar());
    } else {
      out = i == 0 ? ops::maximum(out, bound.arg()) : ops::minimum(out, bound.arg());
    }
  }
  return Wrap(std::move(out));
}

std::vector<FunctionRow> OpFunctions() {
  std::vector<FunctionRow> rows;
  AddRows(&rows);
  AddComposites(&rows);
  AddAliases(&rows);
  return rows;
}

}  // namespace frazil::python
