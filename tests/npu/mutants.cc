#include "tests/npu/mutants.h"

#include <algorithm>
#include <map>

#include "core/check.h"
#include "core/str.h"
#include "npu/access.h"
#include "npu/asm.h"
#include "npu/machine.h"
#include "npu/schedule.h"

namespace frazil::npu {
namespace {

bool IsFlag(const Instr& i) { return i.op == Op::kSET || i.op == Op::kWAIT; }
int FlagOf(const Instr& i) { return (i.a[0] - 32) * 64 + (i.a[1] - 32) * 8 + (i.a[2] - 32); }
bool SamePair(const Instr& a, const Instr& b) { return a.a[0] == b.a[0] && a.a[1] == b.a[1]; }
bool IsAddress(OperandKind k) { return k == OperandKind::kRead || k == OperandKind::kWrite; }
bool IsSize(OperandKind k) {
  return k == OperandKind::kRows || k == OperandKind::kCols || k == OperandKind::kRowBytes ||
         k == OperandKind::kM || k == OperandKind::kK || k == OperandKind::kN;
}

// What a register holds: a number, or one that depends on a parameter.
struct Known {
  bool constant = true, written = false;
  uint64_t value = 0;
};
using Registers = std::array<Known, kRegisters>;

class Mutator {
 public:
  Mutator(const CorpusProgram& c, MutantKind kind, int64_t limit,
          const std::function<void(const Mutant&)>& f)
      : c_(c), code_(c.program.code), kind_(kind), limit_(limit), f_(f) {
    FindRegisters();
  }

  void Run() {
    Collect();
    const size_t n = makers_.size();
    const size_t keep = limit_ > 0 ? std::min(n, size_t(limit_)) : n;
    for (size_t i = 0; i < keep; ++i) makers_[i * n / keep]();
  }

 private:
  void FindRegisters() {
    Registers now;
    for (const Instr& i : code_) {
      FZ_CHECK(i.op != Op::kSBR);
      before_.push_back(now);
      Known& r = now[i.a[0] % kRegisters];
      switch (i.op) {
        case Op::kSLI:
          r = {true, true, uint64_t(int64_t(i.imm))};
          break;
        case Op::kSLIH:
          r.value = (r.value & 0xFFFFFFFF) | uint64_t(uint32_t(i.imm)) << 32;
          break;
        default:
          if (Info(i.op).num_operands > 0 && Info(i.op).operands[0].kind == OperandKind::kDstReg)
            r = {false, true, 0};
      }
    }
  }

  // The number in an operand's field, if it is one.
  std::optional<uint64_t> ValueOf(size_t pc, int operand) const {
    const uint8_t field = code_[pc].a[size_t(operand)];
    if (IsImm(field)) return uint64_t(field - 32);
    const Known& known = before_[pc][field];
    return known.constant ? std::optional(known.value) : std::nullopt;
  }

  void Give(size_t pc, std::string text, std::vector<Instr> code, int shorter = -1) {
    Mutant m{kind_, int64_t(pc), std::move(text), c_.program, shorter};
    m.program.code = std::move(code);
    m.program.sources.clear();
    f_(m);
  }
  void Later(std::function<void()> make) { makers_.push_back(std::move(make)); }

  std::vector<Instr> Without(std::vector<size_t> pcs) const {
    std::vector<Instr> code;
    for (size_t pc = 0; pc < code_.size(); ++pc) {
      if (std::find(pcs.begin(), pcs.end(), pc) == pcs.end()) code.push_back(code_[pc]);
    }
    return code;
  }
  std::vector<Instr> With(size_t pc, const Instr& instr) const {
    std::vector<Instr> code = code_;
    code[pc] = instr;
    return code;
  }

  static void Load(uint8_t r, uint64_t value, std::vector<Instr>* out) {
    const int32_t low = int32_t(uint32_t(value));
    out->push_back({Op::kSLI, 0, 0, {r}, low});
    if (uint64_t(int64_t(low)) != value)
      out->push_back({Op::kSLIH, 0, 0, {r}, int32_t(uint32_t(value >> 32))});
  }

  // `operand` of the instruction at pc reads a register that `fill` has put a number into; the
  // register has its own number again afterwards.
  template <typename Fill>
  std::optional<std::vector<Instr>> WithOperand(size_t pc, int operand, Fill fill) const {
    Instr instr = code_[pc];
    for (uint8_t r = 1; r < kRegisters; ++r) {
      if (!before_[pc][r].constant || std::count(instr.a.begin(), instr.a.end(), r)) continue;
      std::vector<Instr> code(code_.begin(), code_.begin() + int64_t(pc));
      fill(r, &code);
      instr.a[size_t(operand)] = r;
      code.push_back(instr);
      if (before_[pc][r].written) Load(r, before_[pc][r].value, &code);
      code.insert(code.end(), code_.begin() + int64_t(pc) + 1, code_.end());
      return code;
    }
    return std::nullopt;
  }

