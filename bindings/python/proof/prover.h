// Prover: when the calls of one traced function are watched, and what came of it. Called by
// promised.cc for functions without pure=True. A call whose body cannot be proved to depend on its
// arguments and the World runs it, as ever; it is tried again after ever longer pauses, as another
// path through the code may be provable. Invariant: a call that is not tried costs a comparison.
#pragma once

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "bindings/python/proof/numbers.h"
#include "bindings/python/proof/watch.h"
#include "bindings/python/proof/world.h"

namespace frazil::python {

class Prover {
 public:
  explicit Prover(bool strict) : strict_(strict) {}

  World world;
  Numbers numbers;

  // Compares what calls of this function depend on besides their arguments. False if it cannot be
  // compared, or if the World has changed (then what was learnt is void: changes() counts).
  bool Guard(Nest* nest);
  // The same of what is fixed alone.
  bool Compare();
  int64_t changes() const { return world.changes() + numbers.changes() + lists_changes_; }
  // Which numbers move: a call whose nest differs from that of the last new kind in numbers alone
  // says so. True if some were found; the nest is then to be made anew.
  bool FindMoving(const Nest& nest);
  void Remember(const Nest& nest);
  // Where such a call differs from the last new kind, in other things than numbers that were computed:
  // a place in its words, or -1. What lies there, to be told by explain().
  ptrdiff_t differs_at() const { return differs_at_; }
  void Differs(std::string what) { differs_in_ = std::move(what); }
  const std::vector<bool>* moves() const { return &moves_; }
  // The same of lists that have grown since the last call of a new kind: they are not compared until
  // a body turns out to read them.
  bool FindGrowing(const Nest& nest);
  const absl::flat_hash_set<PyObject*>* unread() const { return &unread_; }
  void IsRead(PyObject* list);

  void ForgetNumbers();
  void Clear();
  int Traverse(visitproc visit, void* arg) const;

  // Counts a call: is it to be compared and perhaps watched? The first is not: many functions are
  // called once.
  bool Tries() { return ++calls_ > pause_; }
  // A call could not be proved: why. False if that is an error (strict=True), which is set.
  bool Doubt(const std::string& why, const std::string& function);
  // Calls are all different from each other.
  void Tire() { Pause(); }
  // A call is watched or compared: where that hardly ever pays, it is done less often.
  void Observed();
  void Skipped() {
    if (++skipped_ == 1) since_ = calls_;
    if (skipped_ % kSkippedPerTrial == 0) trials_ = std::min(trials_ + 1, kTrials);
  }
  // A body has been watched from beginning to end.
  void Know() { knows_ = true; }
  // A call of a kind that is unknown is learnt from, without having been watched before: a few are,
  // and more where calls are skipped, as each is compiled.
  bool LearnsAtOnce() { return knows_ && trials_ > 0 && trials_-- > 0; }
  const std::string& doubt() const { return doubt_; }
  // For explain().
  std::string Describe() const;

 private:
  void Pause() { pause_ = calls_ + (int64_t{2} << std::min(doubts_++, 14)); }

  static constexpr int kTrials = 16, kSkippedPerTrial = 8;

  const bool strict_;
  bool knows_ = false;
  int trials_ = kTrials;
  int64_t calls_ = 0, pause_ = 1, since_ = 0, skipped_ = 0;
  int64_t observed_ = 0, skipped_before_ = 0;  // since it was last asked whether that pays
  int doubts_ = 0;
  std::string doubt_;        // the latest
  std::vector<bool> moves_;  // by the place of a number in the nest
  absl::flat_hash_set<PyObject*> unread_;
  std::vector<Object> kept_;  // what is in unread_ or read_
  absl::flat_hash_set<PyObject*> read_;
  std::vector<std::pair<const PyObject*, Py_ssize_t>> last_lists_;  // of the last new kind
  int64_t lists_changes_ = 0;
  std::vector<uint64_t> last_words_;  // of the last call of a new kind
  ptrdiff_t differs_at_ = -1;
  std::string differs_in_;
};

}  // namespace frazil::python
