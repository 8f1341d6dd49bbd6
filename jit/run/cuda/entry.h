// A kernel with a text of its own (products, copies, updates) on one GPU. Called by the library
// steps of jit/run/cuda. Invariant: the text is compiled once, in the background, from the
// moment a plan has it; equal texts share a module.
#pragma once

#include <mutex>
#include <string>

#include "jit/cuda/compiler.h"

namespace frazil::jit {

namespace gpu = ::frazil::cuda;

inline gpu::CUdeviceptr AddressOf(const char* data) { return reinterpret_cast<uintptr_t>(data); }

class CudaEntry {
 public:
  // Begins to compile `text`, without the prelude. `origin` is the user's line, for errors.
  CudaEntry(gpu::Device* device, const std::string& entry, const std::string& text,
            const std::string& origin);

  // Waits for the compiler. `args` is the kernel's one parameter.
  Status Launch(int64_t blocks, int threads, const void* args) const;

 private:
  Status Load() const;

  gpu::Device* const device_;
  const gpu::LaunchNameRef name_;
  const gpu::CompilationRef compilation_;
  mutable std::once_flag once_;
  mutable Status status_;
  mutable gpu::ModuleRef module_;
  mutable gpu::CUfunction function_ = nullptr;
};

}  // namespace frazil::jit
