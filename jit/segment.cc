#include "jit/segment.h"

#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "core/check.h"
#include "core/cost.h"
#include "jit/plan/compile.h"

namespace frazil::jit {
namespace {

using tracer::LiveMask;

class JitSegment final : public tracer::SegmentPlan {
 public:
  JitSegment(std::shared_ptr<const Plan> plan, int slots, std::vector<ValueRef> constants)
      : plan_(std::move(plan)),
        slots_(slots),
        constants_(std::move(constants)),
        kernels_(plan_->stats().kernels + plan_->stats().library_calls),
        quick_(plan_->quick()) {
    if (!constants_.empty()) quick_.fn = nullptr;
  }

  Status Run(absl::Span<Value* const> slots, absl::Span<ValueRef> outputs,
             tracer::StillLent still_lent) const override {
    return constants_.empty() ? plan_->Run(slots, outputs, still_lent)
                              : plan_->Run(Inputs(slots), outputs, still_lent);
  }
  Status Fill(absl::Span<Value* const> slots, absl::Span<Value* const> deferred) const override {
    return constants_.empty() ? plan_->Fill(slots, deferred) : plan_->Fill(Inputs(slots), deferred);
  }
  bool FillQuick(const ValueRef* slots, Value* deferred) const override {
    return quick_.fn && quick_.Fill(slots, deferred);
  }
  const Plan& plan() const { return *plan_; }
  int slots() const { return slots_; }
  const std::vector<ValueRef>& constants() const { return constants_; }

  bool unlocks() const override { return plan_->stats().work >= cost::kLong; }
  int kernels() const override { return kernels_; }
  int compiled() const override { return plan_->stats().compiled; }
  int interpreted() const override { return plan_->stats().interpreted; }
  absl::Span<const std::string> elsewhere() const override { return plan_->stats().elsewhere; }
  tracer::MemoryReport memory() const override { return plan_->ReportMemory(); }
  int64_t bytes() const override {
    return plan_->bytes() + static_cast<int64_t>(sizeof(*this) + 64 * constants_.size());
  }

 private:
  absl::InlinedVector<Value*, 32> Inputs(absl::Span<Value* const> slots) const {
    absl::InlinedVector<Value*, 32> inputs(slots.begin(), slots.end());
    for (const ValueRef& c : constants_) inputs.push_back(c.get());
    return inputs;
  }

  std::shared_ptr<const Plan> plan_;
  int slots_;  // inputs before the constants
  std::vector<ValueRef> constants_;
  int kernels_;
  QuickCall quick_;  // of the plan; no fn if that has constants
};

class JitCompiler final : public tracer::SegmentCompiler {
 public:
  StatusOr<std::shared_ptr<const tracer::SegmentPlan>> Compile(
      absl::Span<const tracer::CallRecord* const> path, const LiveMask& live, Precision precision,
      const tracer::Overwritable& overwritable, const tracer::SegmentPlan* like) override {
    if (const auto* known = static_cast<const JitSegment*>(like)) {
      const CompileOptions options = Options(precision, overwritable, known->slots());
      FZ_ASSIGN_OR_RETURN(auto plan, CompileAgain(known->plan(), options));
      return std::make_shared<JitSegment>(std::move(plan), known->slots(), known->constants());
    }
    std::vector<ValueRef> constants;
    FZ_ASSIGN_OR_RETURN(Graph graph, GraphOfPath(path, live, &constants));
    const int slots = graph.num_inputs - static_cast<int>(constants.size());
    FZ_ASSIGN_OR_RETURN(auto plan,
                        jit::Compile(std::move(graph), Options(precision, overwritable, slots)));
    return std::make_shared<JitSegment>(std::move(plan), slots, std::move(constants));
  }

 private:
  static CompileOptions Options(Precision precision, const tracer::Overwritable& overwritable,
                                int slots) {
    CompileOptions options;
    options.precision = precision;
    // Constants, which follow the slots, are never overwritten.
    for (int i = 0; i < slots; ++i) {
      const auto word = static_cast<size_t>(i / 64);
      const bool listed =
          word < overwritable.slots.size() && overwritable.slots[word] >> i % 64 & 1;
      if (overwritable.all || listed) options.Reuse(i);
    }
    options.lent_by_cell = overwritable.lent_by_cells;
    return options;
  }
};

// Adds the nodes of a path to a graph, keeping where each numbered result went.
class PathBuilder {
 public:
  PathBuilder(Graph* graph, std::vector<ValueRef>* constants)
      : graph_(graph), constants_(constants) {}

