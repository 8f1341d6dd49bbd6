#include "batch/checkpoint.h"

#include <memory>
#include <utility>

#include "autograd/custom.h"
#include "autograd/forward.h"
#include "autograd/grad.h"
#include "batch/batch.h"
#include "batch/last_door.h"
#include "core/anomaly.h"
#include "core/check.h"
#include "core/functions/draws.h"

namespace frazil::batch {
namespace {

class Again final : public autograd::CustomRule {
 public:
  // Of operands, and of what f reads besides them.
  Again(FlatFunction f, std::vector<Tensor> others, ops::DrawLog draws, KeptResults kept)
      : f_(std::move(f)),
        others_(std::move(others)),
        draws_(std::move(draws)),
        kept_(std::move(kept)) {}

  StatusOr<std::vector<Tensor>> Gradients(absl::Span<const Tensor> operands,
                                          absl::Span<const Tensor> gradients) override {
    autograd::GradScope scope;
    std::vector<Tensor> own;
    std::vector<bool> moves;
    for (const Tensor& t : operands.first(operands.size() - others_.size())) {
      moves.push_back(IsInexact(t.dtype()));
      own.push_back(moves.back() ? scope.Variable(t) : t);
    }
    for (const Tensor& t : others_) scope.Follow(t);
    FZ_ASSIGN_OR_RETURN(const std::vector<Tensor> results, Run(own));
    FZ_CHECK(results.size() == gradients.size());
    std::vector<Tensor> roots, seeds;
    for (size_t i = 0; i < results.size(); ++i) {
      if (!gradients[i].defined()) continue;
      roots.push_back(results[i]);
      seeds.push_back(gradients[i]);
    }
    FZ_ASSIGN_OR_RETURN(const std::vector<Tensor> made, scope.Pull(roots, seeds));
    std::vector<Tensor> out;
    auto next = made.begin();
    for (const bool moved : moves) out.push_back(moved ? *next++ : Tensor());
    out.insert(out.end(), next, made.end());
    return out;
  }
  // Checkpoint() leaves nothing to a scope of forward mode.
  StatusOr<std::vector<Tensor>> Tangents(absl::Span<const Tensor>,
                                         absl::Span<const Tensor>) override {
    return RuntimeError("[checkpoint] has no tangents.");
  }

 private:
  StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> own) {
    const autograd::UnlimitedScope unlimited;
    const ops::DrawScope draws(&draws_, /*again=*/true);
    const LastDoor last(SlowDoor());
    const KeepScope keep(&kept_, /*again=*/true);
    return f_(own);
  }

  const FlatFunction f_;
  const std::vector<Tensor> others_;
  ops::DrawLog draws_;
  KeptResults kept_;
};

// f for all examples. While somebody holds `kept`, what f returned goes there.
FlatFunction ForAll(const FlatFunction& f, const std::vector<bool>& batched, const Within& within,
                    std::weak_ptr<std::vector<Tensor>> kept) {
  return [=](absl::Span<const Tensor> operands) {
    return within.Run(operands, batched,
                      [&](absl::Span<const Tensor> examples) -> StatusOr<std::vector<Tensor>> {
                        FZ_ASSIGN_OR_RETURN(const std::vector<Tensor> results, f(examples));
                        if (const auto keep = kept.lock()) *keep = results;
                        return results;
                      });
  };
}

}  // namespace

StatusOr<std::vector<Tensor>> Checkpoint(const FlatFunction& f, absl::Span<const Tensor> operands,
                                         const KeptOps& kept_ops) {
  if (!State().grad_enabled || autograd::InForwardMode()) return f(operands);
  const uint64_t since = autograd::NextSequence();
  ops::DrawLog draws;
  KeptResults keep{kept_ops};
  // What f returned, with its history, if it was one example's: outside there are wholes.
  const auto kept = std::make_shared<std::vector<Tensor>>();
  std::vector<Tensor> results;
  {
    const ops::DrawScope log(&draws, /*again=*/false);
    const LastDoor last(SlowDoor());
    const KeepScope keeping(&keep, /*again=*/false);
    std::vector<Tensor> bare;
    for (const Tensor& t : operands) bare.push_back(t.Detach());
    bool batched = false;
    FZ_ASSIGN_OR_RETURN(
        results, ThroughBatch(bare, &batched,
                              [&](absl::Span<const Tensor> wholes, const std::vector<bool>& which,
                                  const Within& within) {
                                return Checkpoint(ForAll(f, which, within, kept), wholes, kept_ops);
                              }));
    if (!batched) {
      FZ_ASSIGN_OR_RETURN(results, f(bare));
      *kept = results;
    }
  }
  const std::vector<Tensor> others = autograd::MadeOf(*kept, since);
  kept->clear();
  std::vector<Tensor> all(operands.begin(), operands.end());
  all.insert(all.end(), others.begin(), others.end());
  for (Tensor& t : results) {
    FZ_RETURN_IF_ERROR(t.status());
    t = t.Detach();
  }
  const auto rule =
      Ref<autograd::CustomRule>::Adopt(new Again(f, others, std::move(draws), std::move(keep)));
  FZ_RETURN_IF_ERROR(autograd::AttachCustom(rule, all, absl::MakeSpan(results)));
  return results;
}

}  // namespace frazil::batch
