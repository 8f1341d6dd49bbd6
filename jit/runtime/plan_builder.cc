#include <algorithm>
#include <atomic>
#include <limits>

#include "core/check.h"
#include "core/config.h"
#include "core/device_memory.h"
#include "core/parallel.h"
#include "core/str.h"
#include "jit/runtime/branches.h"
#include "jit/runtime/followed.h"
#include "jit/runtime/in_place.h"
#include "jit/runtime/kernel_cache.h"
#include "jit/runtime/list_step.h"
#include "jit/runtime/memory_plan.h"
#include "jit/runtime/pending.h"
#include "jit/runtime/steps.h"
#include "jit/runtime/stretch.h"

namespace frazil::jit {
namespace {

constexpr int32_t kWorkspace = -1;                 // as a block of memory that steps touch
constexpr size_t kWorthThreads = 4;                // kernels to compile
constexpr int64_t kSmallArena = int64_t{1} << 20;  // nobody minds more of it
constexpr int32_t kForever = std::numeric_limits<int32_t>::max();

int64_t BytesOf(const Node& node) { return node.layout->size * SizeOf(node.dtype); }

// Memory that some steps write and others read: a graph input, a computed value, or a temporary of
// a group.
struct Memory {
  int64_t bytes = 0;
  int32_t input = -1;                   // number of the graph input it is
  int32_t first = kForever, last = -1;  // steps, whole stretches of branches and followed products
  int32_t first_use = kForever, last_use = -1;  // steps
  int32_t home = -1;    // the memory it lies in: itself unless a step runs in place
  int32_t result = -1;  // of a home: index of Program::results
  int32_t donor = -1;   // of a home: input whose memory it may take
  int32_t arena = 0;    // of whose device it is
};

class Builder {
 public:
  Builder(const Graph& graph, const Grouping& grouping, const BuildOptions& options,
          std::string* dump, tracer::MemoryReport* report)
      : graph_(graph), grouping_(grouping), options_(options), dump_(dump), report_(report) {}

  StatusOr<Program> Run() {
    program_.num_inputs = graph_.num_inputs;
    program_.arenas = {{Device()}};
    MakeNodeMemories();
    for (const Group& group : grouping_.groups) {
      FZ_RETURN_IF_ERROR(group.kind == Group::Kind::kKernel ? AddKernels(group)
                                                            : AddLibrary(group));
    }
    if (options_.compile.fuse)
      FollowProducts(graph_, memory_of_, options_.compile.precision, &pending_);
    // OpenBLAS has threads of its own, which do one product at a time.
    if (options_.branches && options_.compile.precision != Precision::kBlas) ChooseBranches();
    if (options_.compile.fuse) ChooseFollowed();
    FindLastLibrary();
    FindLives();
    AddOutputs();
    if (options_.in_place) {
      for (size_t step = 0; step < pending_.size(); ++step) ShareMemory(static_cast<int32_t>(step));
    }
    PlaceMemories();
    if (report_) Report();
    CompileAhead();
    for (PendingStep& step : pending_) FZ_RETURN_IF_ERROR(Emit(&step));
    for (const Arena& arena : program_.arenas) program_.stats.arena_bytes += arena.bytes;
    SumWork();
    if (program_.arenas.size() > 1) {
      JoinSteps();
    } else {
      ListSteps();
    }
    return std::move(program_);
  }

 private:
  template <typename... Args>
  void Say(const Args&... args) {
    if (dump_) StrAppend(dump_, args..., "\n");
  }

  // Every node has the memory of the value it is, or is a view of.
  void MakeNodeMemories() {
    for (int32_t id = 0; id < static_cast<int32_t>(graph_.nodes.size()); ++id) {
      const Node& node = graph_.nodes[id];
      if (node.view) {
        memory_of_.push_back(memory_of_[node.operands[0]]);
        continue;
      }
      memory_of_.push_back(NewMemory(BytesOf(node), node.device));
      if (node.input) memories_.back().input = id;
    }
  }

