#include <algorithm>

#include "jit/plan/pending.h"
#include "jit/run/device_backend.h"

namespace frazil::jit {
namespace {

bool IsOutput(const Graph& graph, int32_t node) {
  return std::any_of(graph.outputs.begin(), graph.outputs.end(),
                     [&](int32_t id) { return BaseOf(graph, id) == node; });
}

// The one step behind `step` that reads what that makes, or null.
PendingStep* OnlyReader(std::vector<PendingStep>* pending, size_t step) {
  const Touch& made = (*pending)[step].touches.back();
  PendingStep* reader = nullptr;
  for (size_t s = step + 1; s < pending->size(); ++s) {
    for (const Touch& touch : (*pending)[s].touches) {
      if (!Conflict(made, touch)) continue;
      if (reader) return nullptr;  // another one, or twice by one
      reader = &(*pending)[s];
    }
  }
  return reader;
}

// The step becomes the product and what it was itself.
bool Join(const Graph& graph, Precision precision, PendingStep* product, PendingStep* step) {
  const auto read =
      std::find_if(step->touches.begin(), step->touches.end(),
                   [&](const Touch& touch) { return Conflict(product->touches.back(), touch); });
  const int buffer = int(read - step->touches.begin());
  const Launch& launch = *step->kernel();
  if (launch.buffers[buffer].offset != 0) return false;
  auto one = DeviceBackendOf(product->device)
                 .JoinEpilogue(graph, product->node, launch, buffer, OriginOf(graph, step->node),
                               precision);
  if (!one.ok()) return false;
  step->what = *std::move(one);
  step->touches.erase(read);
  step->touches.insert(step->touches.begin(), product->touches.begin(),
                       product->touches.begin() + 2);
  return true;
}

}  // namespace

void MergeWithReaders(const Graph& graph, Precision precision, std::vector<PendingStep>* pending) {
  for (size_t i = 0; i < pending->size();) {
    PendingStep& product = (*pending)[i++];
    if (!product.call() || product.device == Device()) continue;
    if (graph.nodes[product.node].op != OpId::k_matmul || IsOutput(graph, product.node)) continue;
    PendingStep* step = OnlyReader(pending, i - 1);
    if (!step || !step->kernel() || !(step->device == product.device)) continue;
    if (Join(graph, precision, &product, step)) pending->erase(pending->begin() + int64_t(--i));
  }
}

std::string OriginOf(const Graph& graph, int32_t node) {
  const int32_t origin = graph.nodes[node].origin;
  return origin < 0 ? "" : graph.origins[origin];
}

}  // namespace frazil::jit
