// The numbers of distributed/tuned.def as constants, beside those of core/tuned.h. Used by distributed
// and by the collectives of jit/cuda and jit/run/cuda. Invariant: they change speed, memory and how
// long is waited, never a bit of a result.
#pragma once

#include <cstdint>

namespace frazil::tuned {

#define FZ_TUNED(name, type, value, unit, decides, command) inline constexpr type name = value;
#include "distributed/tuned.def"
#undef FZ_TUNED

}  // namespace frazil::tuned