  // What the CPU addresses is one memory.
  int32_t ArenaOf(Device device) {
    if (CpuAddresses(device)) return 0;
    size_t a = 1;
    while (a < program_.arenas.size() && !(program_.arenas[a].device == device)) ++a;
    if (a == program_.arenas.size()) program_.arenas.push_back({device});
    return int32_t(a);
  }

  int32_t NewMemory(int64_t bytes, Device device) {
    memories_.emplace_back();
    memories_.back().bytes = bytes;
    memories_.back().arena = ArenaOf(device);
    memories_.back().home = static_cast<int32_t>(memories_.size()) - 1;
    return memories_.back().home;
  }

  void SayGroup(const Group& group) {
    if (!dump_) return;
    std::string text = group.kind == Group::Kind::kKernel ? "group kernel" : "group library";
    for (const int32_t id : group.nodes) StrAppend(&text, " %", id);
    StrAppend(&text, " ->");
    for (const int32_t id : group.outputs) StrAppend(&text, " %", id);
    Say(text);
  }

  Status AddKernels(const Group& group) {
    SayGroup(group);
    FZ_ASSIGN_OR_RETURN(LoweredGroup lowered, Lower(graph_, group));
    std::vector<int32_t> temporaries;
    const Device device = graph_.nodes[group.outputs[0]].device;
    if (group.nodes.size() > 1 && !Launchable(device, lowered)) return AddApart(group);
    for (const int64_t bytes : lowered.temporary_bytes)
      temporaries.push_back(NewMemory(bytes, device));
    for (Launch& launch : lowered.launches) {
      Say(kir::Print(launch.kernel));
      if (launch.rows == 0 || launch.cols == 0) continue;
      PendingStep step;
      for (size_t i = 0; i < launch.buffers.size(); ++i) {
        const int32_t node = launch.buffers[i].node;
        const int32_t memory = node >= 0 ? memory_of_[node] : temporaries[-1 - node];
        step.uses.push_back({memory, launch.kernel.buffers[i].out});
      }
      step.node = group.outputs[0];
      step.device = device;
      step.launch = std::move(launch);
      pending_.push_back(std::move(step));
    }
    return absl::OkStatus();
  }

  static bool Launchable(Device device, const LoweredGroup& lowered) {
    return std::all_of(lowered.launches.begin(), lowered.launches.end(),
                       [&](const Launch& launch) { return CheckLaunch(device, launch).ok(); });
  }

  // Each node as a group of its own.
  Status AddApart(const Group& group) {
    for (const int32_t id : group.nodes) {
      if (graph_.nodes[id].view) continue;
      FZ_RETURN_IF_ERROR(AddKernels({Group::Kind::kKernel, {id}, {id}}));
    }
    return absl::OkStatus();
  }

  Status AddLibrary(const Group& group) {
    SayGroup(group);
    FZ_CHECK(group.nodes.size() == 1);
    PendingStep step;
    step.node = group.nodes[0];
    FZ_ASSIGN_OR_RETURN(step.call, MakeLibraryCall(graph_, step.node, options_.compile.precision));
    const Node& node = graph_.nodes[step.node];
    step.device = node.device;
    if (!(step.device == Device())) {
      FZ_ASSIGN_OR_RETURN(step.call,
                          MakeDeviceCall(graph_, step.node, OriginOf(graph_, step.node),
                                         options_.compile.precision, std::move(step.call)));
      CountRefusal(step.call->refusal());
    }
    for (const int32_t operand : graph_.nodes[step.node].operands)
      step.uses.push_back({memory_of_[operand], false});
    step.uses.push_back({memory_of_[step.node], true});
    pending_.push_back(std::move(step));
    return absl::OkStatus();
  }

  void FindLastLibrary() {
    for (size_t i = 0; i < pending_.size(); ++i) {
      if (!pending_[i].call && !pending_[i].followed) continue;
      last_library_ = static_cast<int32_t>(i);
      if (const Branched* found = BranchedAt(last_library_)) last_library_ = found->end;
      if (const Followed* found = FollowedAt(last_library_)) last_library_ = found->end;
    }
  }