  void GiveOperand(size_t pc, int operand, uint64_t value) {
    auto code =
        WithOperand(pc, operand, [&](uint8_t r, std::vector<Instr>* out) { Load(r, value, out); });
    if (code)
      Give(pc, StrCat(OperandName(Info(code_[pc].op), operand), " = 0x", absl::Hex(value)),
           *std::move(code));
  }

  template <typename F>
  void ForOperands(F f) {
    for (size_t pc = 0; pc < code_.size(); ++pc) {
      if (IsFlag(code_[pc]) || Info(code_[pc].op).queue == kS) continue;
      for (int i = 0; i < Info(code_[pc].op).num_operands; ++i)
        f(pc, i, Info(code_[pc].op).operands[size_t(i)].kind);
    }
  }

  void Collect() {
    switch (kind_) {
      case MutantKind::kSet:
        return Deletions(Op::kSET);
      case MutantKind::kWait:
        return Deletions(Op::kWAIT);
      case MutantKind::kPair:
        return Pairs();
      case MutantKind::kId:
        return Ids();
      case MutantKind::kBuffer:
        return ForOperands([&](size_t pc, int i, OperandKind k) {
          if (IsAddress(k)) OtherBuffer(pc, i);
        });
      case MutantKind::kShift:
        return ForOperands([&](size_t pc, int i, OperandKind k) {
          if (IsAddress(k)) Shift(pc, i);
        });
      case MutantKind::kRows:
        return ForOperands([&](size_t pc, int i, OperandKind k) {
          const auto n = ValueOf(pc, i);
          if ((k == OperandKind::kRows || k == OperandKind::kM) && n)
            Later([=, this] { GiveOperand(pc, i, *n + 1); });
        });
      case MutantKind::kWindow:
        return ShorterWindows();
      case MutantKind::kStore:
        return LastStores();
      default:
        return Functions();
    }
  }

  // Of memory whose last byte the program touches.
  void ShorterWindows();

  void Deletions(Op op) {
    for (size_t pc = 0; pc < code_.size(); ++pc) {
      if (code_[pc].op == op) Later([=, this] { Give(pc, "deleted", Without({pc})); });
    }
  }

  void Pairs() {
    std::map<int, std::vector<size_t>> sets, waits;
    for (size_t pc = 0; pc < code_.size(); ++pc) {
      if (IsFlag(code_[pc]))
        (code_[pc].op == Op::kSET ? sets : waits)[FlagOf(code_[pc])].push_back(pc);
    }
    for (const auto& [flag, pcs] : sets) {
      for (size_t i = 0; i < pcs.size(); ++i) {
        Later([this, set = pcs[i], wait = waits[flag][i]] {
          Give(set, StrCat("deleted with the WAIT at ", wait), Without({set, wait}));
        });
      }
    }
  }

  void Ids() {
    for (size_t pc = 0; pc < code_.size(); ++pc) {
      const Instr& one = code_[pc];
      if (!IsFlag(one)) continue;
      for (size_t at = pc + 1; at < code_.size(); ++at) {
        const Instr& two = code_[at];
        if (two.op != one.op || !SamePair(one, two) || one.a[2] == two.a[2]) continue;
        Later([=, this] {
          std::vector<Instr> code = code_;
          std::swap(code[pc].a[2], code[at].a[2]);
          Give(pc, StrCat("swapped with that at ", at), std::move(code));
        });
        break;
      }
    }
  }

  // The address of the next such instruction on as many bytes.
  void OtherBuffer(size_t pc, int operand) {
    const auto address = ValueOf(pc, operand);
    if (!address) return;
    const Instr& one = code_[pc];
    for (size_t step = 1; step < code_.size(); ++step) {
      const size_t at = (pc + step) % code_.size();
      const Instr& two = code_[at];
      if (two.op != one.op || two.dt != one.dt || two.fn != one.fn) continue;
      const auto other = ValueOf(at, operand);
      if (!other || *other == *address || !SameShape(pc, at)) continue;
      Later([=, this] { GiveOperand(pc, operand, *other); });
      return;
    }
  }

  bool SameShape(size_t pc, size_t at) const {
    const OpInfo& info = Info(code_[pc].op);
    for (int i = 0; i < info.num_operands; ++i) {
      if (IsSize(info.operands[size_t(i)].kind) && ValueOf(pc, i) != ValueOf(at, i)) return false;
    }
    return true;
  }

