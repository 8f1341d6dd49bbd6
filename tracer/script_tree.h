// The tree of a script: paths that agree up to an outcome share stages, one for each segment.
// Called by Script::Build, run by Script::Run. Invariants: a stage stands before those that follow
// it; what a stage keeps is what something below it reads, in a register that is free again behind
// its last reader, so a loop that reads its condition holds what one iteration holds. Time and
// memory are those of the paths, however long.
#pragma once

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "tracer/script.h"

namespace frazil::tracer {

// One segment in the tree, or the end of a call.
struct Script::Stage {
  std::shared_ptr<const PathRecord> path;  // one that passes through here
  const SegmentRecord* record = nullptr;   // null: the call ends here
  int first_result = 0;                    // results of the path before this one

  std::vector<int32_t> ended;  // registers that nothing reads from here on
  std::vector<Source> slots;   // kResult: a register
  LiveMask live;
  std::vector<int32_t> kept;                // registers of the live results, ascending
  std::shared_ptr<const SegmentPlan> plan;  // null: nothing is wanted
  Overwritable overwritable;                // what the plan may overwrite
  std::vector<int32_t> lent;                // cells whose content is among that
  Source read;
  std::vector<std::pair<uint64_t, Stage*>> next;

  // At the end
  std::vector<Origin> outputs;
  struct Write {
    int cell;
    Origin content;
    bool last = false;  // no later one takes the same register
  };
  std::vector<Write> writes;
  std::vector<TapeRecord> tape;
};

class ScriptTree {
 public:
  explicit ScriptTree(Script* script) : script_(script) {}

  void Add(const std::shared_ptr<const PathRecord>& path);
  // After all paths. Plans of `previous` (may be null) are kept where they fit.
  Status Compile(const Script* previous);

 private:
  using Stage = Script::Stage;
  using Results = absl::flat_hash_set<int32_t>;
  struct Registers {
    std::vector<int32_t> free;
    int32_t used = 0;
  };

  Stage* NewStage(const std::shared_ptr<const PathRecord>& path, size_t segment, int first_result);
  // Sets `live`, `overwritable`, `lent`, and `ended` of what follows, as results of the path.
  void FindLives();
  void FindLives(Stage* stage, Results* wanted);
  // Makes registers of results, from the root on.
  void Place(Stage* stage, Registers* registers);
  void PlaceEnd(Stage* stage);
  Source Placed(const Source& s) const;
  Status MakePlan(Stage* stage, const Stage* before);
  bool Lends(const Stage& stage, const Source& cell) const;

  Script* script_;
  std::vector<int32_t> registers_;  // of each result of the path that is being walked
  // Stages that do the same share a plan.
  using PlanKey =
      std::tuple<const void*, Precision, LiveMask, absl::InlinedVector<uint64_t, 2>, bool>;
  absl::flat_hash_map<PlanKey, std::shared_ptr<const SegmentPlan>> plans_;
};

}  // namespace frazil::tracer
