#include "npu/issue.h"

#include <algorithm>

#include "core/str.h"
#include "npu/access.h"
#include "npu/asm.h"
#include "npu/scalar.h"

namespace frazil::npu {
namespace {

// Registers in the low half, the numbers 0-31 in the high half: any field is an index.
using Registers = std::array<uint64_t, 2 * kRegisters>;

// The flags in the order of the program: how many SETs and WAITs each has seen.
class FlagCounts {
 public:
  // False: the flag is set already.
  bool Set(int from, int to, int id) { return !std::exchange(At(from, to, id), true); }
  // False: the flag is not set.
  bool Wait(int from, int to, int id) { return std::exchange(At(from, to, id), false); }
  // The first flag that is set, as text; empty if none is.
  std::string Leak() const {
    for (size_t i = 0; i < set_.size(); ++i) {
      if (!set_[i]) continue;
      const size_t pair = i / kFlagsPerPair;
      return StrCat(Name(Queue(pair / kNumQueues)), ">", Name(Queue(pair % kNumQueues)), " #",
                    i % kFlagsPerPair);
    }
    return "";
  }

 private:
  bool& At(int from, int to, int id) {
    return set_[size_t((from * kNumQueues + to) * kFlagsPerPair + id)];
  }
  std::array<bool, kNumQueues * kNumQueues * kFlagsPerPair> set_{};
};

class ScalarUnit {
 public:
  ScalarUnit(const BlockContext& context, absl::Span<Sink* const> sinks)
      : context_(context), code_(context.program->code), sinks_(sinks) {
    for (int i = 0; i < kRegisters; ++i) regs_[size_t(kRegisters + i)] = uint64_t(i);
  }

  BlockResult Run() {
    while (!done_ && Step()) {
    }
    if (result_.fault) Complete();
    return std::move(result_);
  }

 private:
  bool Fail(FaultCode code, int operand, std::string detail) {
    fault_.code = code;
    fault_.operand = operand;
    fault_.detail = std::move(detail);
    return Raise();
  }
  bool Raise() {
    result_.fault = std::move(fault_);
    return false;
  }

  // What only the scalar unit knows of the place.
  void Complete() {
    Fault& fault = *result_.fault;
    fault.block = context_.block;
    if (fault.instruction.empty()) {
      fault.pc = issue_.pc;
      fault.queue = issue_.queue;
      if (Known(issue_.pc)) fault.instruction = Text(code_[issue_.pc]);
    }
    if (const SourceEntry* source = context_.program->SourceOf(fault.pc)) fault.source = *source;
    if (fault.other_pc && fault.other_instruction.empty() && Known(*fault.other_pc))
      fault.other_instruction = Text(code_[*fault.other_pc]);
  }

  bool Known(uint32_t pc) const { return pc < code_.size() && code_[pc].op < Op::kCount; }

  // One instruction; false when the block is over.
  bool Step() {
    if (pc_ < 0 || pc_ >= int64_t(code_.size())) {
      // The place is that of the instruction that was executed last.
      return Fail(FaultCode::kPcRange, -1,
                  StrCat("instruction ", pc_, " of ", code_.size(), " is next"));
    }
    const Instr& instr = code_[size_t(pc_)];
    if (instr.op >= Op::kCount) {
      issue_.pc = uint32_t(pc_);
      issue_.queue = kS;
      return Fail(FaultCode::kIllegalOpcode, -1, StrCat("operation ", int(instr.op)));
    }
    const OpInfo& info = Info(instr.op);
    issue_.pc = uint32_t(pc_);
    issue_.op = instr.op;
    issue_.dt = instr.dt;
    issue_.fn = instr.fn;
    issue_.queue = info.queue < kNumQueues ? info.queue : kS;  // until its operands are read
    if (result_.instructions == context_.budget)
      return Fail(FaultCode::kWatchdog, -1, StrCat(context_.budget, " instructions have run"));
    ++result_.instructions;
    for (int i = 0; i < info.num_operands; ++i) {
      const uint8_t field = instr.a[i];
      issue_.v[i] = regs_[field & 63];
    }
    next_ = pc_ + 1;
    taken_ = false;
    if (info.queue == kS || info.queue >= kNumQueues) {
      if (!Scalar(instr)) return false;
    } else if (info.types != 0 && (instr.dt >= kNumTypes || !(info.types >> instr.dt & 1))) {
      return Fail(FaultCode::kDtypeUnsupported, -1,
                  instr.dt < kNumTypes ? std::string(Name(Type(instr.dt)))
                                       : StrCat("type number ", int(instr.dt)));
    }
    for (Sink* sink : sinks_) {
      if (!sink->On(issue_, taken_, &fault_)) return Raise();
    }
    pc_ = next_;
    return true;
  }

