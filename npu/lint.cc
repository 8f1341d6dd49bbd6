#include "npu/lint.h"

#include <algorithm>
#include <map>

#include "core/check.h"
#include "core/str.h"
#include "npu/access.h"
#include "npu/asm.h"
#include "npu/flow.h"
#include "npu/scalar.h"

namespace frazil::npu {
namespace {

// A value that is legal whatever else the instruction holds, for one that is not known.
uint64_t Harmless(OperandKind kind) {
  switch (kind) {
    case OperandKind::kRows:
    case OperandKind::kCols:
    case OperandKind::kRowBytes:
    case OperandKind::kM:
    case OperandKind::kK:
    case OperandKind::kN:
      return 1;
    default:
      return 0;
  }
}

class Linter {
 public:
  Linter(const Program& program, const Preset& preset) : program_(program), preset_(preset) {}

  std::vector<Finding> Run() {
    FindStates();
    Judge();
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const Finding& a, const Finding& b) { return a.pc < b.pc; });
    return std::move(findings_);
  }

 private:
  const Instr& At(int64_t pc) const { return program_.code[size_t(pc)]; }
  int64_t size() const { return int64_t(program_.code.size()); }

  void Warn(int64_t pc, std::string text) {
    findings_.push_back({std::nullopt, pc, std::move(text)});
  }
  void Error(FaultCode code, int64_t pc, std::string text) {
    findings_.push_back({code, pc, std::move(text)});
  }

  // Calls next(pc) for what may follow the instruction at pc.
  template <typename Next>
  void Follow(int64_t pc, const FlowState& state, Next next) const {
    const Instr& instr = At(pc);
    if (instr.op == Op::kHALT || instr.op == Op::kTRAP) return;
    if (instr.op != Op::kSBR) return next(pc + 1);
    const Known a = state.Read(instr.a[0]), b = state.Read(instr.a[1]);
    const bool known = (a && b) || instr.fn == kBrAlways;
    const bool holds = known && Holds(Branch(instr.fn), a.value_or(0), b.value_or(0));
    if (!known || holds) next(pc + instr.imm);
    if (!known || !holds) next(pc + 1);
  }

  // States are kept where straight-line code begins; `visit` sees each instruction before it runs.
  template <typename Visit>
  int64_t Walk(int64_t pc, FlowState* state, Visit visit) const {
    while (true) {
      visit(pc, *state);
      const Instr& instr = At(pc);
      state->Apply(instr, preset_);
      const bool ends = instr.op == Op::kHALT || instr.op == Op::kTRAP || instr.op == Op::kSBR;
      if (ends || pc + 1 >= size() || leaders_[size_t(pc + 1)]) return pc;
      ++pc;
    }
  }

  void FindStates() {
    leaders_.assign(program_.code.size(), false);
    leaders_[0] = true;
    for (int64_t pc = 0; pc < size(); ++pc) {
      if (At(pc).op == Op::kSBR) leaders_[size_t(pc + At(pc).imm)] = true;
      if (At(pc).op == Op::kSBR && pc + 1 < size()) leaders_[size_t(pc + 1)] = true;
    }
    std::vector<int64_t> work;
    const auto reach = [&](int64_t pc, const FlowState& state) {
      if (pc >= size()) return;
      const auto [at, fresh] = states_.emplace(pc, state);
      const FlowState merged = fresh ? state : FlowState::Merged(at->second, state);
      if (!fresh && merged == at->second) return;
      at->second = merged;
      work.push_back(pc);
    };
    reach(0, FlowState());
    while (!work.empty()) {
      const int64_t first = work.back();
      work.pop_back();
      FlowState state = states_.at(first);
      const int64_t last = Walk(first, &state, [](int64_t, const FlowState&) {});
      Follow(last, state, [&](int64_t next) { reach(next, state); });
    }
  }

  void Judge() {
    std::vector<bool> reached(program_.code.size(), false);
    bool halts = false;
    for (const auto& [first, at] : states_) {
      FlowState state = at;
      const int64_t last = Walk(first, &state, [&](int64_t pc, const FlowState& before) {
        reached[size_t(pc)] = true;
        halts |= At(pc).op == Op::kHALT;
        JudgeInstr(pc, before);
      });
      Follow(last, state, [&](int64_t next) {
        if (next >= size())
          Error(FaultCode::kPcRange, last, "control can leave the program after it");
      });
    }
    if (!halts) Warn(-1, "no path reaches a HALT");
    for (int64_t pc = 0; pc < size(); ++pc) {
      if (!reached[size_t(pc)] && (pc == 0 || reached[size_t(pc - 1)]))
        Warn(pc, "no path reaches this");
    }
    JudgeParams(reached);
  }

  void JudgeParams(const std::vector<bool>& reached) {
    std::vector<bool> read(program_.params.size(), false);
    for (int64_t pc = 0; pc < size(); ++pc) {
      const Instr& instr = At(pc);
      if (instr.op != Op::kSLDP || !reached[size_t(pc)]) continue;
      if (!IsImm(instr.a[1])) return;  // any
      read[size_t(instr.a[1] - Imm(0))] = true;
    }
    for (size_t i = 0; i < read.size(); ++i) {
      if (!read[i])
        Warn(-1, StrCat("parameter ", i, " (", program_.params[i].name, ") is not read"));
    }
  }

