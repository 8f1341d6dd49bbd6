#include "jit/emit/npu/stream.h"

#include <algorithm>

#include "core/check.h"
#include "core/str.h"

namespace frazil::npu {

std::optional<uint64_t> Stream::Alloc(Space space, int64_t bytes) {
  const int64_t alignment = space == kL0C ? 1024 : space == kL0A || space == kL0B ? 512 : 32;
  const int64_t rounded = (bytes + alignment - 1) / alignment * alignment;
  if (rounded > Free(space)) return std::nullopt;
  const uint64_t address = Address(space, uint64_t(used_[space]));
  used_[space] += rounded;
  return address;
}

BufferId Stream::Track() {
  buffers_.emplace_back();
  return BufferId(buffers_.size()) - 1;
}

void Stream::Refuse(std::string why) {
  if (!refusal_) refusal_ = std::move(why);
}

int Stream::AddParam(std::string name, ParamKind kind) {
  if (params_.size() == size_t{kMaxParams})
    Refuse(StrCat("has more than ", kMaxParams, " parameters"));
  params_.push_back({std::move(name), kind});
  return int(params_.size()) - 1;
}

void Stream::MarkSource(std::string op, std::string file, int line) {
  sources_.push_back({uint32_t(items_.size()), std::move(op), std::move(file), line});
}

// --- registers ---------------------------------------------------------------------------------

uint8_t Stream::FreeRegister() {
  int best = -1;
  for (int r = 1; r < kRegisters; ++r) {
    if (pinned_ >> r & 1) continue;
    if (best < 0 || held_[r].used < held_[best].used) best = r;
  }
  FZ_CHECK(best > 0);
  pinned_ |= 1u << best;
  return uint8_t(best);
}

uint8_t Stream::Hold(const Held& what) {
  for (int r = 1; r < kRegisters; ++r) {
    if (!(held_[r] == what)) continue;
    held_[r].used = ++time_;
    pinned_ |= 1u << r;
    return uint8_t(r);
  }
  Instr load;
  uint8_t r = 0;
  if (what.kind == Held::kDevice) {
    const uint8_t base = Hold({Held::kParam, 0, what.param});
    const uint8_t offset = Field(Arg::Number(int64_t(what.value)));
    r = FreeRegister();
    load = {Op::kSALU, 0, kAluAdd, {r, base, offset}};
  } else if (what.kind == Held::kParam) {
    r = FreeRegister();
    load = {Op::kSLDP, 0, 0, {r, Imm(what.param)}};
  } else {
    r = FreeRegister();
    load = {Op::kSLI, 0, 0, {r}, int32_t(uint32_t(what.value))};
    if (int64_t(what.value) != int64_t(load.imm)) {
      items_.push_back({load, {}});
      load = {Op::kSLIH, 0, 0, {r}, int32_t(uint32_t(what.value >> 32))};
    }
  }
  items_.push_back({load, {}});
  held_[r] = what;
  held_[r].used = ++time_;
  return r;
}

uint8_t Stream::Field(const Arg& arg) {
  switch (arg.kind) {
    case Arg::kNumber:
      if (arg.value < 32) return Imm(int(arg.value));
      [[fallthrough]];
    case Arg::kLocal:
      return Hold({Held::kNumber, arg.value, 0});
    case Arg::kDevice:
      if (arg.value == 0) return Hold({Held::kParam, 0, arg.which});
      return Hold({Held::kDevice, arg.value, arg.which});
    case Arg::kParam:
      return Hold({Held::kParam, 0, arg.which});
  }
  return 0;
}

// --- order -------------------------------------------------------------------------------------

int32_t Stream::Push(Queue queue, const Instr& instr) {
  items_.push_back({instr, {}});
  if (queue == kS) return -1;
  const int32_t number = ++seq_[queue];
  clock_[queue][queue] = number;
  clock_at_[queue].push_back(clock_[queue]);
  item_of_[queue].push_back(int32_t(items_.size()) - 1);
  return number;
}

// A flag whose last WAIT is known to instruction `number` of `from`, or -1.
int Stream::FindFlag(Queue from, Queue to, int32_t number) const {
  for (int id = 0; id < kFlagsPerPair; ++id) {
    if (flags_[from][to][id].last_wait <= clock_at_[from][number][to]) return id;
  }
  return -1;
}

// SET behind instruction `number` of `from`, WAIT here.
void Stream::Pair(Queue from, int32_t number, Queue to, int id) {
  const auto instr = [&](Op op) { return Instr{op, 0, 0, {Imm(from), Imm(to), Imm(id)}}; };
  items_[item_of_[from][number]].after.push_back(instr(Op::kSET));
  ++num_flags_;
  const Clock known = clock_at_[from][number];
  for (int q = 0; q < kNumQueues; ++q) clock_[to][q] = std::max(clock_[to][q], known[q]);
  flags_[from][to][id].last_wait = Push(to, instr(Op::kWAIT));
}

void Stream::WaitFor(Queue waiter, Queue queue, int32_t number, int depth) {
  if (queue == waiter || number < 0 || clock_[waiter][queue] >= number) return;
  int id = FindFlag(queue, waiter, number);
  if (id < 0) {
    // All flags of the pair are on their way: the oldest is taken back first, and the SET stands
    // behind what `queue` was given last.
    if (depth == 4) return Refuse("orders more at once than there are flags");
    id = 0;
    for (int i = 1; i < kFlagsPerPair; ++i) {
      if (flags_[queue][waiter][i].last_wait < flags_[queue][waiter][id].last_wait) id = i;
    }
    WaitFor(queue, waiter, flags_[queue][waiter][id].last_wait, depth + 1);
    if (refusal_) return;
    number = seq_[queue];
  }
  Pair(queue, number, waiter, id);
}

void Stream::Order(Queue earlier, Queue later) { WaitFor(later, earlier, seq_[earlier]); }

// The accesses to tracked buffers; those of operand i in entry i.
std::vector<Stream::Use> Stream::UsesOf(const Instr& instr, std::initializer_list<Arg> args) {
  Issue issue{.op = instr.op, .dt = instr.dt, .fn = instr.fn, .queue = Info(instr.op).queue};
  for (size_t i = 0; i < args.size(); ++i) {
    const Arg& arg = args.begin()[i];
    issue.v[i] = arg.kind == Arg::kDevice ? kGmBase : arg.kind == Arg::kParam ? 0 : arg.value;
  }
  Accesses accesses;
  Fault fault;
  if (!AccessesOf(issue, &accesses, &fault)) {
    const OpInfo& info = Info(instr.op);
    Refuse(StrCat("needs ", info.name, " with ", OperandName(info, fault.operand),
                  " beyond its limit: ", fault.detail));
    return {};
  }
  std::vector<Use> uses(args.size());
  for (const Access& access : accesses) {
    Use& use = uses[access.operand];
    if (use.write) continue;  // what is written may be read as well
    use = {issue.queue, -1, access.write, access};
  }
  return uses;
}

// A later access that conflicts with what is dropped conflicts with `use` as well.
void Stream::Note(const Use& use, std::vector<Use>* uses) {
  const Access& a = use.access;
  const bool whole = a.rows == 1 || a.stride == a.row_bytes;
  std::erase_if(*uses, [&](const Use& old) {
    const bool inside = a.begin() <= old.access.begin() && old.access.end() <= a.end();
    return whole && inside && (use.write || (!old.write && old.queue == use.queue));
  });
  uses->push_back(use);
}

// One flag from each queue at most, and none for what another of them brings.
void Stream::WaitForAll(Queue waiter, const Clock& needed) {
  for (int q = 1; q < kNumQueues; ++q) {
    bool follows = false;
    for (int other = 1; other < kNumQueues; ++other) {
      if (other == q || other == waiter || needed[other] < 0) continue;
      follows |= clock_at_[other][needed[other]][q] >= needed[q];
    }
    if (!follows) WaitFor(waiter, Queue(q), needed[q]);
  }
}

void Stream::Emit(Op op, uint8_t dt, uint8_t fn, std::initializer_list<Arg> args) {
  const OpInfo& info = Info(op);
  FZ_CHECK(int(args.size()) <= info.num_operands);
  if (refusal_) return;
  pinned_ = 0;
  Instr instr{op, dt, fn, {}};
  // Operands are read at dispatch, so registers are filled before the WAITs.
  for (int i = 0; i < info.num_operands; ++i) {
    instr.a[i] = i < int(args.size()) ? Field(args.begin()[i]) : Imm(0);
  }
  std::vector<Use> uses = UsesOf(instr, args);
  if (refusal_) return;
  const auto each = [&](auto f) {
    for (size_t i = 0; i < args.size(); ++i) {
      const Arg& arg = args.begin()[i];
      if (arg.kind == Arg::kLocal && arg.which != kUntracked) f(&uses[i], &buffers_[arg.which]);
    }
  };
  Clock needed;
  needed.fill(-1);
  each([&](const Use* use, const std::vector<Use>* earlier) {
    const Space space = use->access.space();
    const bool whole = space != kL1 && space != kUB;  // a tile is of one piece
    for (const Use& old : *earlier) {
      if (!(use->write || old.write) || !(whole || Overlap(use->access, old.access))) continue;
      needed[old.queue] = std::max(needed[old.queue], old.number);
    }
  });
  WaitForAll(info.queue, needed);
  if (refusal_) return;
  const int32_t number = Push(info.queue, instr);
  each([&](Use* use, std::vector<Use>* earlier) {
    use->number = number;
    Note(*use, earlier);
  });
}

StatusOr<Program> Stream::Finish(std::string name) {
  if (refusal_) return NotImplementedError("[npu] kernel ", name, " ", *refusal_, ".");
  Program program;
  program.name = std::move(name);
  program.preset = preset_.name;
  program.params = std::move(params_);
  size_t source = 0;
  for (size_t i = 0; i < items_.size(); ++i) {
    while (source < sources_.size() && sources_[source].first_pc <= i) {
      program.sources.push_back(sources_[source++]);
      program.sources.back().first_pc = uint32_t(program.code.size());
    }
    program.code.push_back(items_[i].instr);
    for (const Instr& set : items_[i].after) program.code.push_back(set);
  }
  program.code.push_back({Op::kHALT});
  for (int s = 0; s < kNumSpaces; ++s) program.meta.scratch_peak[s] = uint64_t(used_[s]);
  return program;
}

}  // namespace frazil::npu
