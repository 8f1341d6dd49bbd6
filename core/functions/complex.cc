#include "core/functions/complex.h"

#include <cmath>

#include "core/check.h"
#include "core/functions/composite.h"
#include "core/infer.h"

namespace frazil {

using namespace ops;  // NOLINT: the operators

namespace ops {

Tensor real(const Tensor& x) {
  return !x.ok() || !IsComplex(x.dtype()) ? x : Apply(OpId::k_real, {&x});
}

Tensor imag(const Tensor& x) {
  if (!x.ok()) return x;
  if (!IsComplex(x.dtype())) return full(x.dims(), Scalar::Int(0), x.dtype(), x.device());
  return Apply(OpId::k_imag, {&x});
}

Tensor complex(const Arg& re, const Arg& im) {
  const Arg& first = re.tensor() || !im.tensor() ? re : im;
  const Arg& second = &first == &re ? im : re;
  for (const Arg* x : {&first, &second}) {
    if (!x->tensor()) continue;
    if (!x->tensor()->ok()) return *x->tensor();
    if (IsComplex(x->tensor()->dtype())) {
      return TypeError("[complex] parts must be real, got ", Describe(*x->tensor()), ".");
    }
  }
  if (re.scalar().is_complex() || im.scalar().is_complex())
    return TypeError("[complex] parts must be real numbers, got a complex one.");
  const DType common = first.tensor() ? first.tensor()->dtype() : DefaultFor(first.scalar().kind);
  const DType dtype = PartOf(ComplexFor(second.tensor() ? Promote(common, second.tensor()->dtype())
                                                        : Promote(common, second.scalar().kind)));
  const auto part = [&](const Arg& x) {
    return x.tensor() ? astype(*x.tensor(), dtype) : scalar(x.scalar(), dtype);
  };
  const Tensor a = part(re), b = part(im);
  return Apply(OpId::k_complex, {&a, &b});
}

Tensor conj(const Tensor& x) {
  if (!x.ok() || !IsComplex(x.dtype())) return x;
  return OnParts(OpId::k_imag, x.dtype(), {x});
}

Tensor angle(const Tensor& x) { return x.ok() ? atan2(imag(x), real(x)) : x; }

Parts PartsOf(const Tensor& x) {
  if (x.ok() && IsComplex(x.dtype())) return {real(x), imag(x)};
  return {x, x.ok() ? scalar(Scalar::Int(0), x.dtype()) : x};
}

Tensor Join(const Parts& parts) { return Apply(OpId::k_complex, {&parts.re, &parts.im}); }

Parts ProductOfParts(const Parts& a, const Parts& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

}  // namespace ops

namespace {

std::string Tag(OpId op) { return absl::StrCat("[", std::string(Info(op).name), "]"); }

Tensor Undefined(OpId op, const Tensor& x) {
  return TypeError(Tag(op), " is not defined for complex numbers: ", Describe(x), ".");
}

Parts Cast(const Parts& z, DType part) { return {astype(z.re, part), astype(z.im, part)}; }

// What a kernel is told of a call's operands, besides what they are: which numbers are pairs.
struct Operands {
  absl::InlinedVector<Tensor, 4> tensors;
  absl::InlinedVector<int, 3> first;  // of each operand; pairs have two
  int64_t pairs = 0;

