// A program for the NPU: the words, what its parameters are, and where each instruction comes from.
// Made by the emitter, the assembler and the loader of .snpu files; run by npu/simulator.h.
// Invariant: immutable once launched; what Validate accepts can be run without looking at a field
// again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "npu/isa.h"

namespace frazil::npu {

enum class ParamKind : uint8_t { kGmRead, kGmWrite, kU64, kF32 };
inline constexpr int kNumParamKinds = 4;
std::string_view Name(ParamKind kind);  // "gm.r" "gm.w" "u64" "f32"
struct Param {
  std::string name;
  ParamKind kind = ParamKind::kU64;
  bool operator==(const Param&) const = default;
};

// Where instructions from `first_pc` on (to the next entry) come from.
struct SourceEntry {
  uint32_t first_pc = 0;
  std::string op;    // name of the op in the user's program
  std::string file;  // of the user's line; empty if unknown
  int line = 0;
  bool operator==(const SourceEntry&) const = default;
};

// What the emitter says about a kernel, for reports; zero or empty where it says nothing.
struct ProgramMeta {
  std::string kernel_class;                         // "EW" "ROW" "COL" "GEMM" "COPY"
  std::string shape, tile;                          // free text
  std::array<uint64_t, kNumSpaces> scratch_peak{};  // bytes; GM's entry unused
  uint64_t gm_read = 0, gm_write = 0;               // expected bytes
  uint64_t macs = 0;
  bool operator==(const ProgramMeta&) const = default;
};

struct Program {
  std::string name;
  std::string preset;  // it was made for; empty: any
  std::vector<Param> params;
  std::vector<Instr> code;
  std::vector<SourceEntry> sources;  // ascending first_pc
  ProgramMeta meta;
  std::string note;

  // The entry that pc belongs to; null before the first.
  const SourceEntry* SourceOf(uint32_t pc) const;

  bool operator==(const Program&) const = default;
};

// Everything that can be known without running: registers, queue pairs, spaces that are immediate,
// jumps inside the program, params. The message names pc and text.
Status Validate(const Program& program);

}  // namespace frazil::npu
