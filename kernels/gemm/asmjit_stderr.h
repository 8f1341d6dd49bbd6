// Gives the library's copy of asmjit its standard error (meson.build says why there is a copy).
// Called once by RegisterJit. Invariant: done before any code is generated.
#pragma once

namespace frazil::gemm {

void SetAsmjitStderr();

}  // namespace frazil::gemm
