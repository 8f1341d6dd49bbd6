// Generated code as an object file in memory, as GDB's JIT interface wants it: a symbol, how to
// unwind its frames, and the user's line. Used by code_names.cc. Invariant: the object describes
// code that stays where it is; it holds none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace frazil::jit {

struct CodeObject {
  std::string_view name;
  std::string_view image;
  uint64_t address;
  std::string_view file;  // the user's, or empty
  int line = 0;
};

std::string ElfObject(const CodeObject& code);

}  // namespace frazil::jit