  void Shift(size_t pc, int operand) {
    for (const Alu fn : {kAluAdd, kAluSub}) {
      Later([=, this] {
        const uint8_t field = code_[pc].a[size_t(operand)];
        auto code = WithOperand(pc, operand, [&](uint8_t r, std::vector<Instr>* out) {
          out->push_back({Op::kSALU, 0, uint8_t(fn), {r, field, Imm(31)}});
          out->push_back({Op::kSALU, 0, uint8_t(fn), {r, r, Imm(1)}});
        });
        if (code)
          Give(pc,
               StrCat(OperandName(Info(code_[pc].op), operand), fn == kAluAdd ? " + 32" : " - 32"),
               *std::move(code));
      });
    }
  }

  void LastStores() {
    std::map<int, size_t> last;  // by parameter
    std::array<int, kRegisters> param{};
    param.fill(-1);
    for (size_t pc = 0; pc < code_.size(); ++pc) {
      const Instr& i = code_[pc];
      if (i.op == Op::kSLDP) param[i.a[0]] = i.a[1] - 32;
      if (i.op == Op::kSLI) param[i.a[0]] = -1;
      if (i.op == Op::kSALU) param[i.a[0]] = param[i.a[1]];
      if ((i.op == Op::kST || i.op == Op::kDR) && !IsImm(i.a[0]) && param[i.a[0]] >= 0)
        last[param[i.a[0]]] = pc;
    }
    for (const auto& at : last) {
      const size_t pc = at.second;
      Later([=, this] { Give(pc, "deleted", Without({pc})); });
    }
  }

  void Functions() {
    for (size_t pc = 0; pc < code_.size(); ++pc) {
      const Instr& i = code_[pc];
      const CostClass cost = Info(i.op).cost;
      if (cost != CostClass::kVector && cost != CostClass::kMatrix && cost != CostClass::kDrain &&
          i.op != Op::kXA && i.op != Op::kXB)
        continue;
      if (const uint8_t fn = OtherFunction(i); fn != i.fn) {
        Later([=, this] {
          Instr other = code_[pc];
          other.fn = fn;
          Give(pc, Text(other), With(pc, other));
        });
      }
      Later([=, this] {
        Instr other = code_[pc];
        other.dt = OtherType(other);
        if (FieldProblem(other).empty()) Give(pc, Text(other), With(pc, other));
      });
    }
  }

  // One whose results differ on ordinary operands.
  static uint8_t OtherFunction(const Instr& i) {
    switch (i.op) {
      case Op::kVBIN:
      case Op::kVBINC:
      case Op::kVBINS:
        switch (i.fn) {
          case kBinAdd:
            return kBinSub;
          case kBinSub:
          case kBinDiv:
            return kBinAdd;
          case kBinMax:
            return kBinMin;
          case kBinMin:
            return kBinMax;
          case kBinAnd:
            return kBinXor;
          default:
            return i.fn >= kBinSwapped && i.op == Op::kVBINS ? uint8_t(i.fn - kBinSwapped)
                                                             : uint8_t{kBinAdd};
        }
      case Op::kVUN:
        return i.fn == kUnNeg    ? kUnCopy
               : i.fn == kUnCopy ? kUnNeg
               : i.fn == kUnExp  ? kUnErf
                                 : kUnExp;
      case Op::kVCMP:
      case Op::kVCMPS: {
        constexpr Cmp kOpposite[] = {kCmpNe, kCmpEq, kCmpGe, kCmpGt, kCmpLe, kCmpLt};
        return kOpposite[i.fn];
      }
      case Op::kVRED: {
        constexpr Red kOther[] = {kRedMax,    kRedMin,    kRedMax, kRedSum,
                                  kRedArgmin, kRedArgmax, kRedAll, kRedAny};
        return kOther[i.fn];
      }
      case Op::kXA:
      case Op::kXB:
        return i.a[2] == Imm(1) && i.a[3] == Imm(1) ? i.fn : i.fn ^ 1;  // one element
      case Op::kMMUL:
      case Op::kDR:
        return i.fn ^ 1;
      default:
        return i.fn;
    }
  }

  static uint8_t OtherType(const Instr& i) {
    switch (SizeOf(Type(i.dt))) {
      case 4:
        return kF16;
      default:
        return i.dt == kF16 || i.dt == kBF16 ? kF32 : kF16;
    }
  }

