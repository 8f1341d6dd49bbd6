// Which machine registers code may use. Read by jit/emit/x86; tests allow few, so that values have
// to go to the stack.
#pragma once

#include <cstdint>

namespace frazil::jit {

// Bit i: register i may be used.
struct RegisterFile {
  uint32_t gp = 0xffef;  // all but the stack pointer
  uint32_t vec = 0xffffffff;
  uint32_t mask = 0xfe;  // k0 stands for no mask
};

}  // namespace frazil::jit
