// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; SC11)
// over kir::V. Called by jit/lower. Invariant: the words of core/SEMANTICS.md, "Random numbers".
#pragma once

#include <array>

#include "jit/kir/builder.h"

namespace frazil::jit {

// The four words of block `counter` (u64, the low half of the 128-bit counter; the high half is 0)
// under `key` (u64).
inline std::array<kir::V, 4> Philox(kir::V key, kir::V counter) {
  using kir::V;
  kir::Builder& b = *key.builder;
  const auto u32 = [&](uint64_t bits) { return b.ConstBits(DType::kU32, bits); };
  const auto low = [&](V v) { return b.Cast(DType::kU32, v); };
  const auto high = [&](V v) { return b.Cast(DType::kU32, v >> b.ConstBits(DType::kU64, 32)); };
  V k0 = low(key), k1 = high(key);
  std::array<V, 4> x = {low(counter), high(counter), u32(0), u32(0)};
  for (int round = 0; round < 10; ++round) {
    const V m0 = u32(0xD2511F53), m1 = u32(0xCD9E8D57);
    x = {mulhi(m1, x[2]) ^ x[1] ^ k0, m1 * x[2], mulhi(m0, x[0]) ^ x[3] ^ k1, m0 * x[0]};
    k0 = k0 + u32(0x9E3779B9);
    k1 = k1 + u32(0xBB67AE85);
  }
  return x;
}

}  // namespace frazil::jit
