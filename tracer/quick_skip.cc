#include "tracer/quick_skip.h"

#include <limits>
#include <mutex>
#include <utility>

namespace frazil::tracer {

Value* QuickSkip::Make(Tensor* const* cells) {
  if (promise_->version() != version_) return Settle(), nullptr;
  Value* const made = script_->MakeQuick({cells, count_});
  if (made) --left_, ++taken_;
  return made;
}

// The first of its kind in a row says which; the next one is compared with it.
void QuickSkip::Note(const PromisedCall& call, bool plain, size_t count) {
  Settle();
  const bool again = script_ == call.script_;
  if (!again) script_ = call.script_;
  if (!again || !plain || count == 0 || count > kMost || !script_->is_quick(count)) return;
  for (size_t i = 0; i < count; ++i) {
    const Tensor& t = *call.cells_[i];
    if (t.node()) return;
    for (size_t j = 0; j < i; ++j) {
      if (call.cells_[j]->value() == t.value()) return;
    }
    kinds_[i] = t.value()->kind();
    layouts_[i] = t.value()->layout->id;
  }
  thread_ = ThreadWord();
  const absl::Span<const uint64_t> words = call.words_->span();
  std::lock_guard lock(promise_->lock_);
  const Promise::Entry* entry = promise_->Find(words);
  if (!entry || entry->script != script_) return;
  words_.assign(words.begin(), words.end());
  version_ = promise_->version();
  const int64_t every = promise_->policy_.every;
  left_ = every > 0 ? every - entry->calls % every - 1 : std::numeric_limits<int64_t>::max();
  count_ = count;
}

void QuickSkip::Settle() {
  count_ = 0;
  const int64_t taken = std::exchange(taken_, 0);
  left_ = 0;
  if (taken == 0) return;
  std::lock_guard lock(promise_->lock_);
  promise_->skipped_ += taken;
  if (Promise::Entry* entry = promise_->Find(words_)) entry->calls += taken;
}

}  // namespace frazil::tracer