  void Add(const Arg& arg, DType dtype) {
    first.push_back(static_cast<int>(tensors.size()));
    if (arg.tensor()) {
      tensors.push_back(*arg.tensor());
      return;
    }
    tensors.push_back(scalar(Scalar::Float(arg.scalar().AsDouble()), PartOf(dtype)));
    if (!arg.scalar().is_complex()) return;
    pairs |= int64_t{1} << (first.size() - 1);
    tensors.push_back(scalar(Scalar::Float(arg.scalar().im), PartOf(dtype)));
  }
  bool IsReal(int i) const { return !(pairs >> i & 1) && !IsComplex(tensors[first[i]].dtype()); }
  Parts at(int i) const {
    const Tensor& x = tensors[first[i]];
    return pairs >> i & 1 ? Parts{x, tensors[first[i] + 1]} : PartsOf(x);
  }
};

// Runs body() as one call: of these operands, and of attributes that say what it computes.
template <typename Body>
Tensor OneCall(absl::Span<const Tensor> operands, AttrSpan attrs, const Body& body) {
  absl::InlinedVector<const Tensor*, 4> inputs;
  for (const Tensor& t : operands) {
    if (!t.ok()) return t;
    inputs.push_back(&t);
  }
  State().spent = nullptr;  // the op that may write over a cell's content is none of the body's
  Tensor out;
  ApplyComposite({static_cast<uint32_t>(CompositeId::k_on_parts), inputs, attrs},
                 [&](absl::Span<Tensor> outputs) { outputs[0] = body(); }, {&out, 1});
  return out;
}

Tensor Unary(OpId op, const Parts& z, DType part) {
  switch (op) {
    case OpId::k_negative:
    case OpId::k_round:
      return Join({ops::Unary(op, z.re), ops::Unary(op, z.im)});
    case OpId::k_copy:
      return Join(z);
    case OpId::k_imag:  // turned over: the conjugate
      return Join({z.re, -z.im});
    case OpId::k_isnan:
    case OpId::k_isinf:
      return bitwise_or(ops::Unary(op, z.re), ops::Unary(op, z.im));
    case OpId::k_isfinite:
      return bitwise_and(isfinite(z.re), isfinite(z.im));
    case OpId::k_abs:
      return hypot(z.re, z.im);
    default:
      return Join(Cast(FunctionOfParts(op)(Cast(z, DType::kF64)), part));
  }
}

bool IsUnary(OpId op) {
  return op == OpId::k_negative || op == OpId::k_round || op == OpId::k_imag ||
         op == OpId::k_copy || op == OpId::k_isnan || op == OpId::k_isinf ||
         op == OpId::k_isfinite || op == OpId::k_abs || FunctionOfParts(op);
}

Parts Quotient(const Parts& a, const Parts& b, DType part) {
  return Cast(QuotientOfParts(Cast(a, DType::kF64), Cast(b, DType::kF64)), part);
}

// NumPy's order: by the real parts, of equal ones by the imaginary parts; with a NaN false.
Tensor IsBelow(OpId op, const Parts& a, const Parts& b) {
  const Tensor numbers = logical_not(bitwise_or(isnan(a.im), isnan(b.im)));
  return bitwise_or(bitwise_and(less(a.re, b.re), numbers),
                    bitwise_and(equal(a.re, b.re), ops::Binary(op, a.im, b.im)));
}

Tensor Binary(OpId op, const Parts& a, const Parts& b, DType part) {
  switch (op) {
    case OpId::k_add:
    case OpId::k_subtract:
      return Join({ops::Binary(op, a.re, b.re), ops::Binary(op, a.im, b.im)});
    case OpId::k_multiply:
      return Join(ProductOfParts(a, b));
    case OpId::k_divide:
      return Join(Quotient(a, b, part));
    case OpId::k_pow:
      return Join(Cast(PowerOfParts(Cast(a, DType::kF64), Cast(b, DType::kF64)), part));
    case OpId::k_equal:
      return bitwise_and(equal(a.re, b.re), equal(a.im, b.im));
    case OpId::k_less:
    case OpId::k_less_equal:
      return IsBelow(op, a, b);
    case OpId::k_greater:
      return IsBelow(OpId::k_less, b, a);
    case OpId::k_greater_equal:
      return IsBelow(OpId::k_less_equal, b, a);
    case OpId::k_maximum:
    case OpId::k_minimum: {
      const bool largest = op == OpId::k_maximum;
      const Tensor first = bitwise_or(IsBelow(OpId::k_less_equal, largest ? b : a, largest ? a : b),
                                      bitwise_or(isnan(a.re), isnan(a.im)));
      return Join({where(first, a.re, b.re), where(first, a.im, b.im)});
    }
    default:
      return bitwise_or(not_equal(a.re, b.re), not_equal(a.im, b.im));
  }
}

bool IsBinary(OpId op) {
  return op == OpId::k_add || op == OpId::k_subtract || op == OpId::k_multiply ||
         op == OpId::k_divide || op == OpId::k_pow || op == OpId::k_equal ||
         op == OpId::k_not_equal || op == OpId::k_less || op == OpId::k_less_equal ||
         op == OpId::k_greater || op == OpId::k_greater_equal || op == OpId::k_maximum ||
         op == OpId::k_minimum;
}

// z[begin : begin + n] along `axis`.
Parts Cut(const Parts& z, int axis, int64_t begin, int64_t n) {
  Attrs range = WholeSlice(z.re.dims());
  range[3 * axis] = begin;
  range[3 * axis + 2] = n;
  return {slice(z.re, range), slice(z.im, range)};
}

// Halves are multiplied until one element is left.
Tensor Product(const Parts& of, AttrSpan attrs) {
  Parts z = of;
  const int64_t mask = attrs[0];
  Attrs dims;
  for (int axis = 0; axis < z.re.rank(); ++axis) {
    if (!(mask >> axis & 1)) {
      dims.push_back(z.re.dims()[axis]);
      continue;
    }
    if (attrs[1]) dims.push_back(1);
    int64_t n = z.re.dims()[axis];
    if (n == 0) {
      Attrs one(z.re.dims().begin(), z.re.dims().end());
      one[axis] = 1;
      z = {full(one, Scalar::Int(1), z.re.dtype(), z.re.device()),
           full(one, Scalar::Int(0), z.re.dtype(), z.re.device())};
    }
    for (; n > 1; n -= n / 2) {
      const int64_t half = n / 2;
      const Parts product = ProductOfParts(Cut(z, axis, 0, half), Cut(z, axis, n - half, half));
      if (n % 2 == 0) {
        z = product;
        continue;
      }
      const Parts middle = Cut(z, axis, half, 1);
      z = {concat({{product.re, middle.re}}, axis), concat({{product.im, middle.im}}, axis)};
    }
  }
  return reshape(Join(z), dims);
}

// In rounds d = 1, 2, 4 ...: every element takes the one d before it.
Tensor RunningProduct(const Parts& of, int axis) {
  Parts z = of;
  const int64_t n = z.re.dims()[axis];
  for (int64_t d = 1; d < n; d *= 2) {
    const Parts first = Cut(z, axis, 0, d);
    const Parts rest = ProductOfParts(Cut(z, axis, 0, n - d), Cut(z, axis, d, n - d));
    z = {concat({{first.re, rest.re}}, axis), concat({{first.im, rest.im}}, axis)};
  }
  return Join(z);
}

// The op on each part: with their own attributes, indices in place of the second operand.
Tensor PartByPart(const OpCall& call) {
  Parts out;
  for (const bool imaginary : {false, true}) {
    absl::InlinedVector<Tensor, 3> parts;
    absl::InlinedVector<const Tensor*, 3> inputs;
    parts.reserve(call.inputs.size());
    for (const Tensor* t : call.inputs) {
      const bool whole = !IsComplex(t->dtype());
      inputs.push_back(whole ? t : &parts.emplace_back(imaginary ? imag(*t) : real(*t)));
    }
    (imaginary ? out.im : out.re) = Apply({call.op, inputs, call.attrs, true});
  }
  return Join(out);
}

Tensor Matmul(const Tensor& a, const Tensor& b) {
  const Parts x = PartsOf(a), y = PartsOf(b);
  return Join({matmul(x.re, y.re) - matmul(x.im, y.im), matmul(x.re, y.im) + matmul(x.im, y.re)});
}

// By squaring: products of whole numbers are exact.
Tensor IntegerPower(const Tensor& x, int64_t n) {
  const int64_t attrs[] = {static_cast<int64_t>(OpId::k_pow), n};
  return OneCall({&x, 1}, attrs, [&] {
    const Parts one = {scalar(Scalar::Int(1), PartOf(x.dtype())),
                       scalar(Scalar::Int(0), PartOf(x.dtype()))};
    Parts square = PartsOf(x), power;
    for (int64_t rest = std::abs(n); rest > 0; rest /= 2) {
      if (rest % 2) power = power.re.defined() ? ProductOfParts(power, square) : square;
      if (rest > 1) square = ProductOfParts(square, square);
    }
    if (n == 0) power = {where(isnan(square.re), 1.0, one.re), one.im};
    return Join(n < 0 ? Quotient(one, power, PartOf(x.dtype())) : power);
  });
}

}  // namespace

namespace ops {

Tensor OnParts(OpId op, DType dtype, std::initializer_list<Arg> args) {
  for (const Arg& arg : args) {
    if (arg.tensor() && !arg.tensor()->ok()) return *arg.tensor();
  }
  if (op != OpId::k_where && !IsBinary(op) && !(args.size() == 1 && IsUnary(op))) {
    for (const Arg& arg : args) {
      if (arg.tensor() && IsComplex(arg.tensor()->dtype())) return Undefined(op, *arg.tensor());
    }
    return TypeError(Tag(op), " is not defined for complex numbers.");
  }
  if (op == OpId::k_pow && args.begin()[0].tensor() && !args.begin()[1].tensor()) {
    const Scalar& n = args.begin()[1].scalar();
    if (n.im == 0 && std::abs(n.AsDouble()) <= 64 && n.AsDouble() == std::trunc(n.AsDouble()))
      return IntegerPower(astype(*args.begin()[0].tensor(), dtype), int64_t(n.AsDouble()));
  }
  const DType part = PartOf(dtype);
  Operands operands;
  for (const Arg& arg : args) operands.Add(arg, dtype);
  const int64_t attrs[] = {static_cast<int64_t>(op), operands.pairs, static_cast<int64_t>(dtype)};
  return OneCall(operands.tensors, attrs, [&] {
    if (op == OpId::k_where) {
      const Tensor& c = operands.tensors[0];
      const Parts a = Cast(operands.at(1), part), b = Cast(operands.at(2), part);
      return Join({where(c, a.re, b.re), where(c, a.im, b.im)});
    }
    const Parts a = Cast(operands.at(0), part);
    if (args.size() == 1) return frazil::Unary(op, a, part);
    const Parts b = Cast(operands.at(1), part);
    if (op == OpId::k_multiply && operands.IsReal(0)) return Join({a.re * b.re, a.re * b.im});
    if ((op == OpId::k_multiply || op == OpId::k_divide) && operands.IsReal(1))
      return Join({ops::Binary(op, a.re, b.re), ops::Binary(op, a.im, b.re)});
    return frazil::Binary(op, a, b, part);
  });
}

Tensor CastParts(const Tensor& x, DType dtype) {
  if (!IsComplex(dtype) && !IsBool(dtype)) {
    return TypeError("[astype] a complex number is no ", std::string(Name(dtype)), ": ",
                     Describe(x), "; take its real part first.");
  }
  const int64_t attrs[] = {static_cast<int64_t>(OpId::k_astype), static_cast<int64_t>(dtype)};
  return OneCall({&x, 1}, attrs, [&] {
    const Parts z = PartsOf(x);
    if (IsBool(dtype)) return bitwise_or(astype(z.re, dtype), astype(z.im, dtype));
    return Join(Cast(z, PartOf(dtype)));
  });
}

Tensor PadParts(const Tensor& x, Dims low_high, const Scalar& value) {
  const Parts z = PartsOf(x);
  return Join({pad(z.re, low_high, Scalar::Float(value.AsDouble())),
               pad(z.im, low_high, Scalar::Float(value.im))});
}

}  // namespace ops

Tensor ApplyToParts(const OpCall& call) {
  const OpInfo& info = Info(call.op);
  Attrs attrs = {static_cast<int64_t>(call.op)};
  attrs.insert(attrs.end(), call.attrs.begin(), call.attrs.end());
  absl::InlinedVector<Tensor, 4> own;
  absl::InlinedVector<const Tensor*, 4> inputs;
  own.reserve(call.inputs.size());
  for (const Tensor* t : call.inputs) inputs.push_back(&own.emplace_back(*t));
  const OpCall held{call.op, inputs, call.attrs, true};
  const Tensor& x = own[0];
  switch (info.klass) {
    case OpClass::kElementwise:
      if (call.op == OpId::k_where) return where(own[0], own[1], own[2]);
      if (own.size() == 2) return OnParts(call.op, Promote(x.dtype(), own[1].dtype()), {x, own[1]});
      if (!IsUnary(call.op)) return Undefined(call.op, x);
      return OnParts(call.op, x.dtype(), {x});
    case OpClass::kCast:
      return CastParts(x, static_cast<DType>(call.attrs[0]));
    case OpClass::kReduce:
      if (call.op == OpId::k_sum) return OneCall(own, attrs, [&] { return PartByPart(held); });
      if (call.op == OpId::k_prod)
        return OneCall(own, attrs, [&] { return Product(PartsOf(x), call.attrs); });
      break;
    case OpClass::kScan:
      if (call.op == OpId::k_cumulative_sum)
        return OneCall(own, attrs, [&] { return PartByPart(held); });
      return OneCall(own, attrs,
                     [&] { return RunningProduct(PartsOf(x), static_cast<int>(call.attrs[0])); });
    case OpClass::kTake:
    case OpClass::kPut:
      if (!call.indices_checked) {
        if (Status s = CheckData(call); !s.ok()) return Tensor(std::move(s));
      }
      return PartByPart(held);
    case OpClass::kMatmul:
      return OneCall(own, attrs, [&] { return Matmul(own[0], own[1]); });
    default:
      break;
  }
  return Undefined(call.op, x);
}

}  // namespace frazil
