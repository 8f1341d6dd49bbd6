// Script: programs of one function, compiled: what a call that depends on its arguments only does.
// The programs are written by tracer/script_builder while the body runs by validation; the script
// is run by tracer/promise in place of the body. Invariants: a script is immutable, so many threads
// may run one; running it changes nothing outside before it knows that it reached an end.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tracer/recording.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

// What one call did from its start to its end, and what gives its result.
struct LearntCall {
  Program program;
  // A plan made while the body ran, if that is still there: for the results in `live`, of the calls
  // before a mark, in their order.
  struct Planned {
    std::weak_ptr<const SegmentPlan> plan;
    LiveMask live;
  };
  std::vector<Planned> planned;
  std::vector<uint64_t> shape;       // the result's structure, in the bindings' words
  std::shared_ptr<const void> pins;  // what those words point to
};

class Script {
 public:
  // The tree of `paths`, which agree as SameProgram says. Plans of `previous` (may be null) are
  // kept where they still fit.
  static StatusOr<std::shared_ptr<const Script>> Build(
      std::vector<std::shared_ptr<const LearntCall>> paths, const Script* previous);
  // Of one that is not run, but read (paths).
  static StatusOr<std::shared_ptr<const Script>> Keep(
      std::vector<std::shared_ptr<const LearntCall>> paths);
  ~Script();

  const std::vector<std::shared_ptr<const LearntCall>>& paths() const { return paths_; }
  int kernels() const { return kernels_; }    // of all plans
  int compiled() const { return compiled_; }  // by Build
  int64_t bytes() const { return bytes_; }    // about what it holds
  std::vector<PlanReport> Plans() const;

  // Runs it on the cells' present content and commits the writes. Null, with nothing changed, if
  // an outcome is not known or an index check fails: the body has to run.
  StatusOr<const LearntCall*> Run(Cells cells, absl::InlinedVector<Tensor, 4>* outputs,
                                  int* kernels) const;
  // Once it has run, even in part, the body must not run in its place.
  bool has_effects() const { return has_effects_; }
  // Whether the call is one small kernel with one result that reads none but the first `cells`.
  bool is_quick(size_t cells) const;
  // The result's value, the caller's own; null: nothing has happened.
  Value* MakeQuick(Cells cells) const;

 private:
  friend class ScriptTree;  // tracer/script_tree.h, which fills it
  struct Stage;
  Script();
  Status RunStraight(Cells cells, absl::InlinedVector<Tensor, 4>* outputs) const;

  std::vector<std::shared_ptr<const LearntCall>> paths_;
  std::vector<std::unique_ptr<Stage>> stages_;  // the first is the root, before its followers
  int registers_ = 0;                           // results that are kept at a time
  bool unlocks_ = false;      // while a plan runs, the content of cells may be replaced
  bool has_effects_ = false;  // that other processes see
  bool merged_ = false;       // plans reach over marks (tracer/pieces)
  bool straight_ = false;     // one segment whose results, in order, are the call's; nothing else
  int kernels_ = 0, compiled_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace frazil::tracer
#pragma GCC visibility pop
