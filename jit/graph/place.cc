#include "jit/graph/place.h"

#include <algorithm>

#include "core/backend.h"
#include "jit/graph/space.h"

namespace frazil::jit {
namespace {

class Placer {
 public:
  explicit Placer(Graph* graph) : old_(*graph) {}

  StatusOr<Graph> Run() {
    new_.num_inputs = old_.num_inputs;
    new_.origins = old_.origins;
    for (const Node& node : old_.nodes) {
      if (node.input) {
        now_.push_back(int32_t(new_.nodes.size()));
        new_.nodes.push_back(node);
        continue;
      }
      if (node.op == OpId::k_to_device && IsFill(node)) {
        now_.push_back(int32_t(new_.nodes.size()));
        new_.nodes.push_back(FillOf(node));
        continue;
      }
      if (!CpuAddresses(node.device) && BackendOf(node.device).Where(node.op) == Runs::kOnCpu) {
        FZ_ASSIGN_OR_RETURN(const int32_t id, OnCpu(node));
        now_.push_back(id);
        continue;
      }
      absl::InlinedVector<int32_t, 3> operands;
      for (const int32_t old : node.operands) {
        // What a collective only runs behind is not read.
        const bool order = node.op == OpId::k_collective && !operands.empty();
        FZ_ASSIGN_OR_RETURN(const int32_t placed, order ? now_[old] : Place(node, now_[old]));
        operands.push_back(placed);
      }
      FZ_ASSIGN_OR_RETURN(const int32_t id, new_.AddOp(node.op, operands, node.attrs, node.origin));
      now_.push_back(id);
    }
    for (const int32_t id : old_.outputs) new_.outputs.push_back(now_[id]);
    return std::move(new_);
  }

 private:
  bool IsFill(const Node& node) const {
    return !CpuAddresses(node.device) && new_.nodes[now_[node.operands[0]]].immediate;
  }
  // The kernel of a copy, on the device: no bytes move.
  Node FillOf(const Node& node) const {
    Node fill = node;
    fill.op = OpId::k_copy;
    fill.attrs = {};
    fill.operands = {now_[node.operands[0]]};
    return fill;
  }

  // The op on the CPU, between transfers, which are counted.
  StatusOr<int32_t> OnCpu(const Node& node) {
    const Device cpu;
    absl::InlinedVector<int32_t, 6> operands;
    for (const int32_t old : node.operands) {
      int32_t id = now_[old];
      if (const Device from = new_.nodes[id].device; !CpuAddresses(from)) {
        FZ_ASSIGN_OR_RETURN(id, Dense(id, node.origin));
        const int64_t attrs[] = {cpu.word, from.word};
        FZ_ASSIGN_OR_RETURN(id, new_.AddOp(OpId::k_to_device, {id}, attrs, node.origin));
      }
      operands.push_back(id);
    }
    FZ_ASSIGN_OR_RETURN(const int32_t made, new_.AddOp(node.op, operands, node.attrs, node.origin));
    const int64_t attrs[] = {node.device.word, cpu.word};
    return new_.AddOp(OpId::k_to_device, {made}, attrs, node.origin);
  }

  StatusOr<int32_t> Place(const Node& user, int32_t id) {
    const Device from = new_.nodes[id].device, to = user.device;
    if (user.op == OpId::k_to_device) {
      return CpuAddresses(from) && CpuAddresses(to) ? id : Dense(id, user.origin);
    }
    if (from == to || (CpuAddresses(from) && CpuAddresses(to)) || new_.nodes[id].immediate)
      return id;
    FZ_ASSIGN_OR_RETURN(const int32_t dense, Dense(id, user.origin));
    const int64_t attrs[] = {to.word, from.word};
    return new_.AddOp(OpId::k_to_device, {dense}, attrs, user.origin);
  }

  StatusOr<int32_t> Dense(int32_t id, int32_t origin) {
    if (new_.nodes[id].layout->dense) return id;
    return new_.AddOp(OpId::k_copy, {id}, {}, origin);
  }

  const Graph& old_;
  Graph new_;
  std::vector<int32_t> now_;  // of each old node
};

}  // namespace

Status PlaceOperands(Graph* graph) {
  const auto elsewhere = [](const Node& node) { return !CpuAddresses(node.device); };
  if (std::none_of(graph->nodes.begin(), graph->nodes.end(), elsewhere)) return absl::OkStatus();
  FZ_ASSIGN_OR_RETURN(*graph, Placer(graph).Run());
  return absl::OkStatus();
}

}  // namespace frazil::jit
