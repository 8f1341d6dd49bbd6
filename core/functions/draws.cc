#include "core/functions/draws.h"

#include <utility>

#include "core/check.h"

namespace frazil::ops {
namespace {

thread_local DrawScope* t_scope = nullptr;

}  // namespace

DrawScope::DrawScope(DrawLog* log, bool again)
    : log_(log), again_(again), outer_(std::exchange(t_scope, this)) {}
DrawScope::~DrawScope() { t_scope = outer_; }

StatusOr<std::pair<Tensor, bool>> DrawScope::Next(const Tensor& generator) {
  if (!t_scope) return std::pair(generator, true);
  return t_scope->State(generator);
}

StatusOr<std::pair<Tensor, bool>> DrawScope::State(const Tensor& generator) {
  if (again_) {
    if (next_ < log_->size()) return std::pair((*log_)[next_++], false);
    return RuntimeError(
        "[random] the function draws random numbers more often when checkpoint computes its "
        "results "
        "again than before, ",
        log_->size(), " times: what it draws must depend on its arguments only.");
  }
  if (!outer_) {
    log_->push_back(Tensor(generator.value_ref()));
    return std::pair(log_->back(), true);
  }
  FZ_ASSIGN_OR_RETURN(auto next, outer_->State(generator));
  log_->push_back(Tensor(next.first.value_ref()));
  return next;
}

}  // namespace frazil::ops