  void CountRefusal(std::string why) {
    if (!why.empty()) program_.stats.elsewhere.push_back(std::move(why));
  }

  void FindLives() {
    for (size_t step = 0; step < pending_.size(); ++step) {
      for (const Use& use : pending_[step].uses) {
        Memory& m = memories_[use.memory];
        const auto at = static_cast<int32_t>(step);
        int32_t begin = at, end = at + 1;
        if (const Branched* found = BranchedAt(at)) begin = found->begin, end = found->end;
        if (const Followed* found = FollowedAt(at)) begin = found->begin, end = found->end;
        m.first = std::min(m.first, begin);
        m.last = end - 1;
        m.first_use = std::min(m.first_use, at);
        m.last_use = at;
      }
    }
  }

  // Branches need what they touch at the same time: those that make the arena grow are left out.
  void ChooseBranches() {
    std::vector<Branched> found = FindBranches(
        graph_, pending_, static_cast<int32_t>(memories_.size()), options_.always_branch);
    if (found.empty()) return;
    const int64_t most = std::max(kSmallArena, LiveBytesNow() * 102 / 100);
    for (Branched& branched : found) {
      branched_.push_back(std::move(branched));
      if (!options_.always_branch && LiveBytesNow() > most) branched_.pop_back();
    }
  }

  // Products and their followers need what they touch at the same time, too.
  void ChooseFollowed() {
    const int64_t most = std::max(kSmallArena, LiveBytesNow() * 102 / 100);
    for (const Followed& found : FindFollowed(graph_, pending_, options_.always_branch)) {
      bool apart = true;
      for (int32_t step = found.begin; step < found.end; ++step) apart &= !BranchedAt(step);
      if (!apart) continue;
      followed_.push_back(found);
      if (!options_.always_branch && LiveBytesNow() > most) followed_.pop_back();
    }
  }

  // The product with its followers that a step is one of, or null.
  const Followed* FollowedAt(int32_t step) const {
    const auto next =
        std::upper_bound(followed_.begin(), followed_.end(), step,
                         [](int32_t s, const Followed& found) { return s < found.begin; });
    if (next == followed_.begin() || step >= std::prev(next)->end) return nullptr;
    return &*std::prev(next);
  }

  // True if `step` follows a product and another step of that uses the memory other than by rows:
  // as its operand, or as something that was there before.
  bool UsedByOtherRows(int32_t step, int32_t home) const {
    const Followed* found = FollowedAt(step);
    if (!found) return false;
    if (memories_[home].first_use >= found->begin) return false;  // what the product began
    for (int32_t other = found->begin; other < found->end; ++other) {
      for (const Use& use : pending_[other].uses) {
        if (other != step && Home(use.memory) == home) return true;
      }
    }
    return false;
  }

  int64_t LiveBytesNow() {
    const std::vector<Memory> before = memories_;
    FindLives();
    std::vector<Block> blocks;
    for (const Memory& m : memories_) {
      if (m.last >= 0 && m.input < 0) blocks.push_back({m.bytes, m.first, m.last});
    }
    memories_ = before;
    return LiveBytes(blocks);
  }

  // The stretch of branches that a step is in, or null.
  const Branched* BranchedAt(int32_t step) const {
    const auto next =
        std::upper_bound(branched_.begin(), branched_.end(), step,
                         [](int32_t s, const Branched& branched) { return s < branched.begin; });
    if (next == branched_.begin()) return nullptr;
    const Branched& found = *std::prev(next);
    return step < found.end ? &found : nullptr;
  }

  // True if a branch beside that of `step` touches the memory.
  bool TouchedBeside(int32_t step, int32_t home) const {
    const Branched* found = BranchedAt(step);
    if (!found) return false;
    for (const std::vector<int32_t>& branch : found->branches) {
      if (std::binary_search(branch.begin(), branch.end(), step)) continue;
      for (const int32_t other : branch) {
        for (const Use& use : pending_[other].uses) {
          if (Home(use.memory) == home) return true;
        }
      }
    }
    return false;
  }

