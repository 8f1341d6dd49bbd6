// Prints a kernel as CUDA C. Called by jit/plan for groups placed on a GPU and by FRAZIL_DUMP; a
// launcher hands prelude and text to NVRTC with --fmad=false --ftz=false --prec-div=true
// --prec-sqrt=true. Invariant: the text needs no CUDA header, compiles for the host too under a
// small shim, and gives the interpreter's bits there and on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/status.h"
#include "jit/kir/kir.h"

namespace frazil::jit {

namespace cuda {

// What a launch's shapes and addresses let the text be specialised for. Few values are possible, so
// few texts arise of one kernel: it is part of the key of compiled code.
struct CudaVariant {
  bool narrow = false;  // counts and byte offsets fit 31 bits
  bool apart = false;   // no output overlaps another buffer: inputs are read through the read-only
                        // cache
  uint8_t vec = 1;  // elements of the innermost axis, a divisor of its extent, that a thread reads
                    // and writes at once
  // Threads for one point of the space. Without a loop: 1. A column: 1 or 8. A row: 32, or fewer
  // for at most twice as many elements.
  uint8_t team = 1;
  uint8_t warps = 1;  // such teams, of 32, for one row
  uint16_t keep = 0;  // rows are read once: 64-element passes over its row that a team holds; 0:
                      // they are read again
  bool full = false;  // those passes, in registers, are exactly the row
  bool keep_shared = false;  // held in shared memory instead of registers
  uint16_t threads = 256;    // of a block

  bool operator==(const CudaVariant&) const = default;
  std::string Text() const;  // "n1a1v4t1w1k0b256": for keys of caches and names of files

  template <typename H>
  friend H AbslHashValue(H h, const CudaVariant& v) {
    return H::combine(std::move(h), v.Text());
  }
};

// What the choice may know of a device.
struct CudaTarget {
  int shared_bytes = 48 << 10;  // that one block may have, dynamic and static
  int multiprocessors = 132;
};

// `strides` in bytes, [buffer][axis]; `addresses` one a buffer.
CudaVariant ChooseVariant(const kir::Kernel& kernel, absl::Span<const int64_t> extents,
                          absl::Span<const int64_t> strides, absl::Span<const uint64_t> addresses,
                          const CudaTarget& target = {});

// One field of the parameter struct, in order; of 8 or 4 bytes, those of 8 first.
struct CudaArg {
  enum Kind : uint8_t { kAddress, kExtent, kStride, kScalar, kPoints, kColumns, kMagic, kShift };
  Kind kind;
  uint8_t bytes;
  int16_t index = 0;  // of the buffer, axis or scalar
  int16_t axis = 0;   // of a stride
};

struct CudaSource {
  std::string text;                  // to be appended to CudaPrelude(); many may follow one another
  std::vector<std::string> entries;  // one a phase, launched one after another
  CudaVariant variant;
  int threads = 0;              // of a block
  int shared_bytes = 0;         // dynamic shared memory of a block
  int static_shared_bytes = 0;  // and what its entries declare, at most
  std::vector<CudaArg> args;
  int args_bytes = 0;      // of the parameter struct
  int rank = 1, axes = 1;  // of the kernel
};

// NotImplementedError: the kernel's parameters pass kCudaArgBytes, or its reductions shared memory,
// or it has a repeat.
// A variant that does not suit the kernel (as the default one may not) is made to.
// `lines` ("train.py:12") are empty, one for the kernel, or one for each instruction of its body:
// -lineinfo then points there. Equal kernels (but for names of buffers), variants and lines give
// equal texts, and different ones different names of entries.
StatusOr<CudaSource> PrintCuda(const kir::Kernel& kernel, const CudaVariant& variant,
                               absl::Span<const std::string> lines = {});

inline constexpr int kCudaArgBytes = 4000;

// Dynamic and static shared memory of a block, beyond which a function must ask for it.
inline constexpr int kCudaSharedUnasked = 48 << 10;

struct CudaGrid {
  unsigned grid = 0;  // 0: the space is empty, nothing is launched
  unsigned block = 0;
  unsigned shared_bytes = 0;
};
// A launch covers the whole space.
CudaGrid LaunchShape(const CudaSource& source, absl::Span<const int64_t> extents);

// The bytes of the kernel's one parameter; `args.buffers` are device addresses, not read here.
std::vector<uint8_t> PackArgs(const CudaSource& source, const kir::KernelArgs& args);
// Where the address of buffer `index` lies in those bytes, -1 if the text does not use it: to
// update a launch whose pointers have changed. (The variant must still be the one for the new
// addresses.)
int AddressOffset(const CudaSource& source, int index);

// What NVRTC is told, for compute capability arch / 10 . arch % 10; `ptx`: code for a virtual
// architecture. The bits of results depend on these flags.
std::vector<std::string> NvrtcOptions(int arch, bool ptx = false);

}  // namespace cuda

// What every text stands on: types, arithmetic with the IR's meaning, memory.
std::string_view CudaPrelude();

}  // namespace frazil::jit
