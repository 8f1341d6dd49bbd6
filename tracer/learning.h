// Bodies of pure calls that run, of all threads: who replaces the content of a cell meanwhile tells
// them. Called by PromisedCall, which must not learn what another thread put there, by scripts that
// write, and by the bindings where the program writes in place. Invariant: costs a load while no
// such body runs.
#pragma once

#include <atomic>

#include "core/apply.h"
#include "tracer/promise_key.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

class Learning {
 public:
  // A body with these cells begins. Others with one of them may write to it.
  explicit Learning(Cells cells);
  ~Learning();
  Learning(const Learning&) = delete;

  // Those of its cells to which another thread may have written since.
  using Told = absl::InlinedVector<const Tensor*, 4>;
  Told told() const;

  static bool Any() { return count_.load(std::memory_order_relaxed) != 0; }
  // The content of `cell` may be replaced now by what is no body in this list.
  static void Tell(const Tensor* cell);
  // This thread replaces it, on its own account or for the body that it runs, which knows.
  static void Write(const Tensor* cell) {
    if (__builtin_expect(Any(), 0)) TellOthers(cell);
  }

 private:
  static void TellOthers(const Tensor* cell);
  void Add(const Tensor* cell);  // to those told

  static std::atomic<int> count_;

  const Cells cells_;
  const ThreadState* const thread_ = &State();  // whose address tells threads apart
  Told told_;
  Learning* next_;
};

}  // namespace frazil::tracer
#pragma GCC visibility pop
