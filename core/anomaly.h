// Finds the op that makes the first NaN or infinity. Apply and ApplyComposite come here for every
// call of a thread within an AnomalyScope (fz.detect_anomaly, fz.debug.nan), the tape tells it of its nodes, and
// backward asks it where the op was called whose gradient went wrong. Invariant: an op is blamed
// only for what its operands do not have: a NaN if none of them has one, an infinity if all are
// finite. Composites are looked at as a whole: what they compute within and leave out again is
// nobody's error. Calls run eagerly and pass by the table of calls met before.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/apply.h"

#pragma GCC visibility push(default)
namespace frazil {

// Of one thread; scopes nest. Not within a traced call, whose session is the thread's door.
class AnomalyScope {
 public:
  explicit AnomalyScope(bool infinities = true);  // false: looks for NaN alone
  ~AnomalyScope();
  AnomalyScope(const AnomalyScope&) = delete;
  AnomalyScope& operator=(const AnomalyScope&) = delete;

  bool infinities() const { return infinities_; }
  // A node of the tape is made here.
  void Made(uint64_t sequence);
  // An error within its gradient, with the op and where it was called.
  Status Explain(const Status& status, uint64_t sequence, std::string_view op) const;

 private:
  const bool infinities_;
  absl::flat_hash_map<uint64_t, std::string> made_;  // by nodes' sequence numbers
  ThreadState before_;
};

// The eager door without its table of calls met before, which would pass by Apply.
Door* SlowDoor();

// Where Apply goes while results are looked at, here or for core/kept.h.
Tensor ApplyChecked(const OpCall& call);
Tensor ApplyLookedAt(const OpCall& call);  // looks for NaN and infinity
void ApplyCompositeChecked(const CompositeCall& call, CompositeBody body,
                           absl::Span<Tensor> outputs);
// The same for what is computed elsewhere than by ops: an error within an AnomalyScope alone.
Status CheckResults(std::string_view name, absl::Span<const Tensor> operands,
                    absl::Span<const Tensor> results);

}  // namespace frazil
#pragma GCC visibility pop
