// CUDA C to functions of a device: NVRTC on threads of its own, kept in the process and on disk.
// Called by the kernels and products of plans. Invariants: one compilation of a text for an
// architecture however many threads and devices ask; a file of the cache is used only if it was
// made from the very same text, options, architecture and compiler, and its bytes are whole; nobody
// but the user may have written it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/bounded_cache.h"
#include "jit/cuda/device.h"

namespace frazil::cuda {

struct Source {
  std::string name;  // for messages
  std::string text;  // whole: prelude and kernels
  // What the compiler is told for compute capability arch / 10 . arch % 10; ptx: for a virtual
  // architecture.
  std::vector<std::string> (*options)(int arch, bool ptx);
};

// A loaded image. Its functions live as long as it does.
class Module {
 public:
  Module(Device* device, CUmodule module) : device_(device), module_(module) {}
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  StatusOr<CUfunction> Function(const std::string& entry) const;

 private:
  Device* const device_;
  const CUmodule module_;
};
using ModuleRef = std::shared_ptr<const Module>;

// A module that is being made.
class Compilation {
 public:
  virtual ~Compilation() = default;
  virtual bool done() const = 0;
  // Waits for it. The error of a text that does not compile holds NVRTC's messages.
  virtual StatusOr<ModuleRef> Wait() const = 0;
};
using CompilationRef = std::shared_ptr<const Compilation>;

// Begins in the background unless the module is at hand; `fresh` (may be null) says that it was
// not.
CompilationRef StartCompile(Device* device, Source source, bool* fresh = nullptr);

// The same, and waits.
StatusOr<ModuleRef> Compile(Device* device, Source source);

// Compilations that are not done, of all devices: a launch may have to wait.
int PendingCompilations();

// Hits: modules that were at hand.
struct CompilerStats : CacheStats {
  int64_t compiled = 0;   // by NVRTC
  int64_t from_disk = 0;  // images found in the cache of files
  int64_t rejected = 0;   // files that were not what they should be
  int64_t compile_us = 0;
};
CompilerStats GetCompilerStats();

// Forgets the modules that nobody holds.
void ClearModules();

}  // namespace frazil::cuda
