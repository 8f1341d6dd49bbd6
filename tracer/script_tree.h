// The tree of a script: programs that agree up to an outcome share stages, one for each piece
// (tracer/pieces.h). Called by Script::Build, run by Script::Run. Invariants: a stage stands before
// those that follow it; what a stage keeps is what something below it reads, in a register that is
// free again behind its last reader, so a loop that reads its condition holds what one iteration
// holds. Time and memory are those of the programs, however long.
#pragma once

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "tracer/pieces.h"
#include "tracer/script.h"

namespace frazil::tracer {

// One piece in the tree, or the end of a call. Values are named as in the program until Compile has
// placed them: results are then registers.
struct Script::Stage {
  std::shared_ptr<const LearntCall> learnt;  // one that passes through here
  const Mark* mark = nullptr;                // how it ends; null: the call ends here

  std::shared_ptr<const Program> calls;  // gone when its plan is made
  std::vector<ValueId> slots;            // what its parameters are
  ValueId first_result = 0;
  int32_t results = 0;
  int32_t effect = -1;  // the result of the last call that other processes see
  bool ahead = false;   // its results are read here alone
  const LearntCall::Planned* made = nullptr;  // while the body ran

  std::vector<ValueId> ended;  // that nothing reads from here on
  LiveMask live;
  std::vector<ValueId> kept;                // the live results, ascending
  std::shared_ptr<const SegmentPlan> plan;  // null: nothing is wanted
  Overwritable overwritable;                // what the plan may overwrite
  std::vector<int32_t> lent;                // cells whose content is among that
  ValueId read = kNoValue;
  std::vector<std::pair<uint64_t, Stage*>> next;  // by outcome

  // At the end
  std::vector<Content> outputs;
  std::vector<Program::Write> writes;
  std::vector<bool> last;  // of each write: no later one takes the same register
  std::vector<TapeRecord> tape;
};

class ScriptTree {
 public:
  explicit ScriptTree(Script* script) : script_(script) {}

  void Add(const std::shared_ptr<const LearntCall>& learnt, absl::Span<const Piece> pieces);
  // After all programs. Plans of `previous` (may be null) are kept where they fit.
  Status Compile(const Script* previous);

 private:
  using Stage = Script::Stage;
  using Results = absl::flat_hash_set<ValueId>;
  struct Registers {
    std::vector<ValueId> free;
    ValueId used = 0;
  };
  struct ContentHash {
    size_t operator()(const std::shared_ptr<const Program>& program) const;
  };
  struct SameContent {
    bool operator()(const std::shared_ptr<const Program>& a,
                    const std::shared_ptr<const Program>& b) const;
  };

  Stage* NewStage(const std::shared_ptr<const LearntCall>& learnt);
  void Fill(Stage* stage, const Piece& piece, const Parts& parts);
  // Sets `live`, `overwritable`, `lent`, and `ended` of what follows.
  void FindLives();
  void FindLives(Stage* stage, Results* wanted);
  // Makes registers of results, from the root on.
  void Place(Stage* stage, Registers* registers);
  void PlaceEnd(Stage* stage);
  ValueId Placed(ValueId id) const { return id >= 0 ? registers_[id] : id; }
  Status MakePlan(Stage* stage, const Stage* before);
  bool Lends(const Stage& stage, ValueId cell) const;

  Script* script_;
  std::vector<ValueId> registers_;  // of each result of the program that is being walked
  // Stages that do the same share their calls and their plan.
  absl::flat_hash_set<std::shared_ptr<const Program>, ContentHash, SameContent> contents_;
  using PlanKey =
      std::tuple<const void*, Precision, LiveMask, absl::InlinedVector<uint64_t, 2>, bool>;
  absl::flat_hash_map<PlanKey, std::shared_ptr<const SegmentPlan>> plans_;
};

}  // namespace frazil::tracer
