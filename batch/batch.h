// Batching: a program written for one example runs for all of them at once. Called by frazil.vmap
// and frazil.h.
//
// Inside a scope a batched tensor is a value of one example's dtype and shape that is never ready:
// behind it stands the *whole*, an array of all examples along a new first axis. The scope is the
// thread's door (core/apply.h): a call with batched operands becomes calls on wholes, by one rule
// for each class of ops (batch/rules.h), at the door outside, which may be eager, a session or the
// scope of an outer vmap; other calls pass through. So the tape, tangents and composites inside see
// one example, those outside see wholes, and no program is written down first.
//
// Invariants: a whole has the batch axis first and one example's extents behind it; nothing inside
// learns the elements of a batched tensor, as they differ between examples; a batched tensor that
// outlives its scope is an error when it is used.
#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "core/apply.h"

#pragma GCC visibility push(default)
namespace frazil::batch {

// What generators of random numbers that are not batched give the examples.
enum class Randomness : uint8_t { kError, kSame, kDifferent };

class BatchDoor;

class BatchScope {
 public:
  BatchScope(int64_t size, Randomness randomness);
  ~BatchScope();
  BatchScope(const BatchScope&) = delete;

  // The tensor of one example: `whole` without `axis`, whose extent is the scope's.
  StatusOr<Tensor> OfExample(const Tensor& whole, int64_t axis);
  // Whether it is batched here.
  bool Has(const Tensor& t) const;
  // All examples' along `axis` of the result; what is the same for all is repeated.
  StatusOr<Tensor> Whole(const Tensor& example, int64_t axis);

 private:
  Ref<BatchDoor> door_;
};

// Whether `condition`, one bool, is true for any example of any scope that it is batched in:
// itself if it is not batched. What masked loops ask.
Tensor AnyExample(const Tensor& condition);
// Whether it is batched in a scope that this thread is in.
bool IsBatched(const Tensor& t);
// f at the door outside of the innermost scope.
StatusOr<std::vector<Tensor>> Outside(absl::FunctionRef<StatusOr<std::vector<Tensor>>()> f);
// Whether gradients or tangents are wanted of it, inside of a scope that it is batched in or outside.
bool HasHistory(const Tensor& t);

// A scope to come back to, even after it was left: what was batched in it can be used there again.
// What functions with derivatives of their own need, whose rules run later.
class Within {
 public:
  explicit Within(Ref<BatchDoor> door);
  ~Within();
  Within(const Within&);
  Within& operator=(const Within&) = delete;

  // f of one example of the wholes among `operands`, and its results as wholes; undefined ones stay.
  using OnExamples =
      absl::FunctionRef<StatusOr<std::vector<Tensor>>(absl::Span<const Tensor> examples)>;
  StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> operands,
                                    const std::vector<bool>& batched, OnExamples f) const;

 private:
  const Ref<BatchDoor> door_;
};

// call(operands or their wholes, which are wholes, the scope) at the door outside of the innermost
// scope, if any operand is batched there; what it returns are wholes, and so batched here.
using OnWholes = absl::FunctionRef<StatusOr<std::vector<Tensor>>(
    absl::Span<const Tensor>, const std::vector<bool>&, const Within&)>;
StatusOr<std::vector<Tensor>> ThroughBatch(absl::Span<const Tensor> operands, bool* any,
                                           OnWholes call);

}  // namespace frazil::batch
#pragma GCC visibility pop
