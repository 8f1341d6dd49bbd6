// Comparisons and bools.
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

using kir::Inst;
namespace I = x86::Inst;

namespace {

int FloatPredicate(kir::Op op, bool invert) {
  const int predicate = op == kir::Op::kLt   ? 0x11
                        : op == kir::Op::kLe ? 0x12
                        : op == kir::Op::kEq ? 0x00
                                             : 0x04;
  return invert ? predicate ^ 4 : predicate;  // what was false for a NaN is true
}

}  // namespace

// In the register of `under`, if that is valid: where it is off, so is the result.
Codegen::Operand Codegen::Compare(const Inst& original, bool invert, const K& under) {
  const Inst inst = Narrowed(original);
  const DType t = k_.body[inst.a].type;
  if (IsBool(t)) return BoolOp(inst);
  if (!z_) return CompareAvx2(inst, invert);
  const K d = under.isValid() ? under : NewK();
  const Vec a = R(inst.a);
  const Operand b = S(inst.b);
  if (under.isValid()) cc_.k(under);
  if (IsFloat(t)) {
    cc_.emit(BySize(t, I::kIdVcmpps, I::kIdVcmppd), d, a, b, FloatPredicate(inst.op, invert));
  } else {
    const int predicate = inst.op == Op::kLt   ? 1
                          : inst.op == Op::kLe ? 2
                          : inst.op == Op::kEq ? 0
                                               : 4;
    const InstId id = IsSigned(t) ? BySize(t, I::kIdVpcmpd, I::kIdVpcmpq)
                                  : BySize(t, I::kIdVpcmpud, I::kIdVpcmpuq);
    cc_.emit(id, d, a, b, invert ? predicate ^ 4 : predicate);
  }
  return d;
}

Codegen::Operand Codegen::CompareAvx2(const Inst& inst, bool invert) {
  const DType t = k_.body[inst.a].type;
  Vec d;
  if (IsFloat(t)) {
    d = Make(t, BySize(t, I::kIdVcmpps, I::kIdVcmppd), R(inst.a), S(inst.b),
             FloatPredicate(inst.op, invert));
    invert = false;
  } else if (inst.op == Op::kLt) {
    d = GreaterAvx2(t, R(inst.b), R(inst.a));
  } else if (inst.op == Op::kLe) {
    d = GreaterAvx2(t, R(inst.a), R(inst.b));
    invert = !invert;
  } else {
    d = Make(t, BySize(t, I::kIdVpcmpeqd, I::kIdVpcmpeqq), R(inst.a), S(inst.b));
    invert ^= inst.op == Op::kNe;
  }
  if (SizeOf(t) == 8) d = Mask32(d);
  if (invert) d = MakeBytes(v_ * 4, I::kIdVpxor, d, ConstMem(DType::kI32, 0xffffffffu));
  return d;
}

Codegen::Operand Codegen::BoolOp(const Inst& inst) {
  if (z_) {
    K d = NewK();
    const bool byte = v_ == 8;  // the byte forms keep the bits beyond the lanes zero
    switch (inst.op) {
      case Op::kAnd:
        cc_.kandw(d, KOf(inst.a), KOf(inst.b));
        break;
      case Op::kOr:
        cc_.korw(d, KOf(inst.a), KOf(inst.b));
        break;
      case Op::kXor:
      case Op::kNe:
        cc_.kxorw(d, KOf(inst.a), KOf(inst.b));
        break;
      case Op::kEq:
        cc_.emit(byte ? I::kIdKxnorb : I::kIdKxnorw, d, KOf(inst.a), KOf(inst.b));
        break;
      case Op::kNot:
        cc_.emit(byte ? I::kIdKnotb : I::kIdKnotw, d, KOf(inst.a));
        break;
      case Op::kLt:
        cc_.kandnw(d, KOf(inst.a), KOf(inst.b));
        break;
      default: {  // le: !a | b
        K inverse = NewK();
        cc_.emit(byte ? I::kIdKnotb : I::kIdKnotw, inverse, KOf(inst.a));
        cc_.korw(d, inverse, KOf(inst.b));
      }
    }
    return d;
  }
  const int bytes = v_ * 4;
  switch (inst.op) {
    case Op::kAnd:
      return MakeBytes(bytes, I::kIdVpand, R(inst.a), R(inst.b));
    case Op::kOr:
      return MakeBytes(bytes, I::kIdVpor, R(inst.a), R(inst.b));
    case Op::kXor:
    case Op::kNe:
      return MakeBytes(bytes, I::kIdVpxor, R(inst.a), R(inst.b));
    case Op::kEq:
      return MakeBytes(bytes, I::kIdVpcmpeqd, R(inst.a), R(inst.b));
    case Op::kLt:
      return MakeBytes(bytes, I::kIdVpandn, R(inst.a), R(inst.b));
    case Op::kNot:
      return MakeBytes(bytes, I::kIdVpxor, R(inst.a), ConstMem(DType::kI32, 0xffffffffu));
    default: {
      Vec inverse = MakeBytes(bytes, I::kIdVpxor, R(inst.a), ConstMem(DType::kI32, 0xffffffffu));
      return MakeBytes(bytes, I::kIdVpor, inverse, R(inst.b));
    }
  }
}

}  // namespace frazil::jit
