#include <algorithm>

#include "jit/plan/pending.h"
#include "jit/run/device_backend.h"

namespace frazil::jit {
namespace {

bool IsOutput(const Graph& graph, int32_t node) {
  return std::any_of(graph.outputs.begin(), graph.outputs.end(),
                     [&](int32_t id) { return BaseOf(graph, id) == node; });
}

// The one step behind `step` that uses `memory`, or null.
PendingStep* OnlyReader(std::vector<PendingStep>* pending, size_t step, int32_t memory) {
  PendingStep* reader = nullptr;
  for (size_t s = step + 1; s < pending->size(); ++s) {
    for (const Use& use : (*pending)[s].uses) {
      if (use.memory != memory) continue;
      if (reader) return nullptr;  // another one, or twice by one
      reader = &(*pending)[s];
    }
  }
  return reader;
}

// The step becomes the product and what it was itself.
bool Join(const Graph& graph, int32_t memory, Precision precision, PendingStep* product,
          PendingStep* step) {
  const auto use = std::find_if(step->uses.begin(), step->uses.end(),
                                [&](const Use& u) { return u.memory == memory; });
  const int buffer = int(use - step->uses.begin());
  if (step->launch.buffers[buffer].offset != 0) return false;
  auto one = DeviceBackendOf(product->device)
                 .JoinEpilogue(graph, product->node, step->launch, buffer,
                               OriginOf(graph, step->node), precision);
  if (!one.ok()) return false;
  step->launch = WithoutProduct(graph, product->node, std::move(step->launch), buffer);
  step->with_epilogue = *std::move(one);
  step->library = true;
  step->uses.erase(use);
  step->uses.insert(step->uses.begin(), product->uses.begin(), product->uses.begin() + 2);
  return true;
}

}  // namespace

Launch WithoutProduct(const Graph& graph, int32_t id, Launch reader, int product) {
  reader.buffers.erase(reader.buffers.begin() + product);
  for (const int i : {1, 0}) {
    const int32_t operand = graph.nodes[id].operands[i];
    reader.buffers.insert(reader.buffers.begin(),
                          {BaseOf(graph, operand), OffsetInBase(graph, operand)});
  }
  return reader;
}

void MergeWithReaders(const Graph& graph, absl::Span<const int32_t> memory_of, Precision precision,
                      std::vector<PendingStep>* pending) {
  for (size_t i = 0; i < pending->size();) {
    PendingStep& product = (*pending)[i++];
    if (!product.call || product.device == Device()) continue;
    if (graph.nodes[product.node].op != OpId::k_matmul || IsOutput(graph, product.node)) continue;
    const int32_t memory = memory_of[product.node];
    PendingStep* step = OnlyReader(pending, i - 1, memory);
    if (!step || step->call || step->with_epilogue || !(step->device == product.device)) continue;
    if (Join(graph, memory, precision, &product, step))
      pending->erase(pending->begin() + int64_t(--i));
  }
}

std::string OriginOf(const Graph& graph, int32_t node) {
  const int32_t origin = graph.nodes[node].origin;
  return origin < 0 ? "" : graph.origins[origin];
}

}  // namespace frazil::jit
