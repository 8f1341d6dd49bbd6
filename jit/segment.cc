#include "jit/segment.h"

#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "core/check.h"
#include "core/collective.h"
#include "core/cost.h"
#include "jit/graph/while_loop.h"
#include "jit/plan/compile.h"
#include "tracer/while_loop.h"

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
    static_assert(QuickCall::kArgs == kQuickSlots);
    for (size_t i = 0; quick_.fn && i < constants_.size(); ++i)
      operands_[static_cast<size_t>(slots_) + i] = constants_[i].get();
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
    return quick_.fn && constants_.empty() && quick_.Fill(slots, deferred);
  }
  bool is_quick() const override { return quick_.fn && quick_.donor < 0; }
  Value* MakeQuick(Value* const* slots) const override {
    if (constants_.empty()) return quick_.Make(slots);
    auto operands = operands_;
    std::copy_n(slots, slots_, operands.begin());
    return quick_.Make(operands.data());
  }
  const Plan& plan() const { return *plan_; }
  int slots() const { return slots_; }
  const std::vector<ValueRef>& constants() const { return constants_; }

  bool unlocks() const override { return plan_->unlocks(); }
  int kernels() const override { return kernels_; }
  int compiled() const override { return plan_->stats().compiled; }
  int interpreted() const override { return plan_->stats().interpreted; }
  absl::Span<const std::string> elsewhere() const override { return plan_->stats().elsewhere; }
  tracer::PlanReport report() const override { return plan_->Report(); }
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
  QuickCall quick_;                             // of the plan
  std::array<Value*, kQuickSlots> operands_{};  // its constants, behind the slots
};

StatusOr<Graph> GraphOfLoop(const tracer::Program& program, const LiveMask& live,
                            std::vector<ValueRef>* constants);

