// What several loops over the same row share: values that one loop has and a later one needs, so
// that a row is read, and a costly function computed, once. Called by the CUDA printer and the
// choice of its variants. Invariant: a held value is the same at a loop index in both loops,
// whatever the kernel's shapes.
#pragma once

#include <vector>

#include "jit/kir/kir.h"

namespace frazil::jit::cuda {

// Results of warps or chunks, of one reduction, that are combined through shared memory.
inline constexpr int kPartials = 64;

// One value of the row.
struct Held {
  kir::Id made;               // the instruction that loads or computes it first
  std::vector<kir::Id> uses;  // equal instructions of later loops, which need not compute it
  int first = 0, last = 0;    // numbers of the loops that make it and use it last
  int64_t offset = 0;         // where its array begins, in bytes for each element of the row
  bool load = false;  // a load at the current indices: all of a row are made before its loop
};

struct HeldValues {
  std::vector<Held> values;
  int64_t bytes = 0;  // for each element of the row: of all arrays, where arrays share their place
                      // once one is no longer needed
  int registers = 0;  // the most 32-bit registers that are needed at once, for each element
};

// Of an unlegalised kernel. Nothing is held across a barrier.
HeldValues FindHeld(const kir::Kernel& kernel);

}  // namespace frazil::jit::cuda
