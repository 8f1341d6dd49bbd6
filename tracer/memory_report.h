// How a plan uses memory, for people: what frazil.memory prints and draws. Made by plans
// (jit/run), handed on by tracer/recording. Invariant: the blocks of one memory that live at
// the same step do not overlap.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace frazil::tracer {

// Memory that one value, or several one after the other, lie in.
struct PlannedBlock {
  enum class Kind : uint8_t { kArena, kResult, kDonated };
  std::string what;  // op, shape and line
  Kind kind = Kind::kArena;
  int64_t bytes = 0;
  int64_t offset = 0;           // in the arena
  int32_t first = 0, last = 0;  // steps, both included
};

struct MemoryReport {
  std::vector<std::string> steps;  // what each does
  std::vector<PlannedBlock> blocks;
  int64_t arena_bytes = 0;   // of the CPU's arena
  int64_t arena_bound = 0;   // the most that blocks of it need at one step
  int64_t result_bytes = 0;  // new memory for results
  int64_t peak_bound = 0;    // the most that blocks and written results need at one step
};

}  // namespace frazil::tracer
#pragma GCC visibility pop
