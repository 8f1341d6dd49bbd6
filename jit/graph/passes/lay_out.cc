// The lay_out pass: a matrix that many products with few rows read across, as in h @ w.T at every
// step of a recurrent network, is copied once into the order in which they read it. Which order
// that is changes no bit of a product by the rule; other libraries' products may differ, so the
// pass is for products by the rule alone.
#include <algorithm>
#include <map>

#include "core/check.h"
#include "jit/graph/passes/passes.h"

namespace frazil::jit {
namespace {

constexpr int kMinProducts = 16;         // a copy takes as long as about ten of them lose
constexpr int64_t kMostRows = 16;        // beyond, a product lays its factor out for itself
constexpr int64_t kMostBytes = 1 << 20;  // larger ones wait for memory either way

// Whether node `n` is such a product.
bool ReadsAcross(const std::vector<Node>& nodes, const Node& n) {
  if (n.op != OpId::k_matmul || n.input || n.loop >= 0 || !(n.device == Device())) return false;
  const Layout *a = nodes[n.operands[0]].layout, *b = nodes[n.operands[1]].layout;
  return a->rank == 2 && b->rank == 2 && a->extents[0] <= kMostRows && b->extents[0] > 1 &&
         b->extents[1] > 1 && b->strides_[0] == 1 && b->strides_[1] > 1 &&
         b->size * SizeOf(n.dtype) <= kMostBytes;
}

}  // namespace

void LayOut(Graph* graph) {
  std::map<int32_t, int> readers;
  for (const Node& node : graph->nodes) {
    if (ReadsAcross(graph->nodes, node)) ++readers[node.operands[1]];
  }
  const auto few = [](const auto& x) { return x.second < kMinProducts; };
  if (std::all_of(readers.begin(), readers.end(), few)) return;

  const std::vector<Node> old = std::move(graph->nodes);
  graph->nodes.clear();
  std::vector<int32_t> now;
  std::map<int32_t, int32_t> dense;  // factor -> its copy
  for (const Node& node : old) {
    Node moved = node;
    for (int32_t& x : moved.operands) x = now[x];
    const auto reader = readers.find(node.operands.size() == 2 ? node.operands[1] : -1);
    if (reader != readers.end() && !few(*reader) && ReadsAcross(old, node)) {
      auto [copy, fresh] = dense.try_emplace(node.operands[1], -1);
      if (fresh) {
        const StatusOr<int32_t> made =
            graph->AddOp(OpId::k_copy, {moved.operands[1]}, {}, node.origin);
        FZ_CHECK(made.ok());
        copy->second = *made;
      }
      moved.operands[1] = copy->second;
    }
    now.push_back(int32_t(graph->nodes.size()));
    graph->nodes.push_back(std::move(moved));
  }
  for (int32_t& x : graph->outputs) x = now[x];
}

}  // namespace frazil::jit
