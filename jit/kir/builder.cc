#include "jit/kir/builder.h"

#include "core/check.h"
#include "jit/kir/const.h"

namespace frazil::kir {
namespace {

// Binds an operator to the builder of its operands.
V Apply(Op op, V a) { return a.builder->Unary(op, a); }
V Apply(Op op, V a, V b) { return a.builder->Binary(op, a, b); }

}  // namespace

V Builder::Append(const Inst& inst) {
  // Values made outside loops are visible everywhere behind them; only a load means something else
  // in a loop. A carry is a variable: no two are the same.
  const bool shared = HasValue(inst.op) && inst.op != Op::kCarry;
  const auto key = [&](int region) {
    return std::make_tuple(region, inst.op, inst.type, inst.lanes, inst.a, inst.b, inst.c,
                           inst.imm);
  };
  if (shared) {
    for (int region : {region_, 0}) {
      if (region != region_ && in_loop_ && inst.op == Op::kLoad) continue;
      if (const auto it = seen_.find(key(region)); it != seen_.end())
        return {this, it->second, inst.type};
    }
  }
  const Id id = Id(kernel_->body.size());
  kernel_->body.push_back(inst);
  if (shared) seen_.emplace(key(region_), id);
  return {this, id, inst.type};
}

V Builder::Param(int scalar) {
  FZ_CHECK(scalar >= 0 && size_t(scalar) < kernel_->scalars.size());
  return Append(
      {.op = Op::kParam, .type = kernel_->scalars[scalar].dtype, .imm = uint64_t(scalar)});
}

V Builder::Const(DType type, double value) { return ConstBits(type, BitsFromDouble(type, value)); }

V Builder::ConstBits(DType type, uint64_t bits) {
  return Append({.op = Op::kConst, .type = type, .imm = TruncateBits(type, bits)});
}

V Builder::Index(int axis) {
  return Append({.op = Op::kIndex, .type = DType::kI64, .imm = uint64_t(axis)});
}

V Builder::Load(int buffer, V offset, V pred) {
  FZ_CHECK(buffer >= 0 && size_t(buffer) < kernel_->buffers.size());
  return Append({.op = Op::kLoad,
                 .type = kernel_->buffers[buffer].dtype,
                 .a = offset.id,
                 .b = pred.id,
                 .imm = uint64_t(buffer)});
}

void Builder::Store(int buffer, V value, V offset, V pred) {
  FZ_CHECK(buffer >= 0 && size_t(buffer) < kernel_->buffers.size());
  Append({.op = Op::kStore,
          .type = kernel_->buffers[buffer].dtype,
          .a = value.id,
          .b = offset.id,
          .c = pred.id,
          .imm = uint64_t(buffer)});
}

V Builder::Unary(Op op, V a) { return Append({.op = op, .type = a.type, .a = a.id}); }

V Builder::Binary(Op op, V a, V b) {
  FZ_CHECK(a.type == b.type);
  const bool compares = op == Op::kLt || op == Op::kLe || op == Op::kEq || op == Op::kNe;
  return Append({.op = op, .type = compares ? DType::kBool : a.type, .a = a.id, .b = b.id});
}

V Builder::Fma(V a, V b, V c) {
  FZ_CHECK(a.type == b.type && b.type == c.type);
  return Append({.op = Op::kFma, .type = a.type, .a = a.id, .b = b.id, .c = c.id});
}

V Builder::Select(V cond, V a, V b) {
  FZ_CHECK(cond.type == DType::kBool && a.type == b.type);
  return Append({.op = Op::kSelect, .type = a.type, .a = cond.id, .b = a.id, .c = b.id});
}

V Builder::Cast(DType to, V a) {
  if (a.type == to) return a;
  return Append({.op = Op::kCast, .type = to, .a = a.id});
}

V Builder::Bitcast(DType to, V a) {
  if (a.type == to) return a;
  return Append({.op = Op::kBitcast, .type = to, .a = a.id});
}

V Builder::Call(int fn, V a, V b) {
  return Append({.op = Op::kCall, .type = a.type, .a = a.id, .b = b.id, .imm = uint64_t(fn)});
}

V Builder::Lookup(int table, V index) {
  return Append({.op = Op::kLookup, .type = DType::kF32, .a = index.id, .imm = uint64_t(table)});
}

V Builder::Reduce(ReduceKind kind, V a, int lanes) {
  return Append({.op = Op::kReduce,
                 .type = a.type,
                 .lanes = uint8_t(lanes),
                 .a = a.id,
                 .imm = uint64_t(kind)});
}

V Builder::Copy(const Inst& inst) {
  FZ_CHECK(HasValue(inst.op));
  return Append(inst);
}

void Builder::Loop() {
  Append({.op = Op::kLoop});
  region_ = ++regions_;
  in_loop_ = true;
}

void Builder::End() {
  Append({.op = Op::kEnd});
  // A reduce becomes visible here; its entry stays with its loop, so nothing in the loop can find
  // it later.
  region_ = 0;
  in_loop_ = false;
}

void Builder::Barrier() {
  Append({.op = Op::kBarrier});
  seen_.clear();
}

void Builder::Repeat(V count) {
  Append({.op = Op::kRepeat, .a = count.id});
  region_ = ++regions_;
}

V Builder::Carry(V init) { return Append({.op = Op::kCarry, .type = init.type, .a = init.id}); }

void Builder::Next(V carry, V value) {
  FZ_CHECK(carry.type == value.type);
  Append({.op = Op::kNext, .type = carry.type, .a = carry.id, .b = value.id});
}

void Builder::Done(V goes_on) {
  Append({.op = Op::kDone, .a = goes_on.id});
  region_ = 0;  // what was computed from a carry inside is not what it would be here
}

V operator+(V a, V b) { return Apply(Op::kAdd, a, b); }
V operator-(V a, V b) { return Apply(Op::kSub, a, b); }
V operator*(V a, V b) { return Apply(Op::kMul, a, b); }
V operator/(V a, V b) { return Apply(Op::kDiv, a, b); }
V operator-(V a) { return Apply(Op::kNeg, a); }
V operator<(V a, V b) { return Apply(Op::kLt, a, b); }
V operator<=(V a, V b) { return Apply(Op::kLe, a, b); }
V operator>(V a, V b) { return Apply(Op::kLt, b, a); }
V operator>=(V a, V b) { return Apply(Op::kLe, b, a); }
V operator==(V a, V b) { return Apply(Op::kEq, a, b); }
V operator!=(V a, V b) { return Apply(Op::kNe, a, b); }
V operator&(V a, V b) { return Apply(Op::kAnd, a, b); }
V operator|(V a, V b) { return Apply(Op::kOr, a, b); }
V operator^(V a, V b) { return Apply(Op::kXor, a, b); }
V operator~(V a) { return Apply(Op::kNot, a); }
V operator<<(V a, V b) { return Apply(Op::kShl, a, b); }
V operator>>(V a, V b) { return Apply(Op::kShr, a, b); }
V K(V like, double value) { return like.builder->Const(like.type, value); }
V KBits(V like, uint64_t bits) { return like.builder->ConstBits(like.type, bits); }
V fma(V a, V b, V c) { return a.builder->Fma(a, b, c); }
V select(V cond, V a, V b) { return cond.builder->Select(cond, a, b); }
V cast(DType to, V a) { return a.builder->Cast(to, a); }
V bitcast(DType to, V a) { return a.builder->Bitcast(to, a); }
V abs(V a) { return Apply(Op::kAbs, a); }
V sqrt(V a) { return Apply(Op::kSqrt, a); }
V floor(V a) { return Apply(Op::kFloor, a); }
V ceil(V a) { return Apply(Op::kCeil, a); }
V trunc(V a) { return Apply(Op::kTrunc, a); }
V rint(V a) { return Apply(Op::kRint, a); }
V min(V a, V b) { return Apply(Op::kMin, a, b); }
V max(V a, V b) { return Apply(Op::kMax, a, b); }
V rem(V a, V b) { return Apply(Op::kRem, a, b); }
V mulhi(V a, V b) { return Apply(Op::kMulhi, a, b); }
V scale(V a, V exponent) { return Apply(Op::kScale, a, exponent); }
V lookup(int table, V index) { return index.builder->Lookup(table, index); }

}  // namespace frazil::kir
