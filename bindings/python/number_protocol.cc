// The tensor's number slots: operators, their in-place forms, truth and conversion to Python
// numbers.
#include <cmath>

#include "autograd/grad.h"
#include "bindings/python/autocast.h"
#include "bindings/python/convert.h"
#include "bindings/python/item.h"
#include "bindings/python/proof/watch.h"
#include "core/functions/composites.h"
#include "core/functions/ops.h"
#include "core/functions/replace.h"
#include "jit/eager/eager.h"
#include "tracer/trace.h"

namespace frazil::python {
namespace {

using BinaryFunction = Tensor (*)(const Arg&, const Arg&);

template <OpId op>
Tensor Call(const Arg& a, const Arg& b) {
  if constexpr (op == OpId::k_matmul) {
    return ops::matmul(a, b);
  } else {
    return ops::Binary(op, a, b);
  }
}

// A float, or an int that a double holds.
bool IsExactNumber(PyObject* o, double* out) {
  if (PyFloat_CheckExact(o)) {
    *out = PyFloat_AS_DOUBLE(o);
    return true;
  }
  if (!PyLong_CheckExact(o)) return false;
  int overflow = 0;
  const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
  *out = static_cast<double>(v);
  return overflow == 0 && v >= -(1LL << 53) && v <= 1LL << 53;
}

// What has been done before takes few instructions.
template <OpId op>
Value* TryBinary(PyObject* a, PyObject* b) {
  const bool first = IsTensor(a);
  if (first && IsTensor(b)) return TryApply(op, CellOf(a), CellOf(b));
  if (op == OpId::k_matmul) return nullptr;
  double number;
  if (!IsExactNumber(first ? b : a, &number)) return nullptr;
  return ops::TryNumber(op, CellOf(first ? a : b), number, !first);
}

// With the error of an operand set: whether the answer is nevertheless that the other kind of
// object may know. A list of strings is no array, and equal to none.
template <OpId op>
bool IsNoArray(PyObject* other) {
  constexpr bool equality = op == OpId::k_equal || op == OpId::k_not_equal;
  if (!equality || !IsNest(other) || !PyErr_ExceptionMatches(PyExc_TypeError)) return false;
  PyErr_Clear();
  return true;
}

// A number that moves from call to call is an operand like a tensor while a call is learnt from.
// Null without an error if neither is one.
template <OpId op>
PyObject* BinaryMoving(PyObject* a, PyObject* b) {
  const bool first = IsTensor(a);
  if (first == IsTensor(b) || op == OpId::k_pow || op == OpId::k_matmul) return nullptr;
  const Tensor& tensor = CellOf(first ? a : b);
  if (!tensor.ok() || !IsFloat(tensor.dtype()) || !Accepts(Info(op).types, tensor.dtype()))
    return nullptr;
  const Tensor* number = g_following->Operand(first ? b : a, tensor.dtype());
  if (!number) return nullptr;
  return Wrap(first ? Apply(op, {&tensor, number}) : Apply(op, {number, &tensor}));
}

// An operator of operands that autocast converts.
template <OpId op>
PyObject* BinaryCast(PyObject* a, PyObject* b);

template <OpId op>
PyObject* Binary(PyObject* a, PyObject* b) {
  if constexpr (op == OpId::k_matmul || op == OpId::k_pow) {
    if (__builtin_expect(t_autocast.on, 0)) return BinaryCast<op>(a, b);
  }
  if (__builtin_expect(g_following != nullptr, 0)) {
    if (PyObject* result = BinaryMoving<op>(a, b)) return result;
    if (PyErr_Occurred()) return nullptr;
  }
  if (Value* known = TryBinary<op>(a, b)) return Wrap(known);
  if (IsTensor(a) && IsTensor(b)) return Wrap(Call<op>(CellOf(a), CellOf(b)));
  const char* name = Info(op).name.data();
  // A text would try to repeat itself.
  const bool strict = op == OpId::k_multiply &&
                      (PyUnicode_Check(IsTensor(a) ? b : a) || PyBytes_Check(IsTensor(a) ? b : a));
  Operand x, y;
  if (!x.Load(a, name, strict, b) || !y.Load(b, name, strict, a)) {
    if (PyErr_Occurred() && !IsNoArray<op>(IsTensor(a) ? b : a)) return nullptr;
    Py_RETURN_NOTIMPLEMENTED;
  }
  return Wrap(Call<op>(x.arg(), y.arg()));
}

template <OpId op>
PyObject* BinaryCast(PyObject* a, PyObject* b) {
  const CastRule rule = RuleNow(Info(op).name);
  const WithoutAutocast off;
  const Object x = Object::Steal(CastObject(rule, a)), y = Object::Steal(CastObject(rule, b));
  return x && y ? Binary<op>(x.get(), y.get()) : nullptr;
}

}  // namespace

bool Assign(std::string_view op, Tensor* cell, Tensor result) {
  const auto fitted = ops::Fitted(op, *cell, std::move(result));
  if (!fitted.ok()) {
    Raise(fitted.status());
    return false;
  }
  if (__builtin_expect(t_example_writes != nullptr, 0)) NoteExampleWrite(cell, *fitted);
  NoteWrite(cell);
  ops::Replace(cell, *fitted);
  return true;
}

namespace {

template <OpId op>
PyObject* Inplace(PyObject* a, PyObject* b) {
  const char* name = Info(op).name.data();
  Operand y;
  if (!y.Load(b, name, false, a)) {
    if (PyErr_Occurred()) return nullptr;
    Py_RETURN_NOTIMPLEMENTED;
  }
  Tensor& cell = CellOf(a);
  const bool kept =
      op == OpId::k_matmul || ops::IsKept(cell) || (y.tensor() && NeedsGrad(State(), *y.tensor()));
  if (kept) return Assign(Info(op).name, &cell, Call<op>(cell, y.arg())) ? Py_NewRef(a) : nullptr;
  Tensor result;
  {
    const jit::OverwriteScope spent(cell.value());
    result = Call<op>(cell, y.arg());
  }
  return Assign(Info(op).name, &cell, std::move(result)) ? Py_NewRef(a) : nullptr;
}

PyObject* Power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) return Raise(TypeError("[pow] takes no modulus."));
  return Binary<OpId::k_pow>(a, b);
}
PyObject* InplacePower(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) return Raise(TypeError("[pow] takes no modulus."));
  return Inplace<OpId::k_pow>(a, b);
}

