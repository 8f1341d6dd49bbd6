#include "kernels/gemm/asmjit_stderr.h"

#include <cstdio>

// What the copy of the archive names where the original names stderr.
extern "C" FILE* frazil_asmjit_stderr;
FILE* frazil_asmjit_stderr = nullptr;

namespace frazil::gemm {

void SetAsmjitStderr() { frazil_asmjit_stderr = stderr; }

}  // namespace frazil::gemm
