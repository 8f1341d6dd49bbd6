// One walk back over the tape: collects what leads to the wanted gradients and applies the rules,
// newest node first. Called by Backward and GradScope::Gradients. Invariant: each node is visited
// once, after every node that depends on it, in an order that the tape alone decides; a node that
// nobody else holds is freed, with what it saved, as soon as the walk has passed it.
#pragma once

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "autograd/product_rules.h"
#include "autograd/tape.h"

namespace frazil::autograd {

class CustomNode;  // autograd/custom.h

// Sums over the axes that broadcasting added or stretched.
Tensor SumTo(const Tensor& g, const Layout* shape);

class Walk {
 public:
  // scope: the variables of one function-style scope are wanted, and what has the nodes of
  // `others`, which outlive the walk; 0: every leaf.
  explicit Walk(uint64_t scope = 0, absl::Span<const Tensor> others = {})
      : scope_(scope), others_(others) {}

  struct Root {
    GradNodeRef node;
    Tensor seed;
  };
  // Walks back from these nodes. Who wants them to be freed gives them away.
  Status Run(std::vector<Root> roots);
  Status Run(GradNodeRef root, const Tensor& seed);  // one, or none if it is null

  // The gradient that arrived at a variable; undefined if none did.
  Tensor Arrived(const GradNode* variable) const;
  const std::vector<std::pair<LeafNode*, Tensor>>& leaves() const { return leaves_; }

 private:
  struct Visit {
    GradNodeRef node;
    bool useful = false;        // leads to a wanted gradient
    Tensor grad;                // the sum so far
    std::vector<Tensor> parts;  // of a CustomNode: those of its results
    bool merged = false;        // another node stands for it
    int32_t view = -1;          // the oldest view of it
    int32_t products = 0;       // gradients yet to come that may wait for each other
    std::unique_ptr<WaitingProducts> waiting;
  };
  // Which view of what.
  using ViewKey = std::tuple<int32_t, OpId, Attrs, const Layout*>;

  bool Wanted(const GradNode& node) const;
  Status Collect(absl::Span<const Root> roots);
  bool Leads(const GradNode& node) const;
  bool Merge(int32_t id);
  void CountProducts(const TapeNode& node);
  void Wait(const TapeNode& node, int input, Visit* edge, const Tensor& g);
  Status Step(Visit* visit);
  Status StepOp(TapeNode* node, const Tensor& g);
  Status StepComposite(const TapeNode& node, const Tensor& g);
  Status StepCustom(const CustomNode& node, absl::Span<const Tensor> gradients);
  StatusOr<Ref<TapeNode>> WithSaved(const TapeNode& node);
  void Add(const GradNode* node, const Tensor& g) { Add(&At(node), g); }
  static void Add(Visit* visit, const Tensor& g);
  Visit& At(const GradNode* node) { return visits_[index_.find(node)->second]; }
  const Visit& At(const GradNode* node) const { return visits_[index_.find(node)->second]; }

  uint64_t scope_;
  absl::Span<const Tensor> others_;
  std::vector<Visit> visits_;  // newest first
  absl::flat_hash_map<const GradNode*, int32_t> index_;
  absl::flat_hash_map<ViewKey, int32_t> views_;  // of what has several
  std::vector<std::pair<LeafNode*, Tensor>> leaves_;
  // Results of composites that were made again for nodes that read them, until the walk has passed
  // the composite.
  absl::flat_hash_map<const GradNode*, Tensor> again_;
};

}  // namespace frazil::autograd
