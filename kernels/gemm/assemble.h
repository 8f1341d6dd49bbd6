// Executable memory for the generated kernels of this folder.
// Called by kernels/gemm/codegen.cc and dots_code.cc. Invariant: a page is never writable and
// executable at once (dual mapping); code lives as long as the process.
#pragma once

#include <asmjit/x86.h>

#include "absl/functional/function_ref.h"

namespace frazil::gemm {

// The address of what `write` assembles; nullptr where executable memory is denied. Thread safe.
void* Assemble(absl::FunctionRef<void(asmjit::x86::Assembler&)> write);

}  // namespace frazil::gemm
