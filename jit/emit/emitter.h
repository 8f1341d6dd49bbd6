// What turns kernel IR into something that runs (or text for another machine). Implemented by
// jit/emit/interp and jit/emit/x86 (jit/emit/cuda and jit/emit/npu have doors of their own, because
// they look at shapes); called by jit/cache, which walks its emitters
// from the fastest tier down. Invariant: whatever two emitters execute of one kernel agrees bit for
// bit (any NaN equals any NaN), and the interpreter says what is right.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/status.h"
#include "jit/kir/kir.h"
#include "jit/kir/legalize.h"

namespace frazil::jit {

// What a target is: all that lowering and legalisation may know about it.
struct Caps {
  std::string_view name;  // "interp", "avx2", "avx512"
  int vector_bytes = 0;   // width of one SIMD register; 0: no lanes to fill
  bool executes = false;  // Compiled::Run works in this process
  kir::LegalCaps legal;   // functions the target executes itself
};

// What an emitter makes of a kernel: something that can be called, or text. Immutable, so many
// threads may run it.
class Compiled {
 public:
  virtual ~Compiled() = default;

  // The plain entry, or null where there is none (interpreter, text).
  virtual kir::KernelFn fn() const { return nullptr; }

  // Computes rows [row_begin, row_end) x columns [col_begin, col_end). Only if the emitter's
  // caps().executes.
  virtual void Run(const kir::KernelArgs& args, int64_t row_begin, int64_t row_end,
                   int64_t col_begin, int64_t col_end) const = 0;

  // Bytes held, code and data, for the bounds of caches.
  virtual size_t code_bytes() const = 0;

  // Machine code that another process of this build may take up (Emitter::Load): it holds no
  // addresses. Empty where there is none.
  virtual std::string_view image() const { return {}; }

  // Source or listing, for dumps and goldens; may be empty.
  virtual std::string text() const { return {}; }
};

class Emitter {
 public:
  virtual ~Emitter() = default;
  virtual const Caps& caps() const = 0;

  // Legalises and emits. NotImplementedError: this target refuses the kernel, which then runs on a
  // lower tier.
  virtual StatusOr<std::unique_ptr<Compiled>> Emit(const kir::Kernel& kernel) = 0;

  // What Emit made of such a kernel elsewhere, from its image; `name` for profilers.
  virtual StatusOr<std::unique_ptr<Compiled>> Load(std::string_view image, std::string_view name) {
    return NotImplementedError("[", caps().name, "] takes no images.");
  }
};

}  // namespace frazil::jit