class JitCompiler final : public tracer::SegmentCompiler {
 public:
  StatusOr<std::shared_ptr<const tracer::SegmentPlan>> Compile(
      const tracer::Program& program, const LiveMask& live, Precision precision,
      const tracer::Overwritable& overwritable, const tracer::SegmentPlan* like) override {
    if (const auto* known = static_cast<const JitSegment*>(like)) {
      const CompileOptions options = Options(precision, overwritable, known->slots());
      FZ_ASSIGN_OR_RETURN(auto plan, CompileAgain(known->plan(), options));
      return std::make_shared<JitSegment>(std::move(plan), known->slots(), known->constants());
    }
    std::vector<ValueRef> constants;
    const bool loop = program.calls.size() == 1 && program.calls[0]->IsLoop();
    FZ_ASSIGN_OR_RETURN(Graph graph, loop ? GraphOfLoop(program, live, &constants)
                                          : GraphOf(program, live, &constants));
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

// Adds programs to a graph: inputs come before every op.
class GraphBuilder {
 public:
  using Ids = std::vector<int32_t>;

  GraphBuilder(Graph* graph, std::vector<ValueRef>* constants)
      : graph_(graph), constants_(constants) {}

  // In the order in which AddCalls takes them.
  void AddConstants(const tracer::Program& program) {
    for (const ValueRef& c : program.constants) inputs_of_constants_.push_back(InputOf(c));
    for (const tracer::Program::Call& call : program.calls) {
      if (call->composite) AddConstants(*call->body);
    }
  }

  // The nodes of its results. `origin`: of all calls, or -1 if each has its own.
  StatusOr<Ids> AddCalls(const tracer::Program& program, Ids inputs, int32_t origin) {
    for (size_t i = 0; i < program.constants.size(); ++i)
      inputs.push_back(inputs_of_constants_[next_constant_++]);
    Ids results;
    for (const tracer::Program::Call& call : program.calls) {
      Ids operands;
      for (const tracer::ValueId id : call.operands)
        operands.push_back(id >= 0 ? results[id] : inputs[~id]);
      const int32_t line = origin >= 0 ? origin : static_cast<int32_t>(graph_->origins.size());
      if (origin < 0) graph_->origins.push_back(call->origin);
      if (!call->composite) {
        // What other processes see runs in the order of the program, and each call of it: none is
        // like another, for each is told which one it runs behind.
        const bool effect = HasEffect(call->primitive());
        if (effect && last_effect_ >= 0) operands.push_back(last_effect_);
        FZ_ASSIGN_OR_RETURN(const int32_t node,
                            graph_->AddOp(call->primitive(), operands, call->attrs, line));
        if (effect) last_effect_ = node;
        results.push_back(node);
        continue;
      }
      FZ_ASSIGN_OR_RETURN(const Ids body, AddCalls(*call->body, std::move(operands), line));
      for (const tracer::Content& o : call->body->outputs) results.push_back(body[o.value]);
    }
    return results;
  }

 private:
  // Equal numbers are one input: they are the plan's own, the same at every run.
  int32_t InputOf(const ValueRef& constant) {
    const auto add = [&] {
      constants_->push_back(constant);
      return graph_->AddInput(constant->dtype, constant->device, constant->layout,
                              constant->immediate);
    };
    if (!constant->immediate) return add();
    const auto [at, added] =
        numbers_.try_emplace({constant->dtype, constant->layout, constant->imm}, 0);
    if (added) at->second = add();
    return at->second;
  }

  Graph* graph_;
  std::vector<ValueRef>* constants_;
  Ids inputs_of_constants_;
  size_t next_constant_ = 0;
  int32_t last_effect_ = -1;
  absl::flat_hash_map<std::tuple<DType, const Layout*, uint64_t>, int32_t> numbers_;
};

// Of a program that is one loop (tracer/while_loop.h, counted_loop.h).
StatusOr<Graph> GraphOfLoop(const tracer::Program& program, const LiveMask& live,
                            std::vector<ValueRef>* constants) {
  using Kind = Loop::Source::Kind;
  const tracer::Program::Call& call = program.calls[0];
  const bool counted = call->times > 0;
  const int32_t states = counted ? call->states : call->loop->states();
  Loop loop{.times = counted ? call->times : kEndless, .condition = counted ? -1 : states + 1};
  FZ_ASSIGN_OR_RETURN(loop.body, GraphOf(*call->body, {}, constants));
  Graph graph;
  GraphBuilder::Ids operands;
  for (const tracer::Parameter& p : program.parameters)
    graph.AddInput(p.dtype, p.device, p.layout, p.immediate);
  for (const tracer::ValueId id : call.operands) operands.push_back(~id);
  for (const ValueRef& c : *constants)
    operands.push_back(graph.AddInput(c->dtype, c->device, c->layout, c->immediate));
  for (int32_t i = 0; i < loop.body.num_inputs; ++i) {
    const bool state = i < states;
    loop.sources.push_back(
        {.kind = state ? Kind::kState : Kind::kSame, .operand = i, .next = state ? i : -1});
  }
  const auto results = AddLoop(&graph, std::move(loop), operands, [&](int32_t i) {
    return tracer::IsLive(live, static_cast<size_t>(i));
  });
  for (const int32_t id : results) {
    if (id >= 0) graph.outputs.push_back(id);
  }
  return graph;
}

}  // namespace

StatusOr<Graph> GraphOf(const tracer::Program& program, const LiveMask& live,
                        std::vector<ValueRef>* constants) {
  Graph graph;
  GraphBuilder builder(&graph, constants);
  GraphBuilder::Ids parameters;
  for (const tracer::Parameter& p : program.parameters) {
    parameters.push_back(graph.AddInput(p.dtype, p.device, p.layout, p.immediate));
    graph.nodes.back().zero = p.zero;
  }
  builder.AddConstants(program);
  graph.nodes.reserve(graph.nodes.size() + program.calls.size());
  graph.origins.reserve(program.calls.size());
  FZ_ASSIGN_OR_RETURN(const GraphBuilder::Ids results,
                      builder.AddCalls(program, std::move(parameters), -1));
  for (size_t i = 0; i < results.size() && !live.empty(); ++i) {
    if (tracer::IsLive(live, i)) graph.outputs.push_back(results[i]);
  }
  for (size_t i = 0; i < program.outputs.size() && live.empty(); ++i) {
    const tracer::ValueId id = program.outputs[i].value;
    graph.outputs.push_back(id >= 0 ? results[id] : ~id);
  }
  return graph;
}

void RegisterSegmentCompiler() {
  static JitCompiler* compiler = new JitCompiler;
  tracer::SetSegmentCompiler(compiler);
}

}  // namespace frazil::jit
