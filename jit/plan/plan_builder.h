// The planner at work: groups of a graph become steps, and memory is assigned to them. Used by
// BuildSchedule (jit/run/schedule.h) alone. Split by subject: plan_builder.cc (steps),
// plan_builder_lives.cc (what lives when, what lies where), plan_builder_loop.cc (loops of steps),
// plan_builder_join.cc (several steps as one), plan_builder_report.cc (what is told of them). Invariant: steps are numbered as in
// `pending_` until they are joined.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "core/str.h"
#include "jit/plan/branches.h"
#include "jit/plan/epilogue.h"
#include "jit/plan/pending.h"
#include "jit/run/schedule.h"

namespace frazil::jit {

class PlanBuilder {
 public:
  PlanBuilder(const Graph& graph, const Grouping& grouping, const BuildOptions& options,
              tracer::PlanReport* report)
      : graph_(graph), grouping_(grouping), options_(options), report_(report) {}

  StatusOr<Schedule> Run();

 private:
  static constexpr int32_t kForever = std::numeric_limits<int32_t>::max();

  // Memory that some steps write and others read: a graph input, a computed value, or a temporary
  // of a group.
  struct Memory {
    int64_t bytes = 0;
    int32_t input = -1;  // number of the graph input it is
    // Steps, with whole step groups of branches and all followers of a product.
    int32_t first = kForever, last = -1;
    int32_t first_use = kForever, last_use = -1;  // steps
    int32_t home = -1;    // the memory it lies in: itself unless a step runs in place
    int32_t result = -1;  // of a home: index of Schedule::results
    int32_t donor = -1;   // of a home: input whose memory it may take
    int32_t arena = 0;    // of whose device it is
  };

  // --- steps (plan_builder.cc)
  template <typename... Args>
  void Say(const Args&... args) {
    if (report_) StrAppend(&report_->text, args..., "\n");
  }
  void MakeNodeMemories();
  int32_t ArenaOf(Device device);
  int32_t NewMemory(int64_t bytes, Device device);
  void SayGroup(const Group& group);
  Status AddKernels(const Group& group);
  static bool Launchable(Device device, const LoweredGroup& lowered);
  Status AddApart(const Group& group);
  Status AddLibrary(const Group& group);
  // plan_builder_loop.cc
  Status AddLoop(const Group& group);
  LoopSlot SlotOf(const Loop::Source& source, const Node& steps, const Node& input,
                  int64_t times) const;
  void PlaceOutput(const Group& group, const Loop& loop, int32_t output, PendingStep* step);
  Status Emit(const PendingStep& s, std::unique_ptr<LoopStep>* loop);
  void CountRefusal(std::string why);
  void AddOutputs();
  Pointer PointerTo(int32_t memory, int64_t offset) const;
  Status Emit(const PendingStep& s, Launch* launch);
  Status Emit(const PendingStep& s, std::unique_ptr<const LibraryCall>* call);
  Status Emit(const PendingStep& s, ProductWithEpilogue* product);
  std::string LinesOf(const PendingStep& s) const;
  void CompileAhead();
  void AddKernelStep(const PendingStep& s, Launch* launch, std::unique_ptr<KernelStep> step);
  void SumWork();
  std::string SayPointers(absl::Span<const Pointer> pointers) const;

  // --- lives and places (plan_builder_lives.cc)
  void FindLastLibrary();
  void FindLives();
  int32_t FirstOverwrite();
  void ChooseBranches();
  void ChooseEpilogues();
  const Epilogue* EpilogueAt(int32_t step) const;
  bool UsedByOtherRows(int32_t step, int32_t home) const;
  int64_t LiveBytesNow();
  const Branched* BranchedAt(int32_t step) const;
  int32_t Home(int32_t memory) const { return memories_[memory].home; }
  void ShareMemory(int32_t step);
  bool MayOverwriteInput(int32_t id) const;
  bool MayTake(const PendingStep& s, int32_t step, size_t out, int32_t from) const;
  void Take(int32_t memory, int32_t from);
  void PlaceMemories();

  // --- what is told of it (plan_builder_report.cc)
  std::string SayNode(int32_t id) const;
  void ReportMemory();
  void ReportSteps();
  tracer::StepPart PartOf(const PendingStep& s, const Step& step) const;
  double BytesTouched(const PendingStep& s) const;

  // --- several steps as one (plan_builder_join.cc)
  std::vector<Touch> TouchesOf(const PendingStep& s) const;
  void ListSteps();
  void Replace(JoinedSteps joined);
  void JoinSteps();

  const Graph& graph_;
  const Grouping& grouping_;
  const BuildOptions& options_;
  tracer::PlanReport* report_;
  std::vector<Memory> memories_;
  std::vector<int32_t> memory_of_;  // of each node
  std::vector<PendingStep> pending_;
  // Library calls can run out of memory; inputs must be whole until the last has begun.
  int32_t last_library_ = 0;
  std::vector<Branched> branched_;   // in order
  std::vector<Epilogue> epilogues_;  // in order
  std::vector<int64_t> arena_offset_;
  Schedule schedule_;
};

}  // namespace frazil::jit
