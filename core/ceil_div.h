// How many blocks of `b` cover `a`. Called wherever work is cut into blocks. Invariant: a >= 0,
// b > 0.
#pragma once

#include <cstdint>

namespace frazil {

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace frazil
