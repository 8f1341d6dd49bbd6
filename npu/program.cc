#include "npu/program.h"

#include <algorithm>
#include <set>

#include "core/check.h"
#include "npu/asm.h"

namespace frazil::npu {
namespace {

constexpr size_t kMaxInstructions = size_t{1} << 28;  // jumps reach everywhere
constexpr int kMaxCsr = 8;                            // SCSR's last number

// What is wrong with an instruction that has a word, at its place in this program; or nothing.
std::string PlaceProblem(const Program& program, int64_t pc) {
  const Instr& instr = program.code[pc];
  const OpInfo& info = Info(instr.op);
  if (info.format == Format::kB) {
    const int64_t target = pc + instr.imm, size = int64_t(program.code.size());
    if (target < 0 || target >= size)
      return StrCat("jumps to pc ", target, " of a program of ", size, " instructions");
    return {};
  }
  for (int i = 0; i < info.num_operands; ++i) {
    const OperandKind kind = info.operands[i].kind;
    // A number below 32 is an address in GM where nothing lies.
    if ((kind == OperandKind::kWrite || kind == OperandKind::kRead) && IsImm(instr.a[i]))
      return StrCat("operand ", i, " (", OperandName(info, i), ") is the number ",
                    instr.a[i] - Imm(0), ", expected a register that holds an address");
  }
  const int number = IsImm(instr.a[1]) ? instr.a[1] - Imm(0) : -1;
  if (instr.op == Op::kSLDP && number >= int(program.params.size()))
    return StrCat("reads parameter ", number, " of ", program.params.size());
  if (instr.op == Op::kSCSR && number > kMaxCsr)
    return StrCat("reads number ", number, ", expected one in [0, ", kMaxCsr, "]");
  return {};
}

Status CheckParams(const Program& program) {
  if (program.params.size() > size_t(kMaxParams))
    return ValueError("[npu] kernel '", program.name, "' has ", program.params.size(),
                      " parameters, expected at most ", kMaxParams, ".");
  std::set<std::string_view> names;
  for (const Param& param : program.params) {
    if (int(param.kind) >= kNumParamKinds)
      return ValueError("[npu] parameter '", param.name, "' of kernel '", program.name,
                        "' has kind ", int(param.kind), ", expected one in [0, ", kNumParamKinds,
                        ").");
    if (!names.insert(param.name).second)
      return ValueError("[npu] kernel '", program.name, "' has two parameters '", param.name, "'.");
  }
  return absl::OkStatus();
}

Status CheckSources(const Program& program) {
  int64_t last = -1;
  for (const SourceEntry& entry : program.sources) {
    if (int64_t{entry.first_pc} <= last || entry.first_pc >= program.code.size())
      return ValueError("[npu] kernel '", program.name, "': the source '", entry.op,
                        "' begins at pc ", entry.first_pc, ", expected one in (", last, ", ",
                        program.code.size(), ").");
    if (entry.line < 0)
      return ValueError("[npu] kernel '", program.name, "': the source '", entry.op, "' is line ",
                        entry.line, ", expected none below 0.");
    last = entry.first_pc;
  }
  return absl::OkStatus();
}

// What a text can tell as a number.
Status CheckMeta(const Program& program) {
  const ProgramMeta& meta = program.meta;
  uint64_t most = std::max({meta.gm_read, meta.gm_write, meta.macs});
  for (const uint64_t peak : meta.scratch_peak) most = std::max(most, peak);
  if (most <= uint64_t(INT64_MAX)) return absl::OkStatus();
  return ValueError("[npu] kernel '", program.name, "' counts ", most,
                    " bytes or multiply-adds, expected a number in [0, ", INT64_MAX, "].");
}

}  // namespace

std::string_view Name(ParamKind kind) {
  static constexpr std::string_view kNames[] = {"gm.r", "gm.w", "u64", "f32"};
  FZ_CHECK(int(kind) < kNumParamKinds);
  return kNames[int(kind)];
}

const SourceEntry* Program::SourceOf(uint32_t pc) const {
  const auto after =
      std::upper_bound(sources.begin(), sources.end(), pc,
                       [](uint32_t p, const SourceEntry& entry) { return p < entry.first_pc; });
  return after == sources.begin() ? nullptr : &*(after - 1);
}

Status Validate(const Program& program) {
  if (program.code.empty() || program.code.size() > kMaxInstructions)
    return ValueError("[npu] kernel '", program.name, "' has ", program.code.size(),
                      " instructions, expected a number in [1, ", kMaxInstructions, "].");
  FZ_RETURN_IF_ERROR(CheckParams(program));
  FZ_RETURN_IF_ERROR(CheckSources(program));
  FZ_RETURN_IF_ERROR(CheckMeta(program));
  for (size_t pc = 0; pc < program.code.size(); ++pc) {
    std::string problem = FieldProblem(program.code[pc]);
    if (problem.empty()) problem = PlaceProblem(program, int64_t(pc));
    if (!problem.empty())
      return ValueError("[npu] kernel '", program.name, "', pc ", pc, ", ", Text(program.code[pc]),
                        ": ", problem, ".");
  }
  return absl::OkStatus();
}

}  // namespace frazil::npu
