// Promotion and scalars for the elementwise rows of the table.
#include "core/check.h"
#include "core/functions/ops.h"

namespace frazil::ops {
namespace {

bool IsComparison(OpId op) { return Info(op).result == ResultType::kBool && Info(op).arity == 2; }

DType CommonDType(const Arg& a, const Arg& b) {
  if (a.tensor() && b.tensor()) return Promote(a.tensor()->dtype(), b.tensor()->dtype());
  if (a.tensor()) return Promote(a.tensor()->dtype(), b.scalar().kind);
  if (b.tensor()) return Promote(b.tensor()->dtype(), a.scalar().kind);
  return Promote(DefaultFor(a.scalar().kind), DefaultFor(b.scalar().kind));
}

// The dtype in which a binary op computes.
DType ComputeDType(OpId op, DType common) {
  switch (op) {
    case OpId::k_divide:
      return QuotientFor(common);
    case OpId::k_pow:
    case OpId::k_floor_divide:
    case OpId::k_remainder:
      return IsBool(common) ? DType::kI8 : common;
    default:
      return common;
  }
}

Tensor ArgAs(OpId op, const Arg& a, DType dtype) {
  if (a.tensor()) return astype(*a.tensor(), dtype);
  auto value = ToImmediate(Info(op).name, a.scalar(), dtype);
  if (!value.ok()) return Tensor(std::move(value).status());
  return Tensor(*std::move(value));
}

bool NegativeInt(const Arg& a) {
  return !a.tensor() && a.scalar().kind == Scalar::Kind::kInt && !a.scalar().big &&
         a.scalar().i < 0;
}

// A Python int outside the array's dtype still has an order: compare in a dtype that holds both.
DType WidenForComparison(DType dtype, const Arg& a, const Arg& b) {
  for (const Arg* x : {&a, &b}) {
    if (x->tensor() || !IsInt(dtype)) continue;
    if (!ToImmediate("", x->scalar(), dtype).ok())
      dtype = x->scalar().big ? DType::kF64 : Promote(dtype, DType::kI64);
  }
  return dtype;
}

}  // namespace

Tensor Unary(OpId op, const Tensor& a) {
  if (!a.ok()) return a;
  const OpInfo& info = Info(op);
  if (info.types == TypeSet::kFloat && !IsFloat(a.dtype())) {
    switch (op) {
      case OpId::k_floor:
      case OpId::k_ceil:
      case OpId::k_trunc:
      case OpId::k_round:
        return a.Detach();
      case OpId::k_isnan:
      case OpId::k_isinf:
        return full(a.dims(), Scalar::Bool(false), DType::kBool);
      case OpId::k_isfinite:
        return full(a.dims(), Scalar::Bool(true), DType::kBool);
      default:
        return Unary(op, astype(a, FloatFor(a.dtype())));
    }
  }
  return Apply(op, {&a});
}

Tensor Binary(OpId op, const Arg& a, const Arg& b) {
  for (const Arg* x : {&a, &b}) {
    if (x->tensor() && !x->tensor()->ok()) return *x->tensor();
  }
  const OpInfo& info = Info(op);
  if (a.tensor() && b.tensor() && a.tensor()->dtype() == b.tensor()->dtype() &&
      Accepts(info.types, a.tensor()->dtype())) {
    return Apply(op, {a.tensor(), b.tensor()});
  }
  DType dtype = ComputeDType(op, CommonDType(a, b));
  if (IsComparison(op)) dtype = WidenForComparison(dtype, a, b);
  if (op == OpId::k_pow && IsInt(dtype) && NegativeInt(b)) {
    return ValueError("[pow] integers to negative integer powers are not allowed: exponent ",
                      b.scalar().i, "; convert the base to a float.");
  }
  const Tensor x = ArgAs(op, a, dtype), y = ArgAs(op, b, dtype);
  return Apply(op, {&x, &y});
}

Tensor where(const Arg& condition, const Arg& a, const Arg& b) {
  for (const Arg* x : {&condition, &a, &b}) {
    if (x->tensor() && !x->tensor()->ok()) return *x->tensor();
  }
  const DType dtype = CommonDType(a, b);
  const Tensor c = ArgAs(OpId::k_where, condition, DType::kBool);
  const Tensor x = ArgAs(OpId::k_where, a, dtype), y = ArgAs(OpId::k_where, b, dtype);
  return Apply(OpId::k_where, {&c, &x, &y});
}

Tensor astype(const Tensor& x, DType dtype) {
  if (!x.ok() || x.dtype() == dtype) return x;
  const int64_t attr = static_cast<int64_t>(dtype);
  return Apply(OpId::k_astype, {&x}, {&attr, 1});
}

// Out of line: expressions of tensors stay short in the code of composites and gradient rules.
#define FZ_OP(name, klass, arity, types, result, forward, saves, gradient, doc, lo, hi, ulp, \
              may_fail)                                                                      \
  FZ_DEFINE_##klass(name, arity)
#define FZ_DEFINE_kElementwise(name, arity) FZ_DEFINE_ARITY_##arity(name)
#define FZ_DEFINE_ARITY_1(name) \
  Tensor name(const Tensor& a) { return Unary(OpId::k_##name, a); }
#define FZ_DEFINE_ARITY_2(name) \
  Tensor name(const Arg& a, const Arg& b) { return Binary(OpId::k_##name, a, b); }
#define FZ_DEFINE_ARITY_3(name)
#define FZ_DEFINE_kReduce(name, arity)
#define FZ_DEFINE_kCast(name, arity)
#define FZ_DEFINE_kView(name, arity)
#define FZ_DEFINE_kConcat(name, arity)
#define FZ_DEFINE_kPad(name, arity)
#define FZ_DEFINE_kTake(name, arity)
#define FZ_DEFINE_kPut(name, arity)
#define FZ_DEFINE_kMatmul(name, arity)
#define FZ_DEFINE_kIota(name, arity)
#define FZ_DEFINE_kRandomBits(name, arity)
#include "core/ops.def"
#undef FZ_OP

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
