// The scalar unit: fetches one program in order, runs scalar instructions itself and hands every
// other one, with its operands read, to a sink. Used by all modes: the functional machine, the
// checker and the cycle model are sinks (npu/simulator.h combines them). Invariant: the
// sequence of issues depends on program, parameters and what SLD reads, never on timing; program
// order is a legal schedule of every program that keeps the flag rules.
#pragma once

#include <array>
#include <optional>

#include "npu/fault.h"
#include "npu/preset.h"

namespace frazil::npu {

// One executed instruction with the values of its operands.
struct Issue {
  uint32_t pc = 0;
  Op op = Op::kNOP;
  uint8_t dt = 0, fn = 0;
  Queue queue = kS;  // that executes it
  std::array<uint64_t, kMaxOperands> v{};

  Type type() const { return Type(dt); }
};

class Sink {
 public:
  virtual ~Sink() = default;
  // False: it filled *fault (code, operand, addresses, detail; the scalar unit adds the rest, and
  // the place unless `instruction` is filled in) and the block ends. Scalar instructions are handed
  // over too, after they took effect; `taken` tells of a branch.
  virtual bool On(const Issue& issue, bool taken, Fault* fault) = 0;
};

struct BlockContext {
  const Program* program;
  const Preset* preset;
  absl::Span<const uint64_t> params;
  int block = 0, blocks = 1;
  int64_t budget = int64_t{1} << 40;  // instructions until WATCHDOG
  // Whether FLAG_ORDER, FLAG_OVERFLOW and FLAG_LEAK are found here, in the order of the program.
  bool flag_order = true;
  // SLD: four bytes of UB. Null where there is no data; SLD is then a fault.
  uint32_t (*load_ub)(void* context, uint64_t offset) = nullptr;
  void* load_context = nullptr;
};

struct BlockResult {
  std::optional<Fault> fault;
  int64_t instructions = 0;
};

// Runs one block; every sink sees every issue, in the order of the list.
BlockResult RunBlock(const BlockContext& context, absl::Span<Sink* const> sinks);

}  // namespace frazil::npu
