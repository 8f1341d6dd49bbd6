// Random instruction words on the machine: whatever they are, a launch ends with a result or a
// fault, touches no memory but its windows, and Lint's errors are met by every run that gets there.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <set>

#include "core/str.h"
#include "npu/asm.h"
#include "npu/lint.h"
#include "npu/simulator.h"
#include "tests/npu/random_program.h"

namespace frazil::npu {
namespace {

constexpr int kWindowBytes = 4096, kRedZone = 256, kWords = 48;
constexpr int64_t kBudget = 300;
constexpr uint64_t kReadAt = kGmBase, kWriteAt = kGmBase + 65536;

// Registers by what they hold.
constexpr uint8_t kReadRegister = 6, kWriteRegister = 7, kFloatRegister = 9;
uint8_t RegisterOf(Space space) { return space == kGM ? kWriteRegister : uint8_t(space); }

void LoadValue(uint8_t reg, uint64_t value, std::vector<Instr>* code) {
  code->push_back({.op = Op::kSLI, .a = {reg}, .imm = int32_t(uint32_t(value))});
  code->push_back({.op = Op::kSLIH, .a = {reg}, .imm = int32_t(uint32_t(value >> 32))});
}

// Fields that let most instructions do something.
void MakePlausible(Random* random, Instr* instr) {
  const OpInfo& info = Info(instr->op);
  for (int i = 0; i < info.num_operands; ++i) {
    if (Draw(random, 40) == 0) continue;
    switch (info.operands[i].kind) {
      case OperandKind::kWrite:
      case OperandKind::kRead: {
        const uint8_t spaces = info.operands[i].spaces;
        Space space = Space(std::countr_zero(spaces));
        if (std::popcount(spaces) > 1 && Draw(random, 2)) space = Space(std::bit_width(spaces) - 1);
        const bool read = info.operands[i].kind == OperandKind::kRead;
        instr->a[i] = space == kGM && read ? kReadRegister : RegisterOf(space);
        break;
      }
      case OperandKind::kDstReg:
        instr->a[i] = uint8_t(10 + Draw(random, 6));
        break;
      case OperandKind::kRows:
      case OperandKind::kCols:
      case OperandKind::kRowBytes:
      case OperandKind::kM:
      case OperandKind::kK:
      case OperandKind::kN:
        instr->a[i] = Imm(1 + Draw(random, 31));
        break;
      case OperandKind::kLd:
      case OperandKind::kPad:
        instr->a[i] = Imm(0);
        break;
      case OperandKind::kMode:
        instr->a[i] = Imm(Draw(random, 4));
        break;
      case OperandKind::kScalar:
        instr->a[i] = kFloatRegister;
        break;
      default:
        break;
    }
  }
}

Program RandomRun(Random* random) {
  Program program;
  for (int space = kL1; space < kNumSpaces; ++space)
    LoadValue(uint8_t(space), Address(Space(space), uint64_t(Draw(random, 4)) * 1024),
              &program.code);
  LoadValue(kReadRegister, kReadAt + uint64_t(Draw(random, 8)), &program.code);
  LoadValue(kWriteRegister, kWriteAt + uint64_t(Draw(random, 8)), &program.code);
  LoadValue(kFloatRegister, std::bit_cast<uint32_t>(0.5f), &program.code);
  const int first = int(program.code.size()), size = first + kWords + 1;
  while (int(program.code.size()) < size - 1) {
    Instr instr = RandomInstr(random, Op(Draw(random, int(Op::kCount))));
    MakePlausible(random, &instr);
    const int pc = int(program.code.size());
    if (instr.op == Op::kSBR) instr.imm = first + Draw(random, size - first) - pc;
    if (instr.op == Op::kTRAP && Draw(random, 4)) continue;
    if (instr.op == Op::kHALT && Draw(random, 4)) continue;
    if (instr.op == Op::kWAIT && Draw(random, 10)) continue;
    program.code.push_back(instr);
    if (instr.op != Op::kSET || Draw(random, 10) == 0) continue;
    instr.op = Op::kWAIT;
    program.code.push_back(instr);
  }
  program.code.resize(size_t(size), {.op = Op::kHALT});
  program.code.back() = {.op = Op::kHALT};
  return program;
}

struct Buffers {
  explicit Buffers(Random* random) {
    for (std::string* bytes : {&read, &write}) {
      bytes->resize(kWindowBytes + 2 * kRedZone, '\x77');
      for (int i = 0; i < kWindowBytes; ++i) (*bytes)[size_t(kRedZone + i)] = char((*random)());
    }
  }
  std::vector<Window> Windows() {
    return {{kReadAt, kWindowBytes, read.data() + kRedZone, false},
            {kWriteAt, kWindowBytes, write.data() + kRedZone, true}};
  }
  bool RedZonesAreWhole() const {
    const std::string zone(kRedZone, '\x77');
    return write.starts_with(zone) && write.ends_with(zone);
  }
  std::string read, write;
};

// How program number i runs besides run and check.
LaunchOptions OtherWay(int i) {
  LaunchOptions options;
  constexpr Schedule kSchedules[] = {Schedule::kTiming, Schedule::kEager, Schedule::kLazy,
                                     Schedule::kRandom};
  const int way = i % 7;
  options.seed = uint64_t(i);
  if (way < 4) {
    options.mode = Mode::kCheck;
    options.schedule = kSchedules[way];
  } else if (way == 4) {
    options.flag_order = false;
  } else {
    options.mode = way == 5 ? Mode::kTime : Mode::kTimeOnly;
    options.record = true;
  }
  return options;
}

struct Seen {
  std::set<FaultCode> codes;
  int fine = 0;
};

void Launched(const Program& program, const Preset& preset, LaunchOptions options,
              const Buffers& before, Buffers* after, Seen* seen) {
  *after = before;
  options.budget = kBudget;
  std::vector<Window> windows = after->Windows();
  const StatusOr<LaunchResult> result = Launch(program, preset, {}, windows, options);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_LE(result->instructions, kBudget);
  ASSERT_EQ(after->read, before.read);
  ASSERT_TRUE(after->RedZonesAreWhole());
  if (!result->fault) {
    ++seen->fine;
    return;
  }
  seen->codes.insert(result->fault->code);
  ASSERT_NE(result->fault->code, FaultCode::kSimInternal) << result->fault->Text() << "\n"
                                                          << Disassemble(program);
}

TEST(Fuzz, RandomWordsRunOrFault) {
  Random random(9);
  const Preset preset = *FindPreset("edge16");
  const int programs = (std::getenv("FRAZIL_NIGHTLY") ? 10000000 : 1000000) / kWords;
  Seen run, check, other;
  for (int i = 0; i < programs; ++i) {
    const Program program = RandomRun(&random);
    const Buffers before(&random);
    Buffers after_run = before, after = before;
    Launched(program, preset, {}, before, &after_run, &run);
    const int checked = check.fine;
    Launched(program, preset, {.mode = Mode::kCheck}, before, &after, &check);
    if (check.fine > checked) {
      ASSERT_EQ(after.write, after_run.write) << Disassemble(program);
    }
    Launched(program, preset, OtherWay(i), before, &after, &other);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(check.fine, programs / 200);
  EXPECT_GT(run.fine, check.fine);
  EXPECT_GT(other.fine, programs / 200);
  EXPECT_GE(check.codes.size(), 15);
}

// The instructions that were executed, in order.
class Trace : public Sink {
 public:
  bool On(const Issue& issue, bool, Fault*) override {
    executed.push_back(issue.pc);
    return true;
  }
  std::vector<int64_t> executed;
};

// Those that a launch executed without a fault.
std::vector<int64_t> ExecutedBy(const Program& program, const Preset& preset,
                                const LaunchResult& result) {
  Trace trace;
  Sink* const sinks[] = {&trace};
  RunBlock({.program = &program, .preset = &preset, .budget = result.instructions}, sinks);
  std::vector<int64_t>& pcs = trace.executed;
  if (result.fault && !pcs.empty() && pcs.back() == int64_t{result.fault->pc}) pcs.pop_back();
  return pcs;
}

TEST(Fuzz, WhatLintFindsIsMetByEveryRunThatGetsThere) {
  Random random(10);
  const Preset preset = *FindPreset("edge16");
  int errors = 0, met = 0;
  for (int i = 0; i < 10000; ++i) {
    const Program program = RandomRun(&random);
    const auto loads = [](const Instr& instr) { return instr.op == Op::kSLD; };
    const bool depends_on_data =
        std::any_of(program.code.begin(), program.code.end(), loads);  // Trace has none
    if (depends_on_data || !Validate(program).ok()) continue;
    std::map<int64_t, Finding> found;
    for (const Finding& finding : Lint(program, preset)) {
      if (finding.code) found.emplace(finding.pc, finding);
    }
    errors += int(found.size());
    Buffers buffers(&random);
    LaunchOptions options;
    options.budget = kBudget;
    const std::vector<Window> windows = buffers.Windows();
    const StatusOr<LaunchResult> result = Launch(program, preset, {}, windows, options);
    ASSERT_TRUE(result.ok());
    met += result->fault && found.contains(result->fault->pc);
    for (const int64_t pc : ExecutedBy(program, preset, *result)) {
      ASSERT_FALSE(found.contains(pc)) << Text(found[pc], program) << "\n" << Disassemble(program);
    }
  }
  EXPECT_GT(errors, 300);
  EXPECT_GT(met, 100);
}

}  // namespace
}  // namespace frazil::npu