  bool Scalar(const Instr& instr) {
    const auto& v = issue_.v;
    switch (instr.op) {
      case Op::kNOP:
        return true;
      case Op::kHALT:
        done_ = true;
        if (std::string leak = flags_.Leak(); !leak.empty())
          return Fail(FaultCode::kFlagLeak, -1, std::move(leak));
        return true;
      case Op::kSLI:
        Write(instr, AfterSli(instr.imm));
        return true;
      case Op::kSLIH:
        Write(instr, AfterSlih(regs_[instr.a[0] & 63], instr.imm));
        return true;
      case Op::kSALU:
        Write(instr, Compute(Alu(instr.fn), v[1], v[2], v[0]));
        return true;
      case Op::kSLDP:
        if (v[1] >= context_.params.size())
          return Fail(FaultCode::kIndexRange, 1,
                      StrCat("parameter ", v[1], " of ", context_.params.size()));
        Write(instr, context_.params[v[1]]);
        return true;
      case Op::kSCSR:
        return ReadControl(instr);
      case Op::kSLD:
        return Load(instr);
      case Op::kSBR:
        taken_ = Holds(Branch(instr.fn), v[0], v[1]);
        if (taken_) next_ = pc_ + instr.imm;
        return true;
      case Op::kTRAP:
        return Fail(FaultCode::kTrap, 0, StrCat("code ", v[0]));
      case Op::kSET:
      case Op::kWAIT:
        return Flag(instr);
      case Op::kBAR:
        if (v[0] > uint64_t{kAllQueues})
          return Fail(FaultCode::kIllegalEncoding, 0, StrCat("queue ", v[0]));
        issue_.queue = v[0] == kAllQueues ? kS : Queue(v[0]);
        return true;
      default:
        return Fail(FaultCode::kSimInternal, -1, "not a scalar instruction");
    }
  }

  void Write(const Instr& instr, uint64_t value) {
    const int reg = instr.a[0] & (kRegisters - 1);
    if (reg != 0) regs_[size_t(reg)] = value;
  }

  bool ReadControl(const Instr& instr) {
    const Preset& preset = *context_.preset;
    const uint64_t n = issue_.v[1];
    if (n > 8) return Fail(FaultCode::kIndexRange, 1, StrCat("control register ", n, " of 9"));
    uint64_t value = 0;
    if (n == 0) value = uint64_t(context_.block);
    if (n == 1) value = uint64_t(context_.blocks);
    if (n >= 2 && n <= 6) value = uint64_t(preset.bytes[n - 2 + kL1]);
    if (n == 7) value = uint64_t(preset.id);
    if (n == 8) value = kIsaRevision;
    Write(instr, value);
    return true;
  }

  bool Load(const Instr& instr) {
    Accesses accesses;
    if (!AccessesOf(issue_, &accesses, &fault_) ||
        !CheckAccesses(issue_, accesses, *context_.preset, &fault_))
      return Raise();
    if (!context_.load_ub)
      return Fail(FaultCode::kUninitRead, 1, "this mode keeps no data that SLD could read");
    Write(instr, context_.load_ub(context_.load_context, Offset(issue_.v[1])));
    return true;
  }

  bool Flag(const Instr& instr) {
    const uint64_t from = issue_.v[0], to = issue_.v[1], id = issue_.v[2];
    if (from >= kNumQueues || to >= kNumQueues || from == to)
      return Fail(FaultCode::kIllegalEncoding, 0, StrCat("the pair of queues ", from, ">", to));
    if (id >= kFlagsPerPair)
      return Fail(FaultCode::kIllegalEncoding, 2, StrCat("flag ", id, " of ", kFlagsPerPair));
    const bool set = instr.op == Op::kSET;
    issue_.queue = Queue(set ? from : to);
    if (!context_.flag_order) return true;
    if (set && !flags_.Set(int(from), int(to), int(id)))
      return Fail(FaultCode::kFlagOverflow, -1, "no WAIT stands between this SET and the last");
    if (!set && !flags_.Wait(int(from), int(to), int(id)))
      return Fail(FaultCode::kFlagOrder, -1, "no SET that is not waited for stands before it");
    return true;
  }

  const BlockContext& context_;
  absl::Span<const Instr> code_;
  absl::Span<Sink* const> sinks_;
  Registers regs_{};
  FlagCounts flags_;
  Issue issue_;
  Fault fault_;
  int64_t pc_ = 0, next_ = 0;
  bool taken_ = false, done_ = false;
  BlockResult result_;
};

}  // namespace

BlockResult RunBlock(const BlockContext& context, absl::Span<Sink* const> sinks) {
  return ScalarUnit(context, sinks).Run();
}

}  // namespace frazil::npu