  void AddOutputs() {
    for (const int32_t id : graph_.outputs) {
      const Node& node = graph_.nodes[id];
      const int32_t base = BaseOf(graph_, id);
      Memory& m = memories_[memory_of_[base]];
      m.last = m.last_use = kForever;
      if (m.input < 0 && m.result < 0) {
        const Node& value = graph_.nodes[base];
        m.result = static_cast<int32_t>(program_.results.size());
        program_.results.push_back({value.dtype, value.device, value.layout});
      }
      const int32_t slot = m.input >= 0 ? m.input : program_.result_slot(m.result);
      program_.outputs.push_back(
          {slot, id == base, OffsetInBase(graph_, id), node.dtype, node.device, node.layout});
    }
  }

  int32_t Home(int32_t memory) const { return memories_[memory].home; }

  // Gives results first written in `step` the memory of an operand that nothing needs afterwards.
  void ShareMemory(int32_t step) {
    const PendingStep& s = pending_[step];
    std::vector<int32_t> taken;
    for (size_t out = 0; out < s.uses.size(); ++out) {
      const int32_t memory = s.uses[out].memory;
      if (!s.uses[out].write || Home(memory) != memory) continue;
      if ((FollowedAt(step) ? memories_[memory].first_use : memories_[memory].first) != step)
        continue;
      for (const bool want_input : {true, false}) {
        if (memories_[memory].donor >= 0 || Home(memory) != memory) break;
        for (const Use& use : s.uses) {
          const int32_t from = Home(use.memory);
          if ((memories_[from].input >= 0) != want_input || use.write) continue;
          if (std::count(taken.begin(), taken.end(), from) || !MayTake(s, step, out, from))
            continue;
          taken.push_back(from);
          Take(memory, from);
          break;
        }
      }
    }
  }

  bool MayTake(const PendingStep& s, int32_t step, size_t out, int32_t from) const {
    const Memory& m = memories_[from];
    const Memory& to = memories_[s.uses[out].memory];
    if (m.last_use != step || TouchedBeside(step, from) || UsedByOtherRows(step, from) ||
        m.bytes != to.bytes || m.arena != to.arena || m.result >= 0)
      return false;
    if (m.input >= 0) {
      if (!options_.compile.Reusable(m.input) || graph_.nodes[m.input].immediate ||
          step < last_library_)
        return false;
    }
    if (s.followed) return false;
    const auto shares = [&](int use) { return Home(s.uses[use].memory) == from; };
    if (!s.call)
      return MayOverwrite(s.launch, static_cast<int>(out), !CpuAddresses(s.device), shares);
    if (!s.call->in_place() || !shares(0)) return false;
    for (size_t use = 1; use + 1 < s.uses.size(); ++use) {
      if (shares(static_cast<int>(use))) return false;
    }
    const Node &x = graph_.nodes[graph_.nodes[s.node].operands[0]], &y = graph_.nodes[s.node];
    return x.layout == y.layout && OffsetInBase(graph_, graph_.nodes[s.node].operands[0]) == 0;
  }

  void Take(int32_t memory, int32_t from) {
    Memory& m = memories_[memory];
    if (memories_[from].input >= 0) {
      m.donor = memories_[from].input;  // decided at run time
      return;
    }
    m.home = from;
    memories_[from].last = m.last;
    memories_[from].last_use = m.last_use;
    memories_[from].result = m.result;
  }

