// Gives the virtual registers of a function in asmjit's Compiler machine registers, in place of
// asmjit's own allocator, which took most of the time that machine code takes to make. Called by
// Codegen::Run. Split by subject: allot_steps.cc (what is read and written), allot_lives.cc (who is
// needed where), allot.cc (the scan, the stack, the frame), allot_spill.cc (what does not fit).
//
// A register keeps one place from where its value is first made to where it may last be needed, by
// liveness over the blocks of the function. A scan over these lives in order gives out registers;
// what finds none, or whoever is used least for its length instead, lives on the stack (constants:
// in the pool) and in a register only within each instruction; then the scan begins again.
//
// Invariant: instructions stay as they are but for the registers they name; what is added moves
// values and touches no flags, what is left out moves a register to itself.
#pragma once

#include <asmjit/x86.h>

#include <array>
#include <cstdint>
#include <vector>

#include "jit/emit/x86/register_file.h"

namespace frazil::jit {

namespace x86 = asmjit::x86;

class Allotter {
 public:
  Allotter(x86::Compiler* cc, asmjit::FuncNode* fn, const RegisterFile& file);

  // False if that cannot be done; the function is then of no use. Its only return ends it.
  bool Run();

 private:
  static constexpr int kGroups = 3;
  static constexpr int kNowhere = -1;

  // Places: instruction i reads at 2i + 2 and writes at 2i + 3; arguments come at 0.
  static int ReadAt(int step) { return 2 * step + 2; }
  static int WriteAt(int step) { return 2 * step + 3; }

  struct Ref {
    int32_t reg;  // index of the virtual register
    bool read, write;
  };
  struct Step {
    asmjit::InstNode* node;
    int first_ref;
  };
  struct Block {
    int begin, end;  // steps
    std::array<int, 2> next = {kNowhere, kNowhere};
  };
  struct Life {
    int begin = INT32_MAX, end = kNowhere;
    int reg = kNowhere;     // machine register
    int block = kNowhere;   // the only one that mentions it, or kMany
    int number = kNowhere;  // among those that several mention
    int near = kNowhere;    // the one that it is copied from
    int wish = kNowhere;    // machine register that it comes in
    int8_t group = 0;
    bool spilled = false;
    float weight = 0;  // uses, those in loops more

    bool used() const { return end != kNowhere; }
  };
  static constexpr int kMany = -2;
  // Machine registers that instructions want between two nodes.
  struct Held {
    const asmjit::BaseNode *from, *to;
    uint32_t regs;
    int begin = 0, end = 0;
  };

  // --- allot_steps.cc
  void FreeFixed();
  bool Collect();
  void AddStep(asmjit::InstNode* node);
  int EndOfRefs(size_t step) const {
    return step + 1 < steps_.size() ? steps_[step + 1].first_ref : int(refs_.size());
  }
  static bool IsConstantOfItself(const asmjit::InstNode& node);
  void Touch(uint32_t id, bool read, bool write);

  // --- allot_lives.cc
  void EndBlocks();
  void FindLives();
  void FindAcross();
  void Weigh();
  void FindNear();

  // --- allot.cc
  bool Scan();
  uint32_t FreeFor(const Life& life, const std::array<uint32_t, kGroups>& busy) const;
  int Choose(const Life& life, uint32_t free) const;
  void Write();
  bool IsNoMove(const asmjit::InstNode& node) const;
  uint32_t PlaceOf(uint32_t id) const;
  void MakeFrame(asmjit::FuncArgsAssignment* args);

  // --- allot_spill.cc
  void Spill();
  struct Home {
    int reg;
    x86::Mem mem;
    asmjit::InstNode* made = nullptr;  // a constant: by this instruction alone
  };
  std::vector<Home> FindHomes(std::vector<int>* home_of);
  void SpillIn(size_t step, const std::vector<int>& home_of, const std::vector<Home>& homes);
  bool TakeFromMemory(asmjit::InstNode* node, const Home& home) const;
  asmjit::BaseReg Fetch(asmjit::InstNode* node, const Home& home, bool load);
  asmjit::InstId MoveOf(int reg) const;

  x86::Compiler& cc_;
  asmjit::FuncNode* fn_;
  std::array<uint32_t, kGroups> file_;

  std::vector<Step> steps_;
  std::vector<Ref> refs_;  // of all steps, in order
  std::vector<Block> blocks_;
  std::vector<int> block_of_label_;
  std::vector<Life> lives_;  // [virtual register]
  std::vector<bool> stays_;  // registers that live within an instruction
  std::vector<Held> held_;
  int across_ = 0;  // registers that several blocks mention
};

}  // namespace frazil::jit
