// Code for 64-bit integers that 32-bit lanes do for (selection_narrow.cc).
#include "jit/emit/x86/codegen.h"

namespace frazil::jit {

namespace I = x86::Inst;

// The 64-bit integer at `mem` in every 32-bit lane, or `beyond`.
Codegen::Vec Codegen::LoadNarrowed(Id id, Mem mem) {
  Gp value = cc_.newInt64(), low = cc_.newInt64(), beyond = cc_.newInt64();
  mem.setSize(8);
  cc_.mov(value, mem);
  cc_.mov(beyond, Of(id).beyond);
  cc_.movsxd(low, value.r32());
  cc_.cmp(low, value);
  cc_.cmovne(low, beyond);
  Vec d = NewFor(DType::kI32);
  cc_.vmovd(d.xmm(), low.r32());
  cc_.emit(I::kIdVpbroadcastd, d, d.xmm());
  return d;
}

// A comparison of a narrowed value with a cast: with what was cast.
kir::Inst Codegen::Narrowed(kir::Inst compare) const {
  if (Is(compare.a, Form::kNarrowed)) std::swap(compare.a, compare.b);
  if (Is(compare.b, Form::kNarrowed)) compare.a = k_.body[compare.a].a;
  return compare;
}

}  // namespace frazil::jit
