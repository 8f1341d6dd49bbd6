// Compiled kernels by content. Called by the planner for every launch. Invariant: a kernel is
// compiled once however many threads ask for it; keys are compared in full; eviction never frees
// code that someone holds.
#pragma once

#include <memory>

#include "core/bounded_cache.h"
#include "jit/emit/emitter.h"

namespace frazil::jit {

// The kernel's code on the fastest tier that takes it: x86 unless FRAZIL_JIT=interp or executable
// memory is denied, then the interpreter. `compiled` (may be null) says whether this call compiled
// it: it was neither here nor on disk (jit/cache/disk_store). `lines`: the user's, for tools that look
// at the code (jit/emit/x86/code_names.h), which is named by those who asked for it first.
StatusOr<std::shared_ptr<const Compiled>> GetKernel(const kir::Kernel& kernel,
                                                    bool* compiled = nullptr,
                                                    std::string_view lines = {});

struct KernelCacheStats : CacheStats {
  int64_t compiles = 0;
  int64_t interpreted = 0;  // compiles that fell back to the interpreter
  int64_t loaded = 0;       // found on disk instead of compiled
  int64_t compile_us = 0;
};
KernelCacheStats GetKernelCacheStats();

// Forgets all kernels; those in use live on.
void ClearKernelCache();
// Evicts down to the bounds (core/settings).
void ShrinkKernelCache();
// Who also keeps plans that hold kernels, and lets some go if the kernels are too many (jit/eager).
void SetHolderOfKernels(void (*let_go)());

}  // namespace frazil::jit
