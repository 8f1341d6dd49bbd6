// Prints a kernel as CUDA C. Called by jit/runtime for groups placed on a GPU and by FRAZIL_DUMP; a
// launcher hands prelude and text to NVRTC with --fmad=false --ftz=false --prec-div=true
// --prec-sqrt=true. Invariant: the text needs no CUDA header, compiles for the host too under a
// small shim, and gives the interpreter's bits there and on the device.
//
// Launch. The argument is one struct of 64-bit words: buffers, extents, strides (bytes,
// [buffer][axis]), scalars, row_begin, row_end, col_begin, col_end, in KernelArgs' order. Points =
// rows x columns of that range.
//   vec space  one thread for each point, blocks of kCudaThreads: ceil(points / kCudaThreads)
//   blocks vec loop   one block of kCudaThreads threads for each point: thread t is lane t of the
//   reduction rule
// Each phase (kir.h: barriers) is an entry of its own, launched one after another.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/emit/emitter.h"

namespace frazil::jit {

inline constexpr int kCudaThreads = 64;

class CudaText : public Compiled {
 public:
  CudaText(std::string text, std::vector<std::string> entries, bool block_per_point)
      : text_(std::move(text)), entries_(std::move(entries)), block_per_point_(block_per_point) {}

  // There is nothing to run here: caps().executes is false.
  void Run(const kir::KernelArgs&, int64_t, int64_t, int64_t, int64_t) const override;
  size_t code_bytes() const override { return text_.size(); }
  std::string text() const override { return text_; }

  const std::vector<std::string>& entries() const { return entries_; }
  bool block_per_point() const { return block_per_point_; }

 private:
  const std::string text_;
  const std::vector<std::string> entries_;
  const bool block_per_point_;
};

// Emits CudaText. NotImplementedError if the lanes of a kernel's reductions do not fit shared
// memory.
std::unique_ptr<Emitter> NewCudaEmitter();

// What every text stands on: types, arithmetic with the IR's meaning, the thread macros.
std::string_view CudaPrelude();

}  // namespace frazil::jit
