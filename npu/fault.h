// What a program did wrong: the code and all that is known of the place. Made by the simulator and
// the checker, shown to users as NpuFault. Invariant: the first fault of a launch is the one that
// is reported, and the text of a fault depends on program and inputs alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "npu/program.h"

namespace frazil::npu {

enum class FaultCode : uint8_t {
#define NPU_FAULT(E, NAME, sentence) k##E,
#include "npu/faults.def"
#undef NPU_FAULT
};
std::string_view Name(FaultCode code);
std::string_view Sentence(FaultCode code);

struct Fault {
  FaultCode code = FaultCode::kSimInternal;
  int block = 0;
  uint32_t pc = 0;
  std::string instruction;  // disassembly
  Queue queue = kS;
  int operand = -1;                       // number in the instruction's list; -1: none
  uint64_t address = 0, address_end = 0;  // bytes [address, end) if they differ
  int64_t cycle = -1;                     // where time was kept
  SourceEntry source;                     // of pc
  std::string detail;                     // both values, in words
  std::optional<uint32_t> other_pc;       // of races: the other access
  std::string other_instruction;
  std::string graph;  // DEADLOCK: who waits for whom, as .dot

  // Several lines: code and sentence, instruction with pc and queue, operand and addresses, the
  // op and the user's line, the other access.
  std::string Text() const;
  std::string Json() const;
};

}  // namespace frazil::npu
