// The x86 emitter: machine code for AVX2 and AVX-512 through asmjit. Made by jit/cache, which
// asks X86Emitter::Detect() for the level. Invariant: compiled kernels agree bit for bit with the
// interpreter on both levels, for any split into rows and columns; they expect MXCSR at its default
// (nearest even, no flush to zero, no denormals-are-zero), which whoever enters a kernel sees to.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/threads/mutex.h"
#include "jit/emit/emitter.h"
#include "jit/emit/x86/isa.h"
#include "jit/emit/x86/register_file.h"

namespace frazil::jit {

class X86Emitter : public Emitter {
 public:
  explicit X86Emitter(Isa isa, const RegisterFile& file = {});
  ~X86Emitter() override;

  // The best level of this machine; nullopt if it lacks AVX2, FMA, F16C or BMI.
  static std::optional<Isa> Detect();
  static bool Supported(Isa isa);

  const Caps& caps() const override { return caps_; }

  // Kernels whose registers asmjit's allocator had to find.
  int64_t given_up() const { return given_up_.load(std::memory_order_relaxed); }

  // Safe to call from many threads. NotImplementedError where executable memory is denied.
  StatusOr<std::unique_ptr<Compiled>> Emit(const kir::Kernel& kernel) override;
  StatusOr<std::unique_ptr<Compiled>> Load(std::string_view image, std::string_view name) override;

  // What images depend on beside kernel, level and build: the processor, and the assembler if it is
  // a library of its own. One line.
  static std::string Identity();

 private:
  struct Memory;

  std::shared_ptr<Memory> WritableMemory();

  Isa isa_;
  RegisterFile file_;
  Caps caps_;
  std::atomic<int64_t> given_up_{0};
  Mutex mutex_;                     // taken while nobody forks
  uint32_t forks_ = 0;              // before memory_ was made
  std::shared_ptr<Memory> memory_;  // outlives the emitter while compiled kernels hold it
};

}  // namespace frazil::jit