  void JudgeInstr(int64_t pc, const FlowState& state) {
    const Instr& instr = At(pc);
    JudgeRegisters(pc, state);
    switch (instr.op) {
      case Op::kSET:
      case Op::kWAIT:
        return JudgeFlag(pc, state);
      case Op::kHALT:
        return JudgeLeaks(pc, state);
      case Op::kSLDP:
        if (const Known n = state.Read(instr.a[1]); n && *n >= program_.params.size())
          Error(FaultCode::kIndexRange, pc,
                StrCat("parameter ", *n, " of ", program_.params.size()));
        return;
      default:
        return JudgeAccesses(pc, state);
    }
  }

  void JudgeRegisters(int64_t pc, const FlowState& state) {
    const Instr& instr = At(pc);
    const OpInfo& info = Info(instr.op);
    uint32_t told = state.written;
    for (int i = 0; i < info.num_operands; ++i) {
      const OperandKind kind = info.operands[i].kind;
      if (kind == OperandKind::kDstReg || kind == OperandKind::kImm32 ||
          kind == OperandKind::kRel || IsImm(instr.a[i]) || told >> instr.a[i] & 1)
        continue;
      told |= uint32_t{1} << instr.a[i];
      Warn(pc, StrCat("s", int(instr.a[i]), " is read but never written before, so it is 0"));
    }
  }

  void JudgeFlag(int64_t pc, const FlowState& state) {
    const Instr& instr = At(pc);
    const Known id = state.Read(instr.a[2]);
    if (id && *id >= kFlagsPerPair)
      return Error(FaultCode::kIllegalEncoding, pc, StrCat("flag ", *id, " of ", kFlagsPerPair));
    const FlagSet flags = FlagsOf(instr, id);
    if (instr.op == Op::kSET && (flags & state.may_be_clear).none())
      Error(FaultCode::kFlagOverflow, pc, "no WAIT stands between it and the SET before it");
    if (instr.op == Op::kWAIT && (flags & state.may_be_set).none())
      Error(FaultCode::kFlagOrder, pc, "no SET that is not waited for stands before it");
  }

  void JudgeLeaks(int64_t pc, const FlowState& state) {
    const FlagSet leaks = state.may_be_set & ~state.may_be_clear;
    for (size_t flag = 0; flag < kAllFlags; ++flag) {
      if (leaks[flag]) Error(FaultCode::kFlagLeak, pc, FlagText(flag));
    }
  }

  void JudgeAccesses(int64_t pc, const FlowState& state) {
    const Instr& instr = At(pc);
    const OpInfo& info = Info(instr.op);
    Issue issue{.pc = uint32_t(pc), .op = instr.op, .dt = instr.dt, .fn = instr.fn};
    issue.queue = info.queue < kNumQueues ? info.queue : kS;
    bool all = true;
    Fault fault;
    for (int i = 0; i < info.num_operands; ++i) {
      const OperandKind kind = info.operands[i].kind;
      if (kind == OperandKind::kDstReg) continue;
      const Known value = state.Read(instr.a[i]);
      const bool address = kind == OperandKind::kWrite || kind == OperandKind::kRead;
      if (address && value && !(info.operands[i].spaces >> SpaceTag(*value) & 1))
        return Error(
            FaultCode::kIllegalSpace, pc,
            StrCat("operand ", i, " (", OperandName(info, i), ") is ", AddressText(*value)));
      // A scalar is no part of where an instruction reads and writes.
      all &= value.has_value() || kind == OperandKind::kScalar || kind == OperandKind::kValue;
      issue.v[i] = value.value_or(Harmless(kind));
    }
    Accesses accesses;
    const bool legal = AccessesOf(issue, &accesses, &fault) &&
                       (!all || CheckAccesses(issue, accesses, preset_, &fault));
    if (legal) return;
    std::string text = fault.detail;
    if (fault.operand >= 0 && fault.operand < info.num_operands)
      text = StrCat("operand ", fault.operand, " (", OperandName(info, fault.operand), "): ", text);
    Error(fault.code, pc, std::move(text));
  }

  const Program& program_;
  const Preset& preset_;
  std::vector<bool> leaders_;            // where straight-line code begins
  std::map<int64_t, FlowState> states_;  // of reached leaders
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> Lint(const Program& program, const Preset& preset) {
  FZ_CHECK(!program.code.empty());
  return Linter(program, preset).Run();
}

std::string Errors(const Program& program, const Preset& preset) {
  if (const Status valid = Validate(program); !valid.ok())
    return StrCat(std::string_view(valid.message().data(), valid.message().size()), "\n");
  std::string text;
  for (const Finding& finding : Lint(program, preset)) {
    if (finding.code) StrAppend(&text, Text(finding, program), "\n");
  }
  return text;
}

std::string Text(const Finding& finding, const Program& program) {
  std::string text = finding.code ? "error" : "warning";
  if (finding.pc >= 0)
    StrAppend(&text, " at pc ", finding.pc, ", ", Text(program.code[size_t(finding.pc)]));
  StrAppend(&text, ": ");
  if (finding.code) StrAppend(&text, Name(*finding.code), ": ", Sentence(*finding.code), ": ");
  return text + finding.text;
}

}  // namespace frazil::npu
