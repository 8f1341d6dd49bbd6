// How many bytes the CPU's storages take now: GetMemoryStats().live_bytes without the rest, for who
// asks often (core/profile.cc). Invariant: as GetMemoryStats.
#pragma once

#include <cstdint>

namespace frazil {

int64_t LiveMemory();

}  // namespace frazil
