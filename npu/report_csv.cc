#include <algorithm>

#include "core/str.h"
#include "npu/asm.h"
#include "npu/report.h"

namespace frazil::npu {
namespace {

struct Sum {
  Queue queue = kS;
  int64_t calls = 0, cycles = 0, stall = 0, bytes = 0;
};

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace

std::string InstructionCsv(const KernelReport& report, const Program& program) {
  std::vector<Sum> sums(program.code.size());
  // Per core and queue: when the instruction before was over.
  std::vector<std::array<int64_t, kNumQueues>> free;
  for (const Timed& t : report.timing.events) {
    if (t.pc >= sums.size()) continue;
    if (t.core >= free.size()) free.resize(t.core + 1u);
    int64_t& before = free[t.core][t.queue];
    Sum& sum = sums[t.pc];
    sum.queue = t.queue;
    ++sum.calls;
    sum.cycles += t.free - t.start;
    sum.stall += std::max<int64_t>(0, t.start - std::max(before, t.dispatch));
    sum.bytes += t.bytes;
    before = t.free;
  }
  std::string text = StrCat("# ", kHonesty, "\npc,text,queue,calls,cycles,stall,bytes,op,place\n");
  for (size_t pc = 0; pc < sums.size(); ++pc) {
    const Sum& sum = sums[pc];
    if (sum.calls == 0) continue;
    const SourceEntry* source = program.SourceOf(uint32_t(pc));
    StrAppend(&text, pc, ",", Quoted(Text(program.code[pc])), ",", Name(sum.queue), ",", sum.calls,
              ",", sum.cycles, ",", sum.stall, ",", sum.bytes, ",",
              Quoted(source ? source->op : ""), ",",
              Quoted(source && !source->file.empty() ? StrCat(source->file, ":", source->line)
                                                     : std::string()),
              "\n");
  }
  return text;
}

}  // namespace frazil::npu
