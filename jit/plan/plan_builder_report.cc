// What is told of a plan: how it uses memory, and what its steps are made of.
#include <algorithm>

#include "core/cost.h"
#include "jit/graph/flops.h"
#include "jit/plan/memory_plan.h"
#include "jit/plan/plan_builder.h"

namespace frazil::jit {
namespace {

// Bytes from the first to the last element that an array reaches, each once, about.
double Footprint(const Node& node) {
  double elements = 1;
  for (int i = 0; i < node.layout->rank; ++i) {
    if (node.layout->strides_[i] != 0) elements *= double(node.layout->dim(i));
  }
  return elements * SizeOf(node.dtype);
}

// A node's time against that of others of its kernel.
double TimeOf(const Graph& graph, const Node& node) {
  double size = double(node.layout->size);
  if (Info(node.op).klass == OpClass::kReduce)
    size = std::max(size, double(graph.nodes[node.operands[0]].layout->size));
  return cost::Elements(std::max(size, 1.0), std::max(0.5, cost::Slots(node.op, node.dtype)),
                        int(SizeOf(node.dtype)));
}

// Adds what a node computes, and what the body of a loop does.
void AddOps(const Graph& graph, int32_t id, double times, tracer::StepPart* part) {
  const Node& node = graph.nodes[id];
  if (node.input || node.view || IsResult(node)) return;
  if (node.role == Role::kLoop) {
    const Graph& body = node.loop->body;
    const double each = node.loop->condition < 0 ? double(node.loop->times) : 1;
    for (int32_t i = body.num_inputs; i < int32_t(body.nodes.size()); ++i)
      AddOps(body, i, times * each, part);
    return;
  }
  part->flops += times * FlopsOf(graph, id);
  part->ops.push_back(
      {std::string(NameOf(node)), OriginOf(graph, id), id, times * TimeOf(graph, node)});
}

}  // namespace

std::string PlanBuilder::SayNode(int32_t id) const {
  const Node& node = graph_.nodes[id];
  const std::string origin = OriginOf(graph_, id);
  return StrCat(NameOf(node), " ", ShortName(node.dtype), ToString(node.layout->dims()),
                origin.empty() ? "" : StrCat(" (", origin, ")"));
}

// Blocks in the order in which they begin to live.
void PlanBuilder::ReportMemory() {
  tracer::MemoryReport& report = report_->memory;
  std::vector<std::string> what(memories_.size(), "temporary");
  for (int32_t id = 0; id < int32_t(graph_.nodes.size()); ++id) {
    if (graph_.nodes[id].input || graph_.nodes[id].view) continue;
    std::string& text = what[Home(memory_of_[id])];
    text = text == "temporary" ? SayNode(id) : StrCat(text, ", then ", SayNode(id));
  }
  for (size_t i = 0; i < pending_.size(); ++i) {
    const Step* const step = schedule_.steps[i].get();
    const bool kernel = dynamic_cast<const KernelStep*>(step) != nullptr;
    if (!kernel) {
      report.steps.push_back(step->text());
      continue;
    }
    const Node& node = graph_.nodes[pending_[i].node];
    const std::string text = SayNode(pending_[i].node);
    report.steps.push_back(
        IsResult(node)
            ? StrCat("loop of ", graph_.nodes[node.operands[0]].loop->times, " in a kernel: ", text)
            : text);
  }
  const auto end = static_cast<int32_t>(pending_.size()) - 1;
  std::vector<Block> arena, all;
  for (size_t i = 0; i < memories_.size(); ++i) {
    const Memory& m = memories_[i];
    if (m.home != static_cast<int32_t>(i) || m.last < 0 || m.input >= 0) continue;
    if (m.arena != 0) continue;
    using Kind = tracer::PlannedBlock::Kind;
    const Kind kind = m.result < 0 ? Kind::kArena : m.donor < 0 ? Kind::kResult : Kind::kDonated;
    const int64_t bytes = Padded(m.bytes);
    const Block block{bytes, std::min(m.first, end), std::min(m.last, end)};
    report.blocks.push_back({what[i], kind, bytes, arena_offset_[i], block.first, block.last});
    if (kind == Kind::kArena) arena.push_back(block);
    if (kind != Kind::kDonated) all.push_back(block);
    if (kind == Kind::kResult) report.result_bytes += bytes;
  }
  std::stable_sort(report.blocks.begin(), report.blocks.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  report.arena_bytes = schedule_.arenas[0].bytes;
  report.arena_bound = LiveBytes(arena);
  report.peak_bound = LiveBytes(all);
}

// Each memory once: what is read of it at most, and what is written.
double PlanBuilder::BytesTouched(const PendingStep& s) const {
  if (!s.kernel()) {
    double bytes = Footprint(graph_.nodes[s.node]);
    for (const int32_t id : graph_.nodes[s.node].operands) bytes += Footprint(graph_.nodes[id]);
    return bytes;
  }
  const Launch& launch = *s.kernel();
  double bytes = 0;
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    const auto same = [&](const Touch& t) { return t.block == s.touches[i].block; };
    const auto begin = s.touches.begin();
    if (std::any_of(begin, begin + int64_t(i), same)) continue;
    const int32_t node = launch.buffers[i].node;
    bytes +=
        node >= 0 ? Footprint(graph_.nodes[node]) : double(memories_[s.touches[i].block].bytes);
  }
  return bytes;
}

tracer::StepPart PlanBuilder::PartOf(const PendingStep& s, const Step& step) const {
  tracer::StepPart part;
  const auto* const joined = std::get_if<ProductWithEpilogue>(&s.what);
  const Launch* const launch = joined ? &joined->launch : s.kernel();
  part.name = launch ? launch->kernel.name : step.text();
  if (launch) part.kernel = kir::Print(launch->kernel);
  part.device = Name(s.device);
  part.work = double(step.work());
  for (const int32_t id : s.nodes) AddOps(graph_, id, 1, &part);
  if (s.again) part.flops = 0;
  part.bytes = BytesTouched(s);
  double all = 0;
  for (const auto& op : part.ops) all += op.share;
  for (auto& op : part.ops) op.share /= all;
  return part;
}

void PlanBuilder::ReportSteps() {
  for (size_t i = 0; i < pending_.size(); ++i) {
    const PendingStep& s = pending_[i];
    std::vector<tracer::StepPart> parts;
    if (const auto* const loop = dynamic_cast<const LoopStep*>(schedule_.steps[i].get())) {
      const double times = loop->condition < 0 ? double(loop->times) : 1;
      for (const std::vector<tracer::StepPart>& step : s.body) {
        for (tracer::StepPart part : step) {
          part.work *= times;
          part.times *= times;
          part.flops *= times;
          part.bytes *= times;
          parts.push_back(std::move(part));
        }
      }
    } else {
      parts.push_back(PartOf(s, *schedule_.steps[i]));
    }
    report_->steps.push_back(std::move(parts));
  }
}

}  // namespace frazil::jit