template <OpId op>
PyObject* Unary(PyObject* a) {
  if (Value* known = TryApply(op, CellOf(a))) return Wrap(known);
  return Wrap(ops::Unary(op, CellOf(a)));
}
PyObject* Positive(PyObject* a) { return Wrap(CellOf(a)); }

PyObject* Divmod(PyObject* a, PyObject* b) {
  Object quotient = Object::Steal(Binary<OpId::k_floor_divide>(a, b));
  if (!quotient || quotient.get() == Py_NotImplemented) return quotient.release();
  Object rest = Object::Steal(Binary<OpId::k_remainder>(a, b));
  return rest ? PyTuple_Pack(2, quotient.get(), rest.get()) : nullptr;
}

int Truth(PyObject* self) {
  const Tensor& x = CellOf(self);
  if (x.size() != 1) {
    return RaiseInt(ValueError("[bool] the truth value of ", Describe(x), " (", x.size(),
                               " elements) is ambiguous: use any() or all()."));
  }
  // To a trace it is a bool that is read: other numbers of that truth are no other way.
  if (tracer::Inside() && !IsBool(x.dtype())) {
    const Tensor zero = ops::scalar(Scalar::Int(0), x.dtype());
    const Tensor truth = Apply(OpId::k_not_equal, {&x, &zero});
    if (!truth.ok()) return RaiseInt(truth.status());
    Object item = Object::Steal(Item(truth, "bool"));
    return item ? PyObject_IsTrue(item.get()) : -1;
  }
  Object item = Object::Steal(Item(x, "bool"));
  return item ? PyObject_IsTrue(item.get()) : -1;
}
PyObject* Int(PyObject* self) {
  Object item = Object::Steal(Item(CellOf(self), "int"));
  return item ? PyNumber_Long(item.get()) : nullptr;
}
PyObject* Float(PyObject* self) {
  Object item = Object::Steal(Item(CellOf(self), "float"));
  return item ? PyNumber_Float(item.get()) : nullptr;
}
PyObject* Index(PyObject* self) {
  const Tensor& x = CellOf(self);
  if (!IsInt(x.dtype()) || x.rank() != 0) {
    return Raise(TypeError("[index] only 0-d integer tensors are indices, got ", Describe(x), "."));
  }
  return Item(x, "index");
}

}  // namespace

