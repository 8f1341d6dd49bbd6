// Gradients: tape style (backward) and function style (Gradients), both any order.
// Called by the bindings and frazil.h. Invariant: every gradient op passes through Apply, so
// gradients are eager, recorded or replayed like everything else.
#pragma once

#include <vector>

#include "core/tensor.h"

#pragma GCC visibility push(default)
namespace frazil::autograd {

// Registers the tape with core::Apply. Explicit and idempotent.
void RegisterTape();

// Makes `cell` a leaf that collects .grad, or an ordinary tensor again. Error for dtypes without
// gradients.
Status SetRequiresGrad(Tensor* cell, bool on);
bool RequiresGrad(const Tensor& cell);  // a leaf or made from one
bool IsLeaf(const Tensor& cell);
// The leaf's accumulated gradient (undefined if none) and its replacement.
Tensor Grad(const Tensor& leaf);
Status SetGrad(Tensor* leaf, const Tensor& grad);  // undefined clears

// Adds d root / d leaf (times `seed`, default ones; a root that is not 0-d needs one) to .grad of
// every leaf. Without `retain` the root's history is let go of on the way, as far as nothing else
// holds it: what it saved is free for the rest of the pass, and walking it again is an error.
Status Backward(Tensor* root, const Tensor* seed = nullptr, bool retain = true);

class Walk;

// Function style. A scope gives fresh variables for the arguments to differentiate; Gradients walks
// back from the result to them. Nests: the inner result stays differentiable by the outer scope.
class GradScope {
 public:
  GradScope();
  ~GradScope();
  GradScope(const GradScope&) = delete;

  // The argument as a variable of this scope (connected to its own history for outer gradients).
  Tensor Variable(const Tensor& argument);
  // Of a tensor that was there before, as if it were a variable; asked for by Pull alone.
  void Follow(const Tensor& t) { others_.push_back(t); }
  // d root / d variable for each variable made by this scope, in order; zeros where there is no
  // path. Error unless root is a 0-d float. The root's history is let go of on the way, as far as
  // nothing else, nor an outer scope, needs it.
  // `seed`: the gradient of a root of any shape.
  StatusOr<std::vector<Tensor>> Gradients(Tensor* root, const Tensor* seed = nullptr);
  // A tensor computed inside the scope as it should be seen outside (auxiliary results).
  Tensor Outside(const Tensor& t) const;

  // Leaves the scope, which keeps its variables.
  void Leave();
  bool open() const { return open_; }
  // The same from several roots, any number of times; their history stays. Those of what is
  // followed come last. After Leave() the pass
  // belongs to whatever scopes are open then.
  StatusOr<std::vector<Tensor>> Pull(absl::Span<const Tensor> roots,
                                     absl::Span<const Tensor> seeds) const;

 private:
  bool Hides(const Tensor& t) const;
  // What arrived at each variable, or zeros.
  StatusOr<std::vector<Tensor>> Arrived(const Walk& walk, bool others = false) const;

  bool open_ = true;
  int level_;
  uint64_t scope_;      // tells this scope's variables from all others
  bool outer_enabled_;  // gradients were wanted outside: no_grad() around a scope detaches its
                        // results
  std::vector<Tensor> variables_, others_;
};

}  // namespace frazil::autograd
#pragma GCC visibility pop