  const CorpusProgram& c_;
  const std::vector<Instr>& code_;
  const MutantKind kind_;
  const int64_t limit_;
  const std::function<void(const Mutant&)>& f_;
  std::vector<Registers> before_;  // each instruction
  std::vector<std::function<void()>> makers_;
};

// What every instruction but flags knows of each queue: how many of its instructions are done.
std::vector<std::array<int, kNumQueues>> Order(const Program& program) {
  using Clock = std::array<int, kNumQueues>;
  std::array<Clock, kNumQueues> clock{};
  std::map<int, Clock> flags;
  std::vector<Clock> known;
  const auto join = [](const Clock& from, Clock* to) {
    for (size_t q = 0; q < kNumQueues; ++q) (*to)[q] = std::max((*to)[q], from[q]);
  };
  for (const Instr& i : program.code) {
    if (i.op == Op::kSET) {
      flags[FlagOf(i)] = clock[size_t(i.a[0] - 32)];
    } else if (i.op == Op::kWAIT) {
      join(flags[FlagOf(i)], &clock[size_t(i.a[1] - 32)]);
    } else if (Info(i.op).queue != kS) {
      Clock& mine = clock[Info(i.op).queue];
      ++mine[Info(i.op).queue];
      known.push_back(mine);
    }
  }
  return known;
}

// What the queues are given, flags apart.
std::vector<Issue> WorkOf(const CorpusProgram& c, const Program& program) {
  BlockContext context;
  context.program = &program;
  context.preset = &c.preset;
  context.params = c.params;
  Recorder recorder;
  Sink* const sinks[] = {&recorder};
  FZ_CHECK(!RunBlock(context, sinks).fault);
  std::vector<Issue> work;
  for (const Issue& issue : recorder.issues()) {
    if (issue.queue != kS && Info(issue.op).cost != CostClass::kFlag) work.push_back(issue);
  }
  return work;
}

bool SameWork(const Issue& a, const Issue& b) {
  return a.op == b.op && a.dt == b.dt && a.fn == b.fn && a.v == b.v;
}

Accesses AccessesIn(const Issue& issue) {
  Accesses accesses;
  Fault fault;
  FZ_CHECK(AccessesOf(issue, &accesses, &fault));
  return accesses;
}

// Bytes of all memories by address.
class ByteSet {
 public:
  explicit ByteSet(const CorpusProgram& c) {
    for (int s = kL1; s < kNumSpaces; ++s)
      parts_.push_back(
          {Address(Space(s), 0), std::vector<bool>(size_t(c.preset.bytes[size_t(s)]))});
    for (const CorpusProgram::Memory& m : c.memory)
      parts_.push_back({m.gm, std::vector<bool>(m.bytes.size(), m.writable)});
  }
  // f(byte) for every byte of an access.
  template <typename F>
  void Each(const Access& access, F f) {
    for (Part& part : parts_) {
      if (access.address < part.begin || access.address - part.begin >= part.bytes.size()) continue;
      for (int64_t row = 0; row < access.rows; ++row) {
        const size_t at = size_t(access.address - part.begin) + size_t(row * access.stride);
        for (size_t i = 0; i < size_t(access.row_bytes); ++i) f(part.bytes[at + i]);
      }
    }
  }

  const std::vector<bool>& part(uint64_t begin) const {
    return std::find_if(parts_.begin(), parts_.end(),
                        [&](const Part& p) { return p.begin == begin; })
        ->bytes;
  }

 private:
  struct Part {
    uint64_t begin;
    std::vector<bool> bytes;
  };
  std::vector<Part> parts_;
};

using Byte = std::vector<bool>::reference;

void Mutator::ShorterWindows() {
  std::vector<bool> touched(c_.memory.size(), false);
  for (const Issue& issue : WorkOf(c_, c_.program)) {
    for (const Access& a : AccessesIn(issue)) {
      for (size_t w = 0; w < touched.size(); ++w)
        touched[w] = touched[w] || a.end() == c_.memory[w].gm + c_.memory[w].bytes.size();
    }
  }
  for (size_t w = 0; w < touched.size(); ++w) {
    if (touched[w]) Later([=, this] { Give(w, "shorter window", code_, int(w)); });
  }
}

// What is read, or left as a result, after instruction `last` of the work.
ByteSet LiveAfter(const CorpusProgram& c, const std::vector<Issue>& work, size_t last) {
  ByteSet live(c);
  for (size_t i = work.size(); --i > last;) {
    const Accesses accesses = AccessesIn(work[i]);
    bool needed = false;
    for (const Access& a : accesses) {
      if (a.write) live.Each(a, [&](Byte b) { needed |= b; });
    }
    for (const Access& a : accesses) {
      if (a.write) live.Each(a, [&](Byte b) { b = false; });
    }
    for (const Access& a : accesses) {
      if (!a.write && needed) live.Each(a, [&](Byte b) { b = true; });
    }
  }
  return live;
}

// The work of a program and of a mutant, and the one instruction in which they differ.
struct Change {
  std::vector<Issue> before, after;
  size_t at = 0;

