// CUDA texts of kernels, run on the host and compared with the interpreter. Used by the tests of
// the printer. Invariant: what runs is the text that NVRTC gets, with the grid, the arguments and
// the shared memory that a launch would have.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/emit/cuda/cuda.h"
#include "jit/emit/cuda/generic.h"
#include "jit/emit/emitter.h"
#include "tests/cuda/fake/shim_abi.h"
#include "tests/jit/kernel_gen.h"

namespace frazil::jit {

// The addresses of a case's buffers, as ChooseVariant takes them.
std::vector<uint64_t> AddressesOf(const Case& c);
// The variant that a launch of the case gets, and others that it might get at other addresses, on
// other devices, or in other sizes.
std::vector<cuda::CudaVariant> VariantsOf(const Case& c);
// For dense buffers apart from each other, with extents `outer` and innermost `inner`; their
// addresses are aligned, or `shift` elements beyond.
cuda::CudaVariant DenseVariant(const kir::Kernel& kernel, int64_t outer, int64_t inner,
                               uint64_t shift = 0);

// Kernels compiled into one library: a compiler starts slowly.
class HostBatch {
 public:
  HostBatch();
  ~HostBatch();
  HostBatch(const HostBatch&) = delete;

  void Add(const cuda::CudaSource& source);
  void AddText(const std::string& text);
  // An error holds what the compiler said.
  Status Build();
  // Runs over the case's whole space; `order` is that of fake::Grid.
  std::unique_ptr<Compiled> Executable(const kir::Kernel& kernel, const cuda::CudaSource& source,
                                       unsigned order = 0) const;
  const FzImage& image() const { return *image_; }

 private:
  std::string text_;
  int file_ = -1;  // open as long as the library, whose name is its number
  void* library_ = nullptr;
  const FzImage* image_ = nullptr;
};

// Prints each case in each of its variants and compares; returns the number of texts. Reports to
// googletest.
int CompareOnHost(const std::vector<Case>& cases);
// Each case on the generic text. Reports to googletest.
void CompareGenericOnHost(const std::vector<Case>& cases);

}  // namespace frazil::jit