constinit PyNumberMethods number_protocol = [] {
  PyNumberMethods n = {};
  n.nb_add = Binary<OpId::k_add>;
  n.nb_subtract = Binary<OpId::k_subtract>;
  n.nb_multiply = Binary<OpId::k_multiply>;
  n.nb_true_divide = Binary<OpId::k_divide>;
  n.nb_floor_divide = Binary<OpId::k_floor_divide>;
  n.nb_remainder = Binary<OpId::k_remainder>;
  n.nb_divmod = Divmod;
  n.nb_power = Power;
  n.nb_matrix_multiply = Binary<OpId::k_matmul>;
  n.nb_and = Binary<OpId::k_bitwise_and>;
  n.nb_or = Binary<OpId::k_bitwise_or>;
  n.nb_xor = Binary<OpId::k_bitwise_xor>;
  n.nb_lshift = Binary<OpId::k_bitwise_left_shift>;
  n.nb_rshift = Binary<OpId::k_bitwise_right_shift>;
  n.nb_inplace_add = Inplace<OpId::k_add>;
  n.nb_inplace_subtract = Inplace<OpId::k_subtract>;
  n.nb_inplace_multiply = Inplace<OpId::k_multiply>;
  n.nb_inplace_true_divide = Inplace<OpId::k_divide>;
  n.nb_inplace_floor_divide = Inplace<OpId::k_floor_divide>;
  n.nb_inplace_remainder = Inplace<OpId::k_remainder>;
  n.nb_inplace_power = InplacePower;
  n.nb_inplace_matrix_multiply = Inplace<OpId::k_matmul>;
  n.nb_inplace_and = Inplace<OpId::k_bitwise_and>;
  n.nb_inplace_or = Inplace<OpId::k_bitwise_or>;
  n.nb_inplace_xor = Inplace<OpId::k_bitwise_xor>;
  n.nb_inplace_lshift = Inplace<OpId::k_bitwise_left_shift>;
  n.nb_inplace_rshift = Inplace<OpId::k_bitwise_right_shift>;
  n.nb_negative = Unary<OpId::k_negative>;
  n.nb_positive = Positive;
  n.nb_absolute = Unary<OpId::k_abs>;
  n.nb_invert = Unary<OpId::k_bitwise_invert>;
  n.nb_bool = Truth;
  n.nb_int = Int;
  n.nb_float = Float;
  n.nb_index = Index;
  return n;
}();

PyObject* CompareTensors(PyObject* a, PyObject* b, int op) {
  switch (op) {
    case Py_EQ:
      return Binary<OpId::k_equal>(a, b);
    case Py_NE:
      return Binary<OpId::k_not_equal>(a, b);
    case Py_LT:
      return Binary<OpId::k_less>(a, b);
    case Py_LE:
      return Binary<OpId::k_less_equal>(a, b);
    case Py_GT:
      return Binary<OpId::k_greater>(a, b);
    default:
      return Binary<OpId::k_greater_equal>(a, b);
  }
}

}  // namespace frazil::python