  static std::optional<Change> Find(const CorpusProgram& c, const Program& mutant) {
    Change change{WorkOf(c, c.program), WorkOf(c, mutant)};
    const size_t n = change.before.size();
    if (n != change.after.size()) return std::nullopt;
    while (change.at < n && SameWork(change.before[change.at], change.after[change.at]))
      ++change.at;
    return change.at < n ? std::optional(std::move(change)) : std::nullopt;
  }
};

// Device memory and vector memory after the first instructions of the work.
std::vector<std::vector<char>> MemoryAfter(const CorpusProgram& c, const std::vector<Issue>& work,
                                           size_t last) {
  std::vector<std::vector<char>> bytes;
  for (const CorpusProgram::Memory& m : c.memory) bytes.push_back(m.bytes);
  bytes.emplace_back(size_t(c.preset.bytes[kUB]));
  constexpr uint64_t kCopy = kGmBase + 0x100'0000'0000;
  std::vector<Window> list;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const bool copy = i == c.memory.size();
    list.push_back({copy ? kCopy : c.memory[i].gm, int64_t(bytes[i].size()), bytes[i].data(),
                    copy || c.memory[i].writable});
  }
  const Windows windows = *Windows::Make(list);
  Machine machine(c.preset, windows);
  machine.StartBlock();
  Fault fault;
  for (size_t i = 0; i <= last; ++i) FZ_CHECK(machine.On(work[i], false, &fault));
  Issue copy{.op = Op::kST, .queue = kST};
  copy.v = {kCopy, Address(kUB, 0), 1, uint64_t(c.preset.bytes[kUB])};
  FZ_CHECK(machine.On(copy, false, &fault));
  return bytes;
}

}  // namespace

std::string_view Name(MutantKind kind) {
  constexpr std::string_view kNames[] = {
#define NPU_MUTANT(E, text) text,
      NPU_MUTANTS(NPU_MUTANT)
#undef NPU_MUTANT
  };
  return kNames[size_t(kind)];
}

void ForEachMutant(const CorpusProgram& c, MutantKind kind, int64_t limit,
                   const std::function<void(const Mutant&)>& f) {
  Mutator(c, kind, limit, f).Run();
}

bool WritesNothingElse(const CorpusProgram& c, const Mutant& mutant) {
  const auto change = Change::Find(c, mutant.program);
  if (!change) return false;
  const Issue &before = change->before[change->at], &after = change->after[change->at];
  // In another layout than before.
  if (after.op == Op::kVTR || (after.op == Op::kMMUL && before.v[3] % 16 == 0)) return false;
  ByteSet live = LiveAfter(c, change->after, change->at);
  bool wrote = false, writes = false;
  for (const Access& a : AccessesIn(before)) {
    if (a.write) live.Each(a, [&](Byte b) { wrote |= b, b = false; });
  }
  for (const Access& a : AccessesIn(after)) {
    if (a.write) live.Each(a, [&](Byte b) { writes |= b; });
  }
  return !writes && (mutant.kind == MutantKind::kRows || !wrote);
}

bool LeavesTheSame(const CorpusProgram& c, const Mutant& mutant) {
  const auto change = Change::Find(c, mutant.program);
  if (!change) return false;
  for (const auto* work : {&change->before, &change->after}) {
    for (const Access& a : AccessesIn((*work)[change->at])) {
      if (a.write && a.space() != kUB && a.space() != kGM) return false;  // not looked at
    }
  }
  const auto before = MemoryAfter(c, change->before, change->at);
  const auto after = MemoryAfter(c, change->after, change->at);
  const ByteSet live = LiveAfter(c, change->after, change->at);
  for (size_t i = 0; i < before.size(); ++i) {
    const auto& needed = live.part(i < c.memory.size() ? c.memory[i].gm : Address(kUB, 0));
    for (size_t b = 0; b < before[i].size(); ++b) {
      if (needed[b] && before[i][b] != after[i][b]) return false;
    }
  }
  return true;
}

bool OrdersAsMuch(const Program& before, const Program& after) {
  const auto a = Order(before), b = Order(after);
  FZ_CHECK(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t q = 0; q < kNumQueues; ++q) {
      if (b[i][q] < a[i][q]) return false;
    }
  }
  return true;
}

}  // namespace frazil::npu
