// A code object as its instructions are: what each is, and how many values lie on the stack before
// it runs. Called by watch.cc. Invariant: where both are known, they are what the interpreter does;
// where the analysis is not sure, the code is said to be unknown.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
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
  // Calls f with the offset of every instruction that may follow, exceptions apart.
  template <typename F>
  void ForFollowing(int offset, const F& f) const {
    const auto i = static_cast<size_t>(offset / 2);
    if (jumps_[i] >= 0) f(2 * jumps_[i]);
    if (!ends_[i]) f(2 * next_[i]);
  }
  // Calls f with the offset of every handler that an exception raised there may go on in.
  template <typename F>
  void ForHandlers(int offset, const F& f) const {
    for (const Range& range : handled_)
      if (range.Has(offset)) f(2 * range.handler);
  }
  // Where an instruction that reads a truth goes on from it, by (false, true); the same wherever a
  // loop's test stands, before the loop or at its end. {-1, -1} of all others.
  std::pair<int, int> Branches(int offset) const;
  int units() const { return static_cast<int>(instructions_.size()); }
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
    int first, end, handler;  // instructions
    bool is_written;          // in the source; else the compiler adds it
    bool Has(int offset) const { return first <= offset / 2 && offset / 2 < end; }
  };
  std::vector<Range> handled_;
  std::vector<int32_t> next_;   // of an instruction: the first unit behind it and its caches
  std::vector<int32_t> jumps_;  // where it may jump to, or -1
  std::vector<bool> ends_;      // the instruction behind it does not follow
};

}  // namespace frazil::python
