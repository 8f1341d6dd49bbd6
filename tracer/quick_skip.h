// QuickSkip: the kind of call that a function under a promise met last, where it is tiny: at most
// four tensors without gradients, one small kernel, one result. To find it by its key costs more
// than to do it; here it is compared by a few words. Owned by the bindings, which compare what is
// not a tensor, and used under the host's lock. Invariant: what it runs is what PromisedCall::Skip
// would run, and it ends where that one would look again: for checks, and when something has been
// learnt or forgotten.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "tracer/promise.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

class QuickSkip {
 public:
  static constexpr size_t kMost = 4;  // tensors
  explicit QuickSkip(Promise* promise) : promise_(promise) {}

  // How many tensors its kind has; 0: there is none.
  size_t count() const { return left_ > 0 ? count_ : 0; }
  // The result's value, which is the caller's own. Null: the call is another, or goes the long way.
  Value* Run(Tensor* const* cells) {
    const Value* values[kMost];
    for (size_t i = 0; i < count_; ++i) {
      const Value* v = values[i] = cells[i]->value();
      if (!v || cells[i]->node() || !v->ready() || v->kind() != kinds_[i] ||
          v->layout->id != layouts_[i])
        return nullptr;
      for (size_t j = 0; j < i; ++j) {
        if (values[j] == v) return nullptr;
      }
    }
    return ThreadWord() == thread_ ? Make(cells) : nullptr;
  }
  // A call was skipped: `plain` if its key holds nothing but its first `count` cells.
  void Note(const PromisedCall& call, bool plain, size_t count);
  // Tells the promise how many calls it has skipped.
  void Settle();

 private:
  Value* Make(Tensor* const* cells);

  Promise* promise_;
  std::shared_ptr<const Script> script_;  // of the call before; the kind's, if count_ is not 0
  std::vector<uint64_t> words_;           // the key
  size_t count_ = 0;
  int64_t left_ = 0, taken_ = 0;  // calls
  uint64_t version_ = 0;          // of the promise
  uint64_t thread_ = 0;
  std::array<uint32_t, kMost> kinds_{};
  std::array<uint64_t, kMost> layouts_{};
};

}  // namespace frazil::tracer
#pragma GCC visibility pop