  void PlaceMemories() {
    arena_offset_.assign(memories_.size(), 0);
    std::vector<std::vector<Block>> blocks(program_.arenas.size());
    std::vector<std::vector<int32_t>> owners(program_.arenas.size());
    for (size_t i = 0; i < memories_.size(); ++i) {
      const Memory& m = memories_[i];
      if (m.home != static_cast<int32_t>(i) || m.last < 0 || m.input >= 0) continue;
      if (m.result >= 0) {
        program_.results[m.result].donor = m.donor;
        program_.results[m.result].first_step = m.first;
        continue;
      }
      blocks[m.arena].push_back({m.bytes, m.first, m.last});
      owners[m.arena].push_back(static_cast<int32_t>(i));
    }
    for (size_t a = 0; a < blocks.size(); ++a) {
      const MemoryPlan plan = PlanMemory(blocks[a]);
      program_.arenas[a].bytes = plan.bytes;
      for (size_t i = 0; i < owners[a].size(); ++i) arena_offset_[owners[a][i]] = plan.offsets[i];
    }
  }

  std::string SayNode(int32_t id) const {
    const Node& node = graph_.nodes[id];
    const std::string origin = OriginOf(graph_, id);
    return StrCat(Info(node.op).name, " ", ShortName(node.dtype), ToString(node.layout->dims()),
                  origin.empty() ? "" : StrCat(" (", origin, ")"));
  }

  // Blocks in the order in which they begin to live.
  void Report() {
    std::vector<std::string> what(memories_.size(), "temporary");
    for (int32_t id = 0; id < int32_t(graph_.nodes.size()); ++id) {
      if (graph_.nodes[id].input || graph_.nodes[id].view) continue;
      std::string& text = what[Home(memory_of_[id])];
      text = text == "temporary" ? SayNode(id) : StrCat(text, ", then ", SayNode(id));
    }
    for (const PendingStep& s : pending_)
      report_->steps.push_back(s.call ? s.call->text() : SayNode(s.node));
    const auto end = static_cast<int32_t>(pending_.size()) - 1;
    std::vector<Block> arena, all;
    for (size_t i = 0; i < memories_.size(); ++i) {
      const Memory& m = memories_[i];
      if (m.home != static_cast<int32_t>(i) || m.last < 0 || m.input >= 0) continue;
      if (m.arena != 0) continue;
      using Kind = tracer::PlannedBlock::Kind;
      const Kind kind = m.result < 0 ? Kind::kArena : m.donor < 0 ? Kind::kResult : Kind::kDonated;
      const int64_t bytes = Padded(m.bytes);
      const Block block{bytes, std::min(m.first, end), std::min(m.last, end)};
      report_->blocks.push_back({what[i], kind, bytes, arena_offset_[i], block.first, block.last});
      if (kind == Kind::kArena) arena.push_back(block);
      if (kind != Kind::kDonated) all.push_back(block);
      if (kind == Kind::kResult) report_->result_bytes += bytes;
    }
    std::stable_sort(report_->blocks.begin(), report_->blocks.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    report_->arena_bytes = program_.arenas[0].bytes;
    report_->arena_bound = LiveBytes(arena);
    report_->peak_bound = LiveBytes(all);
  }

  Pointer PointerTo(int32_t memory, int64_t offset) const {
    const int32_t home = Home(memory);
    const Memory& m = memories_[home];
    if (m.input >= 0) return {m.input, offset};
    if (m.result >= 0) return {program_.result_slot(m.result), offset};
    return {program_.arena_slot(m.arena), arena_offset_[home] + offset};
  }

  Status Emit(PendingStep* s) {
    s->library |= s->call != nullptr;
    if (s->call) {
      LibraryStep step;
      const Node& node = graph_.nodes[s->node];
      for (const int32_t id : node.operands)
        step.operands.push_back(PointerTo(memory_of_[id], OffsetInBase(graph_, id)));
      step.result = PointerTo(memory_of_[s->node], 0);
      Say("step ", s->call->text(), SayPointers(step.operands), " -> ", SayPointers({step.result}));
      step.call = std::move(s->call);
      program_.steps.push_back(std::move(step));
      ++program_.stats.library_calls;
      return absl::OkStatus();
    }
    return EmitKernel(s);
  }

  // Kernels of the CPU on all threads: the cache knows them when steps ask for them.
  void CompileAhead() {
    std::vector<const kir::Kernel*> kernels;
    for (const PendingStep& s : pending_) {
      if (!s.call && !s.followed && s.device == Device()) kernels.push_back(&s.launch.kernel);
    }
    if (kernels.size() < kWorthThreads) return;
    std::atomic<int> compiled{0};
    ParallelFor(static_cast<int64_t>(kernels.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        bool made = false;
        // An error comes again, and is reported, when the step is emitted.
        GetKernel(*kernels[i], &made).IgnoreError();
        compiled += made;
      }
    });
    program_.stats.compiled += compiled;
  }

