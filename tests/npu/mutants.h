// Wrong programs made from right ones by one small change each. Called by the test of the corpus.
// Invariant: programs without jumps; a mutant differs from its program in one instruction or one
// pair of flags (and in what finds a register for the changed operand).
#pragma once

#include <functional>
#include <string>

#include "tests/npu/corpus.h"

namespace frazil::npu {

// NPU_MUTANT(Enum, what is changed)
#define NPU_MUTANTS(M)                            \
  M(Set, "a SET deleted")                         \
  M(Wait, "a WAIT deleted")                       \
  M(Pair, "a SET deleted with its WAIT")          \
  M(Id, "ids of two SETs or WAITs swapped")       \
  M(Buffer, "the other buffer of a pair")         \
  M(Shift, "an address moved by 32 bytes")        \
  M(Rows, "a row more")                           \
  M(Window, "a window one element shorter")       \
  M(Store, "the last store of an output deleted") \
  M(Function, "another function or type")

enum class MutantKind : uint8_t {
#define NPU_MUTANT(E, text) k##E,
  NPU_MUTANTS(NPU_MUTANT)
#undef NPU_MUTANT
      kCount
};
std::string_view Name(MutantKind kind);

struct Mutant {
  MutantKind kind;
  int64_t pc;  // in the unchanged program; of kWindow: the memory
  std::string text;
  Program program;
  int shorter = -1;  // the memory whose window ends one element early
};

// At most `limit` of each kind, evenly spread; 0: all.
void ForEachMutant(const CorpusProgram& c, MutantKind kind, int64_t limit,
                   const std::function<void(const Mutant&)>& f);

// Whether everything that flags order in `before` is ordered in `after` too. The two differ in
// flags only.
bool OrdersAsMuch(const Program& before, const Program& after);

// Whether the changed instruction writes no byte that is read later or left as a result, other than
// what it wrote before; for kinds other than kRows it must not have written such a byte before
// either. Such a mutant gives the same results on all inputs.
bool WritesNothingElse(const CorpusProgram& c, const Mutant& mutant);

// Whether the changed instruction leaves the same memory as before on the inputs in `c`, apart from
// bytes that nothing reads later.
bool LeavesTheSame(const CorpusProgram& c, const Mutant& mutant);

}  // namespace frazil::npu
