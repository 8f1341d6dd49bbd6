#include "jit/kir/legalize.h"

#include <vector>

#include "core/check.h"
#include "jit/kir/builder.h"
#include "jit/kir/const.h"
#include "kernels/fn.h"

namespace frazil::kir {
namespace {

bool IsSmallInt(DType t) { return IsInt(t) && SizeOf(t) < 4; }
bool IsWideInt(DType t) { return IsInt(t) && SizeOf(t) >= 4; }
bool IsWideFloat(DType t) { return t == DType::kF32 || t == DType::kF64; }
bool IsWide(DType t) { return IsWideInt(t) || IsWideFloat(t); }

bool IsLegalCast(DType to, DType from) {
  if (IsBool(to)) return false;
  if (IsBool(from) || IsSmallInt(from)) return to == DType::kI32;
  if (IsSmallInt(to)) return from == DType::kI32;
  if (IsHalf(from)) return to == DType::kF32;
  if (IsHalf(to)) return from == DType::kF32;
  return true;
}

bool IsLegalBitcast(DType to, DType from) {
  if (IsWide(to) && IsWide(from)) return true;
  return (IsHalf(to) && from == DType::kU16) || (IsHalf(from) && to == DType::kU16);
}

// f64 -> f32 rounded to odd: the last bit says whether anything was cut off, so that a second
// rounding to 16 bits is the only one that shows. Nearest first, then back toward zero, then the
// sticky bit.
V RoundToOdd(V x) {
  const V nearest = cast(DType::kF32, x);
  const V back = cast(DType::kF64, nearest);
  const V bits = bitcast(DType::kI32, nearest);
  const V away = cast(DType::kI32, abs(x) < abs(back));
  const V inexact = cast(DType::kI32, back != x);
  return bitcast(DType::kF32, (bits - away) | inexact);
}

V LegalCast(DType to, V x);

// Float to an integer of less than 32 bits: saturates as the small type does.
V CastToSmallInt(DType to, V x) {
  const V wide = cast(DType::kI32, x);
  const uint64_t top = (uint64_t{1} << (BitsOf(to) - (IsSigned(to) ? 1 : 0))) - 1;
  const V low = x.builder->Const(DType::kI32, IsSigned(to) ? -double(top) - 1 : 0);
  const V high = x.builder->Const(DType::kI32, double(top));
  return cast(to, min(max(wide, low), high));
}

// Makes any cast out of legal ones.
V LegalCast(DType to, V x) {
  const DType from = x.type;
  if (to == from || IsLegalCast(to, from)) return cast(to, x);
  if (IsBool(from) || IsSmallInt(from)) return LegalCast(to, cast(DType::kI32, x));
  if (IsHalf(from)) return LegalCast(to, cast(DType::kF32, x));
  if (IsBool(to)) return x != K(x, 0);
  if (IsSmallInt(to)) {
    return IsFloat(from) ? CastToSmallInt(to, x) : cast(to, cast(DType::kI32, x));
  }
  // To f16 or bf16: numbers of up to 16 bits are exact in f32, wider ones go through f64.
  FZ_CHECK(IsHalf(to));
  return cast(to, RoundToOdd(cast(DType::kF64, x)));
}

V LegalBitcast(DType to, V x) {
  const DType from = x.type;
  if (to == from || IsLegalBitcast(to, from)) return bitcast(to, x);
  if (IsHalf(from)) return LegalBitcast(to, bitcast(DType::kU16, x));
  if (IsHalf(to)) return bitcast(to, LegalBitcast(DType::kU16, x));
  return LegalCast(to, x);  // i8 and u8, i16 and u16: wrapping keeps the bits
}

V LegalConst(Builder& b, DType type, uint64_t bits) {
  if (IsBool(type) || IsWide(type)) return b.ConstBits(type, bits);
  if (IsHalf(type)) return cast(type, b.Const(DType::kF32, FloatFromBits(type, bits)));
  return cast(type, b.Const(DType::kI32, double(IntFromBits(type, bits))));
}

// Copies a kernel through a builder, instruction by instruction.
class Rewriter {
 public:
  enum Pass { kCalls, kTypes };

