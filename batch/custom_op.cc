#include "batch/custom_op.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "autograd/custom.h"
#include "autograd/grad.h"
#include "batch/batch.h"
#include "core/anomaly.h"
#include "core/check.h"
#include "core/functions/ops.h"

namespace frazil::batch {
namespace {

using Tensors = CustomOp::Tensors;
using TensorSpan = CustomOp::TensorSpan;
using Made = CustomOp::Made;

// What zeros like a tensor need: the vmap that it is of may end before.
struct Kind {
  DType dtype;
  Device device;
  LayoutRef shape;

  explicit Kind(const Tensor& t) : dtype(t.dtype()), device(t.device()), shape(t.shape()) {}
};

std::vector<Kind> KindsOf(TensorSpan tensors) { return {tensors.begin(), tensors.end()}; }

Tensors ZerosFor(TensorSpan derivatives, absl::Span<const Kind> kinds) {
  Tensors out(derivatives.begin(), derivatives.end());
  for (size_t i = 0; i < out.size(); ++i) {
    const Kind& like = kinds[i];
    if (!out[i].defined())
      out[i] = ops::full(like.shape->dims(), Scalar::Int(0), like.dtype, like.device);
  }
  return out;
}

Tensors Detached(TensorSpan tensors) {
  Tensors out;
  for (const Tensor& t : tensors) out.push_back(t.Detach());
  return out;
}

Tensors Joined(TensorSpan first, TensorSpan second) {
  Tensors all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  return all;
}
Tensors Joined(Made made) { return Joined(made.results, made.kept); }

Made Apart(Tensors all, size_t results) {
  const auto middle = all.begin() + static_cast<ptrdiff_t>(results);
  return {Tensors(all.begin(), middle), Tensors(middle, all.end())};
}

class Rule final : public autograd::CustomRule {
 public:
  Rule(Ref<CustomOp> op, const Made& made)
      : op_(std::move(op)), kinds_(KindsOf(made.results)), kept_(made.kept) {}

  StatusOr<Tensors> Gradients(TensorSpan operands, TensorSpan gradients) override {
    const autograd::UnlimitedScope unlimited;
    const Tensors arrived = ZerosFor(gradients, kinds_);
    if (!std::any_of(operands.begin(), operands.end(), HasHistory))
      return op_->Pull(operands, kept_, arrived);
    FZ_ASSIGN_OR_RETURN(const Tensors kept, op_->Keep(operands));
    return op_->Pull(operands, kept, arrived);
  }
  StatusOr<Tensors> Tangents(TensorSpan operands, TensorSpan tangents) override {
    const autograd::UnlimitedScope unlimited;
    return op_->Push(operands, ZerosFor(tangents, KindsOf(operands)));
  }

 private:
  const Ref<CustomOp> op_;
  const std::vector<Kind> kinds_;  // of the results
  const Tensors kept_;
};

// Where gradients can follow the operands alone.
StatusOr<Made> Computed(CustomOp& op, TensorSpan operands) {
  FZ_ASSIGN_OR_RETURN(Made made, op.Compute(Detached(operands)));
  FZ_RETURN_IF_ERROR(WithoutHistory(op.name, made.results));
  if (op.batches()) FZ_RETURN_IF_ERROR(CheckResults(op.name, operands, made.results));
  return Made{Detached(made.results), Detached(made.kept)};
}

// An op for all examples of a vmap.
class ForExamples final : public CustomOp {
 public:
  ForExamples(Ref<CustomOp> one, const Within& within, std::vector<bool> batched)
      : CustomOp(one->name), one_(std::move(one)), within_(within), batched_(std::move(batched)) {}

  StatusOr<Made> Compute(TensorSpan wholes) override {
    if (one_->batches()) {
      const auto first = std::find(batched_.begin(), batched_.end(), true) - batched_.begin();
      const int64_t size = wholes[static_cast<size_t>(first)].dims()[0];
      FZ_ASSIGN_OR_RETURN(Made made, one_->ForAll(size, wholes, batched_));
      for (const Tensor& t : made.results) {
        FZ_RETURN_IF_ERROR(t.status());
        if (t.rank() > 0 && t.dims()[0] == size) continue;
        return ValueError("[", name, "] must give ", size,
                          " examples along axis 0 when it is batched, got ", Describe(t), ".");
      }
      return made;
    }
    size_t results = 0;
    FZ_ASSIGN_OR_RETURN(
        Tensors all, within_.Run(wholes, batched_, [&](TensorSpan examples) -> StatusOr<Tensors> {
          FZ_ASSIGN_OR_RETURN(Made made, Computed(*one_, examples));
          results = made.results.size();
          return Joined(std::move(made));
        }));
    return Apart(std::move(all), results);
  }

  StatusOr<Tensors> Keep(TensorSpan wholes) override {
    return within_.Run(wholes, batched_, [&](TensorSpan examples) { return one_->Keep(examples); });
  }

  StatusOr<Tensors> Pull(TensorSpan wholes, TensorSpan kept, TensorSpan gradients) override {
    const Tensors all = Joined(wholes, Joined(kept, gradients));
    std::vector<bool> batched = batched_;
    batched.resize(all.size(), true);
    FZ_ASSIGN_OR_RETURN(Tensors made, within_.Run(all, batched, [&](TensorSpan own) {
      return one_->Pull(own.first(wholes.size()), own.subspan(wholes.size(), kept.size()),
                        own.last(gradients.size()));
    }));
    // An operand that the examples share has the sum of what they say.
    for (size_t i = 0; i < made.size(); ++i) {
      if (!batched_[i] && made[i].defined())
        made[i] = ops::sum(made[i], absl::InlinedVector<int64_t, 4>{0});
    }
    return made;
  }

