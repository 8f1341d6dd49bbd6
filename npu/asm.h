// Programs as text. Called by the command line, tests, the emitter's dumps, and wherever a message
// names an instruction. Invariant: what Disassemble prints assembles to an equal program.
//
//   .snpu 1.0
//   .preset dc16
//   .kernel NAME  params x:gm.r y:gm.w n:u64 w:f32
//   .param NAME:KIND             ; one more
//   .op "NAME" FILE:LINE         ; where the instructions from here on come from
//   .meta class "EW"             ; also shape, tile; scratch SPACE N, gm_read N, gm_write N, macs N
//   .note "TEXT"
//   loop:  VBINS.mul.f32 s15, s14, s20, #1, s5, #0, #0     ; op[.fn][.type] operands
//          LA  s6, ub:0x100      ; SLI and SLIH
//          SLI s4, 32768
//          SET VE>LD, #0
//          SBR.ltu s8, s3, loop  ; or a number of instructions
#pragma once

#include <string>
#include <string_view>

#include "npu/program.h"

namespace frazil::npu {

// ValueError names line, what stands there and what was expected. Fields of the program that only
// Validate looks at may be wrong.
StatusOr<Program> Assemble(std::string_view text);

struct DisassembleOptions {
  bool words = false;  // pc and word of every instruction in a comment
};
// The program must pass Validate.
std::string Disassemble(const Program& program, const DisassembleOptions& options = {});

// One instruction; jumps as the number of instructions. Takes instructions that no word stands for.
std::string Text(const Instr& instr);
// "ub:0x100"
std::string AddressText(uint64_t address);
// The text of a string in a program: as it is where it is a plain word, else in quotes.
std::string QuotedText(std::string_view text);

}  // namespace frazil::npu