  // Inputs come before every op: slots of the whole path, then constants of the composites. Equal
  // numbers among those are one input: they are the plan's own, the same at every run.
  void AddInputs(absl::Span<const tracer::CallRecord* const> path) {
    for (const tracer::CallRecord* node : path) {
      for (const tracer::SlotGuard& s : node->slots)
        graph_->AddInput(s.dtype, s.device, s.layout, s.immediate);
    }
    for (const tracer::CallRecord* node : path) {
      if (!node->expansion) continue;
      first_constant_.push_back(inputs_of_constants_.size());
      for (const ValueRef& c : node->expansion->constants)
        inputs_of_constants_.push_back(InputOf(c));
    }
  }

  Status AddNode(const tracer::CallRecord& node) {
    const auto operand = [&](int32_t ref) { return ref >= 0 ? results_[ref] : ~ref; };
    graph_->origins.push_back(node.origin);
    const auto origin = static_cast<int32_t>(graph_->origins.size()) - 1;
    if (!node.composite) {
      absl::InlinedVector<int32_t, 4> operands;
      for (int32_t ref : node.operands) operands.push_back(operand(ref));
      FZ_ASSIGN_OR_RETURN(int32_t id,
                          graph_->AddOp(static_cast<OpId>(node.op), operands, node.attrs, origin));
      results_.push_back(id);
      return absl::OkStatus();
    }
    const int32_t* const constants = inputs_of_constants_.data() + first_constant_[composites_++];
    const auto inputs = static_cast<int32_t>(node.operands.size());
    std::vector<int32_t> local;
    const auto expanded = [&](int32_t ref) {
      if (ref >= 0) return local[ref];
      return ~ref < inputs ? operand(node.operands[~ref]) : constants[~ref - inputs];
    };
    for (const tracer::ExpandedOp& op : node.expansion->ops) {
      absl::InlinedVector<int32_t, 4> operands;
      for (int32_t ref : op.operands) operands.push_back(expanded(ref));
      FZ_ASSIGN_OR_RETURN(int32_t id, graph_->AddOp(op.op, operands, op.attrs, origin));
      local.push_back(id);
    }
    for (int32_t ref : node.expansion->outputs) results_.push_back(expanded(ref));
    return absl::OkStatus();
  }

  const std::vector<int32_t>& results() const { return results_; }

 private:
  int32_t InputOf(const ValueRef& constant) {
    const auto add = [&] {
      graph_->AddInput(constant->dtype, constant->device, constant->layout, constant->immediate);
      constants_->push_back(constant);
      return graph_->num_inputs - 1;
    };
    if (!constant->immediate) return add();
    const auto [at, added] =
        numbers_.try_emplace({constant->dtype, constant->layout, constant->imm}, 0);
    if (added) at->second = add();
    return at->second;
  }

  Graph* graph_;
  std::vector<ValueRef>* constants_;
  std::vector<int32_t> results_;
  std::vector<int32_t> inputs_of_constants_;
  std::vector<size_t> first_constant_;  // of a composite's, in those
  absl::flat_hash_map<std::tuple<DType, const Layout*, uint64_t>, int32_t> numbers_;
  size_t composites_ = 0;
};

}  // namespace

StatusOr<Graph> GraphOfPath(absl::Span<const tracer::CallRecord* const> path, const LiveMask& live,
                            std::vector<ValueRef>* constants) {
  Graph graph;
  PathBuilder builder(&graph, constants);
  builder.AddInputs(path);
  graph.nodes.reserve(graph.nodes.size() + path.size());
  graph.origins.reserve(path.size());
  for (const tracer::CallRecord* node : path) FZ_RETURN_IF_ERROR(builder.AddNode(*node));
  for (size_t i = 0; i < builder.results().size(); ++i) {
    if (live[i / 64] >> (i % 64) & 1) graph.outputs.push_back(builder.results()[i]);
  }
  return graph;
}

void RegisterSegmentCompiler() {
  static JitCompiler* compiler = new JitCompiler;
  tracer::SetSegmentCompiler(compiler);
}

}  // namespace frazil::jit