  Status EmitKernel(PendingStep* s) {
    Launch& launch = s->launch;
    KernelStep step;
    bool compiled = false;
    if (s->followed) {
      step.device = std::move(s->followed);
    } else if (s->device == Device()) {
      FZ_ASSIGN_OR_RETURN(step.code, GetKernel(launch.kernel, &compiled));
      step.fn = step.code->fn();
      program_.stats.compiled += compiled;
      program_.stats.interpreted += !step.code->fn() && GetConfig().jit != "interp";
    } else {
      FZ_ASSIGN_OR_RETURN(step.device,
                          MakeDeviceKernel(s->device, launch, OriginOf(graph_, s->node)));
      CountRefusal(step.device->refusal());
      program_.stats.compiled += step.device->compiles();
    }
    ++program_.stats.kernels;
    for (size_t i = 0; i < launch.buffers.size(); ++i) {
      step.buffers.push_back(PointerTo(s->uses[i].memory, launch.buffers[i].offset));
    }
    for (const int32_t scalar : launch.scalars) {
      step.scalars.push_back(std::max(scalar, -1));
      step.words.push_back(scalar < 0 ? launch.literals[-1 - scalar] : 0);
    }
    step.extents = std::move(launch.extents);
    step.strides = std::move(launch.strides);
    step.rows = launch.rows;
    step.cols = launch.cols;
    step.work = launch.work;
    Say("step ", step.device ? step.device->text() : launch.kernel.name, SayPointers(step.buffers),
        " rows ", step.rows, " cols ", step.cols);
    program_.steps.push_back(std::move(step));
    return absl::OkStatus();
  }

  void SumWork() {
    for (size_t i = program_.steps.size(); i-- > 0;) {
      const Step& step = program_.steps[i];
      const KernelStep* kernel = std::get_if<KernelStep>(&step);
      program_.stats.work += kernel ? kernel->work : std::get<LibraryStep>(step).call->work();
      for (Result& result : program_.results) {
        if (result.first_step == static_cast<int32_t>(i))
          result.work_from_there = program_.stats.work;
      }
    }
    if (program_.stats.work <= options_.compile.most_lent_work) return;
    for (Result& result : program_.results) result.donor = -1;
  }

  std::vector<Touch> TouchesOf(const PendingStep& s) const {
    std::vector<Touch> touches;
    const auto whole = [&](int32_t slot, bool write) {
      touches.push_back({slot, 0, std::numeric_limits<int64_t>::max(), write});
    };
    for (const Use& use : s.uses) {
      const int32_t home = Home(use.memory);
      const Memory& m = memories_[home];
      if (m.input >= 0) {
        whole(m.input, use.write);
      } else if (m.result >= 0) {
        whole(program_.result_slot(m.result), use.write);
        if (m.donor >= 0) whole(m.donor, use.write);
      } else {
        touches.push_back({program_.arena_slot(m.arena), arena_offset_[home],
                           arena_offset_[home] + m.bytes, use.write});
      }
    }
    // Calls of a library share its workspace.
    if (s.library) whole(kWorkspace, true);
    return touches;
  }

