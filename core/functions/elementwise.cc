// Promotion and scalars for the elementwise rows of the table.
#include "core/check.h"
#include "core/functions/complex.h"
#include "core/functions/composite.h"

namespace frazil::ops {
namespace {

bool IsComparison(OpId op) { return Info(op).result == ResultType::kBool && Info(op).arity == 2; }

bool IsComplex(const Arg& a) {
  return a.tensor() ? frazil::IsComplex(a.tensor()->dtype()) : a.scalar().is_complex();
}

DType CommonDType(const Arg& a, const Arg& b) {
  if (a.tensor() && b.tensor()) return Promote(a.tensor()->dtype(), b.tensor()->dtype());
  if (a.tensor()) return Promote(a.tensor()->dtype(), b.scalar().kind);
  if (b.tensor()) return Promote(b.tensor()->dtype(), a.scalar().kind);
  return Promote(DefaultFor(a.scalar().kind), DefaultFor(b.scalar().kind));
}

// The dtype in which a binary op computes.
DType ComputeDType(OpId op, DType common) {
  if (Info(op).types == TypeSet::kFloat) return QuotientFor(common);
  return IsBool(common) && Has(op, traits::kBoolsCount) ? DType::kI8 : common;
}

Tensor ArgAs(OpId op, const Arg& a, DType dtype) {
  if (a.tensor()) return astype(*a.tensor(), dtype);
  auto value = ToImmediate(Info(op).name, a.scalar(), dtype);
  if (!value.ok()) return Tensor(std::move(value).status());
  return Tensor(*std::move(value));
}

// The answer of a comparison if all of a is below (`order` < 0) or above all of b.
bool Answer(OpId op, int order) {
  switch (op) {
    case OpId::k_less:
    case OpId::k_less_equal:
      return order < 0;
    case OpId::k_greater:
    case OpId::k_greater_equal:
      return order > 0;
    default:
      return op == OpId::k_not_equal;
  }
}

// Comparisons of integers are exact where no dtype holds both operands: a Python int outside the
// array's dtype, and uint64 beside a signed dtype. Undefined if `dtype` will do.
Tensor CompareApart(OpId op, DType dtype, const Arg& a, const Arg& b) {
  const auto outside = [&](const Arg& x) { return !x.tensor() && !Fits(x.scalar(), dtype); };
  if (IsInt(dtype) && outside(a) != outside(b)) {
    const bool left = outside(a);
    const Arg& other = left ? b : a;
    const int sign = (left ? a : b).scalar().negative() ? -1 : 1;
    return full(other.tensor() ? other.tensor()->dims() : Dims(),
                Scalar::Bool(Answer(op, left ? sign : -sign)), DType::kBool,
                other.tensor() ? other.tensor()->device() : Device());
  }
  if (!a.tensor() || !b.tensor() || !IsInt(a.tensor()->dtype()) || !IsInt(b.tensor()->dtype()) ||
      IsInt(dtype)) {
    return {};
  }
  const bool left = IsSigned(a.tensor()->dtype());
  const Tensor below = less(*(left ? a : b).tensor(), 0);
  const Tensor x = astype(*a.tensor(), DType::kU64), y = astype(*b.tensor(), DType::kU64);
  return where(below, Answer(op, left ? -1 : 1), Apply(op, {&x, &y}));
}

}  // namespace

Tensor Unary(OpId op, const Tensor& a) {
  if (Value* known = TryApply(op, a)) return Tensor(ValueRef::Adopt(known));
  if (!a.ok()) return a;
  const OpInfo& info = Info(op);
  if (info.types == TypeSet::kFloat && !IsInexact(a.dtype())) {
    if (info.traits & traits::kIntsStay) return a.Detach();
    if (info.traits & (traits::kIntsFalse | traits::kIntsTrue)) {
      const Scalar answer = Scalar::Bool(info.traits & traits::kIntsTrue);
      return full(a.dims(), answer, DType::kBool, a.device());
    }
    return Unary(op, astype(a, FloatFor(a.dtype())));
  }
  return Apply(op, {&a});
}

Value* TryNumber(OpId op, const Tensor& a, double number, bool first) {
  if (!a.ok() || !IsFloat(a.dtype()) || op == OpId::k_pow) return nullptr;
  return TryApplyNumber(op, a, BitsOf(a.dtype(), number), first);
}

Tensor Binary(OpId op, const Arg& a, const Arg& b) {
  Value* known = nullptr;
  if (a.tensor() && b.tensor()) {
    known = TryApply(op, *a.tensor(), *b.tensor());
  } else if (a.tensor() || b.tensor()) {
    const Scalar& number = (a.tensor() ? b : a).scalar();
    if (number.kind == Scalar::Kind::kFloat)
      known = TryNumber(op, a.tensor() ? *a.tensor() : *b.tensor(), number.f, !a.tensor());
  }
  if (known) return Tensor(ValueRef::Adopt(known));
  for (const Arg* x : {&a, &b}) {
    if (x->tensor() && !x->tensor()->ok()) return *x->tensor();
  }
  const OpInfo& info = Info(op);
  if (IsComplex(a) || IsComplex(b)) return OnParts(op, CommonDType(a, b), {a, b});
  if (a.tensor() && b.tensor() && a.tensor()->dtype() == b.tensor()->dtype() &&
      Accepts(info.types, a.tensor()->dtype())) {
    return Apply(op, {a.tensor(), b.tensor()});
  }
  const DType dtype = ComputeDType(op, CommonDType(a, b));
  if (IsComparison(op)) {
    Tensor apart = CompareApart(op, dtype, a, b);
    if (apart.defined()) return apart;
  }
  if (op == OpId::k_pow && IsInt(dtype) && !b.tensor() && b.scalar().negative()) {
    return ValueError("[pow] integers to negative integer powers are not allowed: exponent ",
                      b.scalar().i, "; convert the base to a float.");
  }
  const Tensor x = ArgAs(op, a, dtype);
  if (op == OpId::k_pow && IsFloat(dtype) && !b.tensor()) {
    // A square, rounded once, and a cube, rounded twice (core/SEMANTICS.md).
    const auto times_x = [&](const Tensor& t) { return Apply(OpId::k_multiply, {&t, &x}); };
    const double n = b.scalar().AsDouble();
    if (n == 2) return times_x(x);
    if (n == 3 && !IsHalf(dtype))
      return Composite(CompositeId::k_cube, {&x}, {}, [&] { return times_x(times_x(x)); });
  }
  const Tensor y = ArgAs(op, b, dtype);
  return Apply(op, {&x, &y});
}

Tensor where(const Arg& condition, const Arg& a, const Arg& b) {
  for (const Arg* x : {&condition, &a, &b}) {
    if (x->tensor() && !x->tensor()->ok()) return *x->tensor();
  }
  const DType dtype = CommonDType(a, b);
  const Tensor c = ArgAs(OpId::k_where, condition, DType::kBool);
  if (IsComplex(a) || IsComplex(b)) return OnParts(OpId::k_where, dtype, {c, a, b});
  const Tensor x = ArgAs(OpId::k_where, a, dtype), y = ArgAs(OpId::k_where, b, dtype);
  return Apply(OpId::k_where, {&c, &x, &y});
}

Tensor astype(const Tensor& x, DType dtype) {
  if (!x.ok() || x.dtype() == dtype) return x;
  if (frazil::IsComplex(dtype) || frazil::IsComplex(x.dtype())) return CastParts(x, dtype);
  const int64_t attr = static_cast<int64_t>(dtype);
  return Apply(OpId::k_astype, {&x}, {&attr, 1});
}

// Out of line: expressions of tensors stay short in the code of composites and gradient rules.
#define FZ_OP(name, ...)
#define FZ_UNARY(name, ...) \
  Tensor name(const Tensor& a) { return Unary(OpId::k_##name, a); }
#define FZ_BINARY(name, ...) \
  Tensor name(const Arg& a, const Arg& b) { return Binary(OpId::k_##name, a, b); }
#include "core/ops.def"

Tensor operator+(const Tensor& a, const Arg& b) { return add(a, b); }
Tensor operator-(const Tensor& a, const Arg& b) { return subtract(a, b); }
Tensor operator*(const Tensor& a, const Arg& b) { return multiply(a, b); }
Tensor operator/(const Tensor& a, const Arg& b) { return divide(a, b); }
Tensor operator+(double a, const Tensor& b) { return add(a, b); }
Tensor operator-(double a, const Tensor& b) { return subtract(a, b); }
Tensor operator*(double a, const Tensor& b) { return multiply(a, b); }
Tensor operator/(double a, const Tensor& b) { return divide(a, b); }
Tensor operator-(const Tensor& a) { return negative(a); }

}  // namespace frazil::ops
