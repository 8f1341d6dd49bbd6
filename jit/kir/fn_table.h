// Names and operand counts of the functions a `call` may name: kernels/fn.def as data. Called by
// the printer, parser, verifier and emitters. Invariant: no other list of functions exists.
#pragma once

#include <cstdint>
#include <string_view>

namespace frazil::kir {

struct FnRow {
  std::string_view name;
  int operands;
};
inline constexpr FnRow kFns[] = {
#define FZ_FN(E, name, operands, ulp32, ulp64) {name, operands},
#include "kernels/fn.def"
#undef FZ_FN
};
inline constexpr int kNumFns = sizeof(kFns) / sizeof(kFns[0]);

inline std::string_view FnName(uint64_t fn) { return fn < kNumFns ? kFns[fn].name : "<unknown>"; }

// The number of the function called `name`, or -1.
inline int FindFn(std::string_view name) {
  for (int i = 0; i < kNumFns; ++i) {
    if (kFns[i].name == name) return i;
  }
  return -1;
}

}  // namespace frazil::kir