  Rewriter(const Kernel& from, const LegalCaps& caps, Pass pass)
      : from_(from), caps_(caps), pass_(pass), to_(from), builder_(&to_), map_(from.body.size()) {
    to_.body.clear();
    builder_.Allow(caps.scale, caps.lookup);
  }

  StatusOr<Kernel> Run(LegalMap* map = nullptr) {
    std::vector<Id> made_for;
    for (size_t i = 0; i < from_.body.size(); ++i) {
      const Inst& inst = from_.body[i];
      if (pass_ == kCalls && inst.op == Op::kCall && !(caps_.native_calls >> inst.imm & 1)) {
        map_[i] = Inline(inst);
      } else if (HasValue(inst.op)) {
        map_[i] = Rewrite(inst);
      } else {
        CopyEffect(inst);
      }
      made_for.resize(to_.body.size(), Id(i));
    }
    if (map != nullptr) {
      map->to.clear();
      for (const V& v : map_) map->to.push_back(v.id);
      map->from = std::move(made_for);
    }
    return std::move(to_);
  }

 private:
  V Of(Id id) const { return id == kNone ? V{} : map_[id]; }

  V Rewrite(const Inst& inst) {
    if (pass_ == kTypes) {
      if (inst.op == Op::kCast) return LegalCast(inst.type, Of(inst.a));
      if (inst.op == Op::kBitcast) return LegalBitcast(inst.type, Of(inst.a));
      if (inst.op == Op::kConst) return LegalConst(builder_, inst.type, inst.imm);
    }
    Inst copy = inst;
    for (Id* id : {&copy.a, &copy.b, &copy.c}) *id = Of(*id).id;
    return builder_.Copy(copy);
  }

  void CopyEffect(const Inst& inst) {
    switch (inst.op) {
      case Op::kLoop:
        return builder_.Loop();
      case Op::kEnd:
        return builder_.End();
      case Op::kBarrier:
        return builder_.Barrier();
      case Op::kRepeat:
        return builder_.Repeat(Of(inst.a));
      case Op::kNext:
        return builder_.Next(Of(inst.a), Of(inst.b));
      case Op::kDone:
        return builder_.Done(Of(inst.a));
      default:
        return builder_.Store(int(inst.imm), Of(inst.a), Of(inst.b), Of(inst.c));
    }
  }

  V Inline(const Inst& inst) { return CallFn(Fn(inst.imm), Of(inst.a), Of(inst.b)); }

  const Kernel& from_;
  const LegalCaps caps_;
  const Pass pass_;
  Kernel to_;
  Builder builder_;
  std::vector<V> map_;  // old value to new value
};

}  // namespace

bool IsLegal(const Inst& inst, const Kernel& kernel, const LegalCaps& caps) {
  switch (inst.op) {
    case Op::kConst:
      return IsBool(inst.type) || IsWide(inst.type);
    case Op::kCast:
      return IsLegalCast(inst.type, kernel.body[inst.a].type);
    case Op::kBitcast:
      return IsLegalBitcast(inst.type, kernel.body[inst.a].type);
    case Op::kCall:
      return caps.native_calls >> inst.imm & 1;
    case Op::kScale:
      return caps.scale;
    case Op::kLookup:
      return caps.lookup;
    default:
      return true;
  }
}

StatusOr<Kernel> Legalize(const Kernel& kernel, const LegalCaps& caps, LegalMap* map) {
  // Definitions of functions cast as they please: they are legalised like everything else.
  LegalMap calls, types;
  FZ_ASSIGN_OR_RETURN(const Kernel inlined, Rewriter(kernel, caps, Rewriter::kCalls).Run(&calls));
  FZ_ASSIGN_OR_RETURN(Kernel legal, Rewriter(inlined, caps, Rewriter::kTypes).Run(&types));
  if (map != nullptr) {
    for (Id& id : calls.to) id = id == kNone ? kNone : types.to[id];
    for (Id& id : types.from) id = calls.from[id];
    *map = {std::move(calls.to), std::move(types.from)};
  }
  return legal;
}

StatusOr<Kernel> InlineCalls(const Kernel& kernel) {
  return Rewriter(kernel, {.lookup = true}, Rewriter::kCalls).Run();
}

}  // namespace frazil::kir
