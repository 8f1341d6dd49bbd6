// A code object as its instructions are: what each is, and how many values lie on the stack before
// it runs. Called by watch.cc. Invariant: where both are known, they are what the interpreter does;
// where the analysis is not sure, the code is said to be unknown.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bindings/python/py.h"

namespace frazil::python {

class CodeView {
 public:
  struct Instruction {
    uint8_t op = 0;
    int16_t depth = -1;  // -1: nothing gets here
    int32_t argument = 0;
  };

  // Null if the code is not understood. No Python error is set.
  static std::unique_ptr<CodeView> Of(PyCodeObject* code);

  // By offset in bytes. An argument's extension stands for the instruction that it extends.
  const Instruction& At(int offset) const { return instructions_[static_cast<size_t>(offset / 2)]; }
  // An exception raised there runs code that is written in the source: a handler, a finally.
  bool HasHandler(int offset) const;
  PyCodeObject* code() const { return reinterpret_cast<PyCodeObject*>(code_.get()); }

 private:
  bool Decode();
  bool Flow();
  bool FlowFrom(size_t start, int depth);
  bool FlowIntoHandlers();

  Object code_;
  std::vector<uint8_t> bytes_;
  std::vector<Instruction> instructions_;
  struct Range {
    int first, end;  // instructions
  };
  std::vector<Range> handled_;
  std::vector<int32_t> next_;  // of an instruction: the first unit behind it and its caches
};

}  // namespace frazil::python
