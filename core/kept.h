// Results of some ops that are kept while others are computed again: checkpoint's policy
// (batch/checkpoint.h). Apply comes here for every call of a thread within a KeepScope, by way of
// core/anomaly.h. Invariants: calls of these ops come in the same order again, so that the n-th gets
// the n-th result, with its own history; scopes nest. Looked at are eager calls, among them those that
// a vmap makes of others: a session's plans compute each thing once.
#pragma once

#include <bitset>
#include <vector>

#include "core/apply.h"

#pragma GCC visibility push(default)
namespace frazil {

struct KeptResults {
  std::bitset<kNumOps> ops;  // which are kept
  std::vector<Tensor> results;
};

class KeepScope {
 public:
  // Appends to `kept`, or takes its results.
  KeepScope(KeptResults* kept, bool again);
  ~KeepScope();
  KeepScope(const KeepScope&) = delete;

  static KeepScope* Current();
  // While it lives no scope looks at calls: what a generator does to move on is not done again.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;

   private:
    KeepScope* const scope_;
    const bool checks_;
  };
  // The call with what `scope` and those around it keep.
  static Tensor Call(KeepScope* scope, const OpCall& call);

 private:
  KeptResults* const kept_;
  const bool again_;
  bool active_;
  size_t next_ = 0;
  KeepScope* outer_ = nullptr;
  ThreadState before_;
};

}  // namespace frazil
#pragma GCC visibility pop
