// What is known of registers and flags at a place of a program without running it. Called by Lint.
// Invariant: a value that is known is the one of every run that gets there.
#pragma once

#include <bitset>
#include <optional>
#include <string>

#include "npu/preset.h"

namespace frazil::npu {

inline constexpr size_t kAllFlags = size_t{kNumQueues} * kNumQueues * kFlagsPerPair;
using FlagSet = std::bitset<kAllFlags>;
using Known = std::optional<uint64_t>;  // none: depends on data or path

struct FlowState {
  std::array<Known, kRegisters> registers;
  uint32_t written = 1;  // registers that some path has written; s0 is 0
  FlagSet may_be_set, may_be_clear;

  FlowState();  // of the first instruction
  // Of a place that two paths reach.
  static FlowState Merged(const FlowState& a, const FlowState& b);

  Known Read(uint8_t field) const;
  // What one instruction does.
  void Apply(const Instr& instr, const Preset& preset);

  bool operator==(const FlowState&) const = default;

 private:
  void Write(uint8_t reg, Known value);
  Known Computed(const Instr& instr) const;
  void ChangeFlags(const Instr& instr);
};

// The flags that a SET or WAIT may mean where its id is `id`, which is below kFlagsPerPair.
FlagSet FlagsOf(const Instr& instr, Known id);
std::string FlagText(size_t flag);  // "VE>LD #0"

}  // namespace frazil::npu
