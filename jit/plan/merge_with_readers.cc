#include <algorithm>

#include "jit/plan/pending.h"
#include "jit/run/device_backend.h"

namespace frazil::jit {
namespace {

bool IsOutput(const Graph& graph, int32_t node) {
  return std::any_of(graph.outputs.begin(), graph.outputs.end(),
                     [&](int32_t id) { return BaseOf(graph, id) == node; });
}

using Reader = std::pair<PendingStep*, size_t>;  // and the number of its touch

// What alone behind `step` reads what that makes; of no step if nothing or more does.
Reader OnlyReader(std::vector<PendingStep>* pending, size_t step) {
  const Touch& made = (*pending)[step].touches.back();
  Reader reader{};
  for (size_t s = step + 1; s < pending->size(); ++s) {
    const std::vector<Touch>& touches = (*pending)[s].touches;
    for (size_t t = 0; t < touches.size(); ++t) {
      if (!Conflict(made, touches[t])) continue;
      if (reader.first) return {};  // another one, or twice by one
      reader = {&(*pending)[s], t};
    }
  }
  return reader;
}

// The reader becomes the product and what it was itself.
bool Join(const Graph& graph, Precision precision, const PendingStep& product, Reader reader) {
  const auto& [step, touch] = reader;
  const Launch& launch = *step->kernel();
  if (launch.buffers[touch].offset != 0) return false;
  auto one = DeviceBackendOf(product.device)
                 .JoinEpilogue(graph, product.node, launch, int(touch), OriginOf(graph, step->node),
                               precision);
  if (!one.ok()) return false;
  step->what = ProductWithEpilogue{
      WithoutProduct(graph, product.node, std::move(std::get<Launch>(step->what)), int(touch)),
      *std::move(one)};
  step->nodes.insert(step->nodes.begin(), product.nodes.begin(), product.nodes.end());
  step->touches.erase(step->touches.begin() + int64_t(touch));
  step->touches.insert(step->touches.begin(), product.touches.begin(), product.touches.begin() + 2);
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

void MergeWithReaders(const Graph& graph, Precision precision, std::vector<PendingStep>* pending) {
  for (size_t i = 0; i < pending->size();) {
    const PendingStep& product = (*pending)[i++];
    if (!product.call() || product.device == Device()) continue;
    if (graph.nodes[product.node].op != OpId::k_matmul || IsOutput(graph, product.node)) continue;
    const Reader reader = OnlyReader(pending, i - 1);
    const PendingStep* const step = reader.first;
    if (!step || !step->kernel() || !(step->device == product.device)) continue;
    if (Join(graph, precision, product, reader)) pending->erase(pending->begin() + int64_t(--i));
  }
}

std::string OriginOf(const Graph& graph, int32_t node) {
  const int32_t origin = graph.nodes[node].origin;
  return origin < 0 ? "" : graph.origins[origin];
}

}  // namespace frazil::jit
