// Gives the extension's copy of asmjit its standard error. Called once by module.cc.
// Invariant: done before any code is generated.
#pragma once

#include <cstdio>

namespace frazil::python {

void SetAsmjitStderr();

}  // namespace frazil::python
