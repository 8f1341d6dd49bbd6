// The NPU emitter: a kernel of the kernel IR on concrete extents and strides becomes a program for
// the simulated NPU. Called by the device (jit/run/npu) and the command line. Invariant: the
// program's results are the bits of the interpreter on the same kernel; a program that faults is a
// bug of this folder.
//
// The emitter (jit/emit/npu) makes straight-line programs. space_plan says which axes of a kernel
// are rows and columns of tiles; body_info finds types, shapes (full, row, column, number) and
// lifetimes; tile_program writes one tile's loads, vector instructions and stores; kernel_emitter
// tries tilings and keeps the fastest by the cycle model; gemm is the matrix product, which takes
// a following kernel along. All of them write to a Stream: instructions in the order of a
// sequential machine, with the buffers they touch. It keeps a vector clock for each queue and puts
// in a SET and a WAIT only where no order follows from others, so flags need no care elsewhere.
#pragma once

#include "jit/kir/kir.h"
#include "npu/preset.h"
#include "npu/program.h"

namespace frazil::npu {

// A launch of a kernel: extents of its axes, byte strides [buffer][axis].
struct LaunchShape {
  absl::Span<const int64_t> extents, strides;
};

struct EmitOptions {
  std::string op, file;  // of the user's line, for the source map
  int line = 0;
  int64_t max_tile_bytes = 32 * 1024;  // of one operand
  bool search = true;  // time several tilings and take the fastest; otherwise the largest that fits
};

// Parameters: the device address of each buffer, then the word of each scalar, in the kernel's
// order. NotImplementedError names what the NPU does not have; the CPU runs such kernels.
StatusOr<Program> EmitKernel(const kir::Kernel& kernel, const LaunchShape& shape,
                             const Preset& preset, const EmitOptions& options = {});

}  // namespace frazil::npu
