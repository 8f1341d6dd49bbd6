// What the extension's copy of asmjit writes its assertion failures to (meson.build says why there
// is a copy).
#include "bindings/python/asmjit_stderr.h"

extern "C" FILE* frazil_asmjit_stderr;
FILE* frazil_asmjit_stderr = nullptr;

namespace frazil::python {

void SetAsmjitStderr() { frazil_asmjit_stderr = stderr; }

}  // namespace frazil::python
