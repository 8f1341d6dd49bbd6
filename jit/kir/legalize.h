// Legalisation: rewrites a kernel so that an emitter meets only a small closed set of instructions.
// Called by every emitter first. Invariant: the meaning does not change, bit for bit (any NaN
// equals any NaN).
//
// After Legalize these remain, and nothing else (IsLegal says so of one instruction):
//   const     bool i32 i64 u32 u64 f32 f64
//   cast      i8 i16 u8 u16 bool -> i32              exact
//             i32 -> i8 i16 u8 u16                   wraps
//             f16 bf16 -> f32                        exact
//             f32 -> f16 bf16                        nearest even
//             i32 u32 i64 u64 <-> each other         wraps
//             i32 u32 i64 u64 -> f32 f64             nearest even
//             f32 f64 -> i32 u32 i64 u64             truncates, saturates, NaN gives 0
//             f32 <-> f64                            nearest even
//             (a cast to bool became `ne 0`)
//   bitcast   i32 u32 f32 among each other, i64 u64 f64 among each other, u16 <-> f16 bf16
//   call      only the functions of LegalCaps::native_calls
//   scale, lookup   only if LegalCaps says so
// All other instructions are as ops.def types them; param, load and store have any dtype.
#pragma once

#include "jit/kir/kir.h"

namespace frazil::kir {

struct LegalCaps {
  // Bit n: the target executes function n of kernels/fn.def itself, with the same bits as its
  // definition.
  uint64_t native_calls = 0;
  // It executes `scale` and `lookup` itself; without that definitions do not use them.
  bool scale = false, lookup = false;
};

bool IsLegal(const Inst& inst, const Kernel& kernel, const LegalCaps& caps);

// Where instructions went.
struct LegalMap {
  std::vector<Id> to;    // of each old instruction the one that has its value, kNone for others
  std::vector<Id> from;  // of each new instruction the old one that it was made for
};

// `kernel` must verify. (No definition fails today; one that covers f32 alone would answer
// NotImplementedError.)
StatusOr<Kernel> Legalize(const Kernel& kernel, const LegalCaps& caps = {},
                          LegalMap* map = nullptr);

// Only replaces calls by the functions' definitions: what the interpreter runs.
StatusOr<Kernel> InlineCalls(const Kernel& kernel);

}  // namespace frazil::kir
