// Sums of products by a formula of letters, contracted two operands at a time. Called by bindings and
// frazil.h. Invariant: the order of pairs depends on the formula and the shapes only; it is that of
// NumPy and opt_einsum, optimal for up to four operands, greedy beyond (Smith and Gray 2018).
#pragma once

#include <string_view>
#include <vector>

#include "core/functions/ops.h"

#pragma GCC visibility push(default)
namespace frazil::ops {

// Which operands are contracted in turn: the result of each step comes last. By cost, from left to
// right, or as given.
struct EinsumPath {
  enum class Kind { kAuto, kGreedy, kOptimal, kLeft, kGiven };
  EinsumPath(Kind kind = Kind::kAuto) : kind(kind) {}  // NOLINT
  EinsumPath(std::vector<std::vector<int64_t>> steps)  // NOLINT
      : kind(Kind::kGiven), steps(std::move(steps)) {}

  Kind kind;
  std::vector<std::vector<int64_t>> steps;
};

// einsum("ij,jk->ik", {a, b}): letters that the result lacks are summed over; without "->" those that
// occur once make it up, in alphabetical order. A letter that an operand has twice is its diagonal,
// "..." are axes that broadcast. The dtype is the common one.
Tensor einsum(std::string_view formula, absl::Span<const Tensor> operands,
              const EinsumPath& path = {});

// The steps that it takes, and how many operations these and a single one would take.
struct EinsumCost {
  std::vector<std::vector<int64_t>> steps;
  double naive, chosen;
};
StatusOr<EinsumCost> einsum_cost(std::string_view formula, absl::Span<const Tensor> operands,
                                 const EinsumPath& path = {});

}  // namespace frazil::ops
#pragma GCC visibility pop