  StatusOr<Tensors> Push(TensorSpan wholes, TensorSpan tangents) override {
    std::vector<bool> batched = batched_;
    batched.insert(batched.end(), batched_.begin(), batched_.end());
    return within_.Run(Joined(wholes, tangents), batched, [&](TensorSpan own) {
      return one_->Push(own.first(wholes.size()), own.last(tangents.size()));
    });
  }

 private:
  const Ref<CustomOp> one_;
  const Within within_;
  const std::vector<bool> batched_;
};

StatusOr<Made> CallKeeping(const Ref<CustomOp>& op, TensorSpan operands);

// Computed at the door where the operands are what they seem to be.
StatusOr<Made> AtDoor(const Ref<CustomOp>& op, TensorSpan operands) {
  bool batched = false;
  size_t results = 0;
  const auto joined = [&](StatusOr<Made> made) -> StatusOr<Tensors> {
    FZ_RETURN_IF_ERROR(made.status());
    results = made->results.size();
    return Joined(*std::move(made));
  };
  FZ_ASSIGN_OR_RETURN(
      Tensors all,
      ThroughBatch(operands, &batched,
                   [&](TensorSpan wholes, const std::vector<bool>& which, const Within& within) {
                     const auto all_examples =
                         Ref<CustomOp>::Adopt(new ForExamples(op, within, which));
                     return joined(CallKeeping(all_examples, wholes));
                   }));
  // Operands that differ between the examples of an outer vmap only: a body that is no ops cannot
  // look at them here, and gradients that are wanted out there have to meet the rule there.
  const Tensors bare = Detached(operands);
  if (!batched && std::any_of(bare.begin(), bare.end(), IsBatched) &&
      (op->batches() || std::any_of(bare.begin(), bare.end(), HasHistory))) {
    batched = true;
    FZ_ASSIGN_OR_RETURN(all, Outside([&] { return joined(CallKeeping(op, bare)); }));
  }
  if (batched) return Apart(std::move(all), results);
  return Computed(*op, operands);
}

StatusOr<Made> CallKeeping(const Ref<CustomOp>& op, TensorSpan operands) {
  FZ_ASSIGN_OR_RETURN(Made made, AtDoor(op, operands));
  if (std::none_of(operands.begin(), operands.end(), autograd::RequiresGrad)) return made;
  made.results = Detached(made.results);
  const auto rule = Ref<autograd::CustomRule>::Adopt(new Rule(op, made));
  FZ_RETURN_IF_ERROR(autograd::AttachCustom(rule, operands, absl::MakeSpan(made.results)));
  return made;
}

}  // namespace

StatusOr<Tensors> CustomOp::Pull(TensorSpan operands, TensorSpan, TensorSpan gradients) {
  autograd::GradScope scope;
  std::vector<bool> moves;
  Tensors tangents;
  for (const Tensor& t : operands) {
    const Tensor zeros = ops::full(t.dims(), Scalar::Int(0), t.dtype(), t.device());
    moves.push_back(IsInexact(t.dtype()));
    tangents.push_back(moves.back() ? scope.Variable(zeros) : zeros);
  }
  FZ_ASSIGN_OR_RETURN(const Tensors results, Push(operands, tangents));
  FZ_CHECK(results.size() == gradients.size());
  Tensors roots, seeds;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) continue;
    roots.push_back(results[i]);
    seeds.push_back(gradients[i]);
  }
  scope.Leave();  // the pass back is that of the scopes outside
  FZ_ASSIGN_OR_RETURN(const Tensors made, scope.Pull(roots, seeds));
  Tensors out;
  auto next = made.begin();
  for (const bool moved : moves) out.push_back(moved ? *next++ : Tensor());
  return out;
}

StatusOr<Made> CustomOp::ForAll(int64_t, TensorSpan, const std::vector<bool>&) {
  FZ_CHECK(false);
  return Made{};
}

StatusOr<std::vector<Tensor>> Call(const Ref<CustomOp>& op, TensorSpan operands) {
  FZ_ASSIGN_OR_RETURN(Made made, CallKeeping(op, operands));
  return std::move(made.results);
}

Status WithoutHistory(std::string_view name, TensorSpan results) {
  if (std::none_of(results.begin(), results.end(), HasHistory)) return absl::OkStatus();
  return TypeError("[custom] ", name,
                   " reads a tensor that a gradient is wanted of, besides its arguments: the rule "
                   "says nothing of it. Pass it as an argument, or its stop_gradient.");
}

Status NoGradient(std::string_view name) {
  return TypeError("[", name,
                   "] has no gradient: give the op the rule vjp (or jvp), or call it "
                   "with stop_gradient(x).");
}

Status NoTangent(std::string_view name) {
  return TypeError("[", name,
                   "] has no rule for forward mode (jvp, jacfwd, hessian): give the op "
                   "the rule jvp, or call it with stop_gradient(x).");
}

}  // namespace frazil::batch
