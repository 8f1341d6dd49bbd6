// Loops over the loop axis and what they reduce.
#include "jit/emit/x86/codegen.h"
namespace frazil::jit {
void Codegen::EmitLoop(Id begin, Id end) {
  status_ = NotImplementedError("[x86] loops: kernel ", k_.name, ".");
}
}  // namespace frazil::jit
