// A segment op by op, where its plan does not fit into memory or does not compile.
#include "absl/cleanup/cleanup.h"
#include "tracer/interpret.h"
#include "tracer/session_internal.h"

namespace frazil::tracer {

// From the inputs that are still pinned, in order: what the body would have done untraced.
Status Session::RunOneByOne(LiveMask live) {
  WantEffects(true, &live);
  values_.FillPartly();
  // With the precision that the calls had.
  const Precision outside = std::exchange(State().precision, precision_);
  Door* const door = std::exchange(State().door, nullptr);  // the eager one
  const absl::Cleanup restore = [outside, door] {
    State().precision = outside;
    State().door = door;
  };
  std::vector<Tensor> arguments(slots_.begin(), slots_.end());
  const auto known = [&](ValueId r) { return values_[r]->ready() ? values_[r] : ValueRef(); };
  const auto take = [&](ValueId r, const Tensor& t) {
    return values_[r]->ready() ? absl::OkStatus() : values_[r]->FillFrom(*t.value());
  };
  Interpreted how{{}, known, take};
  for (size_t r = 0; r < values_.size(); ++r)
    how.wanted.push_back(IsLive(live, r) && !values_[r]->ready());
  return Interpret(ProgramOf(PathTo(*cursor_)), arguments, how);
}

}  // namespace frazil::tracer
