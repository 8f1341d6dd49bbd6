// The numbers that were tuned, as constants: core/tuned.def says what each decides and which
// command shows what another value does. Used by whoever decides by one. Invariant: they change
// speed and memory, and what is explained of them, never a bit of a result.
#pragma once

#include <cstddef>
#include <cstdint>

namespace frazil::tuned {

#define FZ_TUNED(name, type, value, unit, decides, command) inline constexpr type name = value;
#include "core/tuned.def"
#undef FZ_TUNED

}  // namespace frazil::tuned
