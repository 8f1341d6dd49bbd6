// CUDA C text as C++ for the host, and its compilation. Called by the fake NVRTC and by tests that
// run text without a driver. Invariant: the text itself is not changed, but for the declaration of
// dynamic shared memory, which C++ has no word for.
#pragma once

#include <string>
#include <vector>

namespace fake {

// The names of the kernels in a text.
std::vector<std::string> KernelNames(const std::string& cuda);

// What the compiler reads: the shim, the text (its lines numbered as those of `file`), the table
// of kernels (shim_abi.h: fz_image).
std::string HostText(const std::string& cuda, const std::string& file);

struct HostLibrary {
  std::string bytes;  // of the shared library
  std::string log;    // what the compiler said
};
// Compiles, or finds the same text compiled before in the folder FAKE_CUDA_CACHE (default
// /tmp/frazil-fake-cuda-UID). `bytes` is empty if the text does not compile.
HostLibrary CompileHost(const std::string& cuda, const std::string& file);

}  // namespace fake