  // Branches become one step, and so do small kernels on the CPU that do not wait for each other.
  void ListSteps() {
    std::vector<Step> steps;
    std::vector<int32_t> now, first;  // of each step; of each new one
    for (size_t begin = 0; begin < pending_.size();) {
      first.push_back(static_cast<int32_t>(begin));
      if (const Followed* found = FollowedAt(static_cast<int32_t>(begin))) {
        Say("step ", begin, " is followed by ", found->end - found->begin - 1);
        FollowedStep whole;
        whole.product = std::get<LibraryStep>(std::move(program_.steps[begin]));
        now.push_back(static_cast<int32_t>(steps.size()));
        for (++begin; begin < static_cast<size_t>(found->end); ++begin) {
          whole.kernels.push_back(std::get<KernelStep>(std::move(program_.steps[begin])));
          now.push_back(static_cast<int32_t>(steps.size()));
        }
        steps.push_back(std::move(whole));
        continue;
      }
      const Branched* found = BranchedAt(static_cast<int32_t>(begin));
      const size_t end = found ? static_cast<size_t>(found->end) : begin + 1;
      std::vector<Step> branches;
      for (; begin < end; ++begin) {
        now.push_back(static_cast<int32_t>(steps.size()));
        (found ? branches : steps).push_back(std::move(program_.steps[begin]));
      }
      if (found) steps.push_back(StretchStep{MakeBranches(*found, std::move(branches))});
    }
    Renumber(now);
    now.clear();
    const auto touches = [&](size_t step) { return TouchesOf(pending_[first[step]]); };
    program_.steps = MakeLists(std::move(steps), touches, &now);
    Renumber(now);
  }

  void Renumber(const std::vector<int32_t>& now) {
    for (Result& result : program_.results) {
      if (result.first_step < static_cast<int32_t>(now.size()))
        result.first_step = now[result.first_step];
    }
  }

  // Neighbours of one device that it takes as one launch become one step.
  void JoinSteps() {
    std::vector<Step> joined;
    std::vector<int32_t> now;  // of each step
    for (size_t begin = 0; begin < pending_.size();) {
      size_t end = begin;
      const Device device = pending_[begin].device;
      while (end < pending_.size() && pending_[end].device == device &&
             MayJoin(device, program_.steps[end]))
        ++end;
      if (end - begin < 2) {
        now.push_back(static_cast<int32_t>(joined.size()));
        joined.push_back(std::move(program_.steps[begin++]));
        continue;
      }
      std::vector<std::vector<Touch>> touches;
      std::vector<Step> steps;
      for (; begin < end; ++begin) {
        touches.push_back(TouchesOf(pending_[begin]));
        steps.push_back(std::move(program_.steps[begin]));
        now.push_back(static_cast<int32_t>(joined.size()));
      }
      joined.push_back(StretchStep{MakeStretch(device, std::move(steps), DependenciesOf(touches))});
    }
    program_.steps = std::move(joined);
    Renumber(now);
  }

  std::string SayPointers(absl::Span<const Pointer> pointers) const {
    std::string text;
    for (const Pointer& p : pointers) {
      const int32_t arena = p.slot - program_.arena_slot(0), out = p.slot - program_.result_slot(0);
      if (arena < 0) {
        StrAppend(&text, " in", p.slot);
      } else if (out >= 0) {
        StrAppend(&text, " out", out);
      } else {
        StrAppend(&text, " arena", arena ? StrCat(arena) : "");
      }
      StrAppend(&text, "+", p.offset);
    }
    return text;
  }

  const Graph& graph_;
  const Grouping& grouping_;
  const BuildOptions& options_;
  std::string* dump_;
  tracer::MemoryReport* report_;
  std::vector<Memory> memories_;
  std::vector<int32_t> memory_of_;  // of each node
  std::vector<PendingStep> pending_;
  // Library calls can run out of memory; inputs must be whole until the last has begun.
  int32_t last_library_ = 0;
  std::vector<Branched> branched_;  // in order
  std::vector<Followed> followed_;  // in order
  std::vector<int64_t> arena_offset_;
  Program program_;
};

}  // namespace

StatusOr<Program> BuildProgram(const Graph& graph, const Grouping& grouping,
                               const BuildOptions& options, std::string* dump,
                               tracer::MemoryReport* memory) {
  return Builder(graph, grouping, options, dump, memory).Run();
}

}  // namespace frazil::jit
