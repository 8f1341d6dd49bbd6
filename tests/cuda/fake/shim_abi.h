// What CUDA text compiled for the host (shim.h) and the code that runs it (block.cc) agree on.
// Included by both. Invariant: includes nothing and uses built-in types alone, because the text
// that follows it declares names of its own.
#pragma once

struct uint3 {
  unsigned x, y, z;
};

// What a thread of the running block asks of whoever runs it.
enum FzWarpOp { kFzSync, kFzShuffle, kFzBallot };
struct FzHooks {
  // Waits for all threads of the block that have not ended. Returns of how many `value` was not 0.
  unsigned (*block_barrier)(bool value);
  // Waits for the threads of the warp named in `mask`. For kFzShuffle returns the value of lane
  // `source`; for kFzBallot the lanes whose value is not 0.
  unsigned long long (*warp)(FzWarpOp op, unsigned mask, unsigned long long value, unsigned source);
  void (*trap)();
};

// Where the running thread is: set before it runs and after every wait.
struct FzContext {
  uint3 thread, block, block_dim, grid_dim;
  void* dynamic_shared;
  const FzHooks* hooks;
};

struct FzEntry {
  const char* name;
  void (*run)(void* const* params);
  unsigned params;
  const unsigned* sizes;
  const unsigned* alignments;
};

// The one symbol of a compiled text.
struct FzImage {
  FzContext* context;
  const FzEntry* entries;
  unsigned count;
  // Static shared memory of all kernels of the text; null without any.
  const char *shared_begin, *shared_end;
};
