#include "jit/emit/cuda/expr.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/str.h"
#include "jit/kir/const.h"

namespace frazil::jit::cuda {
namespace {

using kir::Inst;
using kir::Op;
using kir::ReduceKind;

std::string Infix(const std::string& a, std::string_view op, const std::string& b) {
  return StrCat(a, " ", op, " ", b);
}

// fz_NAME(a, b, c), without the operands that are empty.
std::string Call(std::string_view name, const std::string& a, const std::string& b,
                 const std::string& c) {
  std::string text = StrCat("fz_", name, "(", a);
  for (const std::string& operand : {b, c}) {
    if (!operand.empty()) StrAppend(&text, ", ", operand);
  }
  return text + ")";
}

// The shortest decimal that reads back as the same number.
std::string FloatText(DType type, uint64_t bits) {
  const double value = kir::FloatFromBits(type, bits);
  const bool f32 = type == DType::kF32;
  if (!std::isfinite(value)) {
    return StrCat("fz_bitcast<", TypeText(type), ">(0x", absl::Hex(bits), f32 ? "u)" : "ull)");
  }
  char buffer[64];
  const auto end = f32 ? std::to_chars(buffer, buffer + sizeof(buffer), float(value))
                       : std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, end.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return f32 ? text + "f" : text;
}

std::string CastText(DType to, DType from, const std::string& a) {
  if (IsHalf(from)) return StrCat("fz_", ShortName(from), "_to_f32(", a, ")");
  if (IsHalf(to)) return StrCat("fz_f32_to_", ShortName(to), "(", a, ")");
  if (IsFloat(from) && IsInt(to)) return StrCat("fz_to_", ShortName(to), "(", a, ")");
  return StrCat("(", TypeText(to), ")", a);
}

std::string BitcastText(DType to, DType from, const std::string& a) {
  // The 16-bit floats are their bits in C.
  if (SizeOf(to) == 2) return StrCat("(", TypeText(to), ")", a);
  return StrCat("fz_bitcast<", TypeText(to), ">(", a, ")");
}

}  // namespace

std::string_view TypeText(DType type) { return ShortName(type); }

std::string ConstText(DType type, uint64_t bits) {
  if (IsBool(type)) return bits ? "true" : "false";
  if (IsFloat(type)) return FloatText(type, bits);
  if (IsUnsigned(type)) return StrCat(bits, SizeOf(type) == 8 ? "ull" : "u");
  const int64_t value = kir::IntFromBits(type, bits);
  const std::string_view suffix = SizeOf(type) == 8 ? "ll" : "";
  // C has no literal for the lowest value.
  if (value == (SizeOf(type) == 8 ? INT64_MIN : INT32_MIN))
    return StrCat("(", value + 1, suffix, " - 1)");
  return StrCat(value, suffix);
}

std::string OpText(const Inst& inst, DType from, const std::string& a, const std::string& b,
                   const std::string& c) {
  const DType t = inst.type;
  switch (inst.op) {
    case Op::kCast:
      return CastText(t, from, a);
    case Op::kBitcast:
      return BitcastText(t, from, a);
    case Op::kNeg:
      return IsFloat(t) ? StrCat("-", a) : Call("neg", a, b, c);
    case Op::kNot:
      return StrCat(IsBool(t) ? "!" : "~", a);
    case Op::kAdd:
      if (!IsSigned(t)) return Infix(a, "+", b);
      break;
    case Op::kSub:
      if (!IsSigned(t)) return Infix(a, "-", b);
      break;
    case Op::kMul:
      if (!IsSigned(t)) return Infix(a, "*", b);
      break;
    case Op::kDiv:
      if (IsFloat(t)) return Infix(a, "/", b);
      break;
    case Op::kLt:
      return Infix(a, "<", b);
    case Op::kLe:
      return Infix(a, "<=", b);
    case Op::kEq:
      return Infix(a, "==", b);
    case Op::kNe:
      return Infix(a, "!=", b);
    case Op::kAnd:
      return Infix(a, "&", b);
    case Op::kOr:
      return Infix(a, "|", b);
    case Op::kXor:
      return Infix(a, "^", b);
    case Op::kLookup:
      return StrCat("fz_bitcast<f32>(__ldg(fz_table", inst.imm, " + (", a, " & 15u)))");
    case Op::kSelect:
      return StrCat(a, " ? ", b, " : ", c);
    default:
      break;
  }
  return Call(Name(inst.op), a, b, c);
}

Op CombineOp(const Inst& reduce) {
  constexpr Op kSteps[] = {Op::kAdd, Op::kMul, Op::kMax, Op::kMin, Op::kAnd, Op::kOr};
  return kSteps[reduce.imm];
}

std::string CombineText(const Inst& reduce, const std::string& a, const std::string& b) {
  return OpText({.op = CombineOp(reduce), .type = reduce.type}, reduce.type, a, b, "");
}

uint64_t IdentityBits(const Inst& reduce) {
  const DType t = reduce.type;
  const uint64_t all = kir::TruncateBits(t, ~uint64_t{0}), top = uint64_t{1} << (BitsOf(t) - 1);
  switch (ReduceKind(reduce.imm)) {
    case ReduceKind::kSum:
      return IsFloat(t) ? kir::BitsFromDouble(t, -0.0) : 0;
    case ReduceKind::kProd:
      return kir::BitsFromDouble(t, 1);
    case ReduceKind::kMax:
      return IsFloat(t) ? kir::BitsFromDouble(t, -INFINITY) : IsSigned(t) ? top : 0;
    case ReduceKind::kMin:
      return IsFloat(t) ? kir::BitsFromDouble(t, INFINITY) : IsSigned(t) ? all - top : all;
    case ReduceKind::kAnd:
      return 1;
    case ReduceKind::kOr:
      return 0;
  }
  FZ_CHECK(false);
}

std::string IdentityText(const Inst& reduce) {
  return ConstText(reduce.type, IdentityBits(reduce));
}

}  // namespace frazil::jit::cuda
