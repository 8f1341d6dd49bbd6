// The lay_out pass: a matrix that many products with few rows read across, as in h @ w.T at every
// step of a recurrent network, is copied once into the order in which they read it. Which order
// that is changes no bit of a product by the rule; other libraries' products may differ, so the
// pass is for products by the rule alone. For products of one row that order is panels of columns,
// each dense: a batch of products, whose results lie as those of the one. A large matrix beside
// some more rows is read best along its columns (kernels/gemm/blocked.cc), so one that lies by rows,
// as in the gradients of those steps, is copied into that order.
#include <algorithm>
#include <map>
#include <utility>

#include "core/check.h"
#include "core/tuned.h"
#include "jit/graph/passes/must.h"
#include "jit/graph/passes/passes.h"

namespace frazil::jit {
namespace {

// Whether node `n` is such a product.
bool ReadsAcross(const std::vector<Node>& nodes, const Node& n) {
  if (n.op != OpId::k_matmul || n.input || !(n.device == Device())) return false;
  const Layout *a = nodes[n.operands[0]].layout, *b = nodes[n.operands[1]].layout;
  return a->rank == 2 && b->rank == 2 && a->extents[0] <= tuned::kMostLaidOutRows &&
         b->extents[0] > 1 && b->extents[1] > 1 && b->strides_[0] == 1 && b->strides_[1] > 1 &&
         b->size * SizeOf(n.dtype) <= tuned::kMostLaidOutBytes;
}

// Whether node `n` is a product of some rows with a large matrix that lies by rows.
bool ReadsDown(const std::vector<Node>& nodes, const Node& n) {
  if (n.op != OpId::k_matmul || n.input || !(n.device == Device())) return false;
  if (n.dtype != DType::kF32 && n.dtype != DType::kF64) return false;
  const Layout *a = nodes[n.operands[0]].layout, *b = nodes[n.operands[1]].layout;
  return a->rank == 2 && b->rank == 2 && a->extents[0] >= tuned::kTurnedFewestRows &&
         a->extents[0] <= tuned::kTurnedRows / 2 && b->extents[0] >= tuned::kTurnedSteps &&
         b->extents[1] >= tuned::kTurnedFewestColumns && b->strides_[1] == 1 &&
         b->strides_[0] > 1 && b->size * SizeOf(n.dtype) > tuned::kMostLaidOutBytes;
}

// How many panels the factor of product `n` is cut into; 1: it is copied as it is.
int64_t PanelsOf(const std::vector<Node>& nodes, const Node& n) {
  const Layout *a = nodes[n.operands[0]].layout, *b = nodes[n.operands[1]].layout;
  const int64_t columns = tuned::kPanelRow / SizeOf(n.dtype);
  const bool cut = a->extents[0] == 1 && IsFloat(n.dtype) && b->extents[1] % columns == 0 &&
                   b->strides_[1] == b->extents[0] &&
                   b->size * SizeOf(n.dtype) > tuned::kLeastPanels;
  return cut ? b->extents[1] / columns : 1;
}

int32_t Add(Graph* graph, OpId op, int32_t x, const Attrs& attrs, int32_t origin) {
  return Must(graph->AddOp(op, {x}, attrs, origin));
}

// Factor `b` [k, n] as `panels` dense matrices of neighbouring columns.
int32_t CopyPanels(Graph* graph, int32_t b, int64_t panels, int32_t origin) {
  if (panels > 1) {
    const int64_t k = graph->nodes[b].layout->extents[0], n = graph->nodes[b].layout->extents[1];
    b = Add(graph, OpId::k_permute_dims, b, {1, 0}, origin);
    b = Add(graph, OpId::k_reshape, b, {panels, n / panels, k}, origin);
    b = Add(graph, OpId::k_permute_dims, b, {0, 2, 1}, origin);
  }
  return Add(graph, OpId::k_copy, b, {}, origin);
}

// Factor `b`, by columns.
int32_t CopyColumns(Graph* graph, int32_t b, int32_t origin) {
  b = Add(graph, OpId::k_permute_dims, b, {1, 0}, origin);
  b = Add(graph, OpId::k_copy, b, {}, origin);
  return Add(graph, OpId::k_permute_dims, b, {1, 0}, origin);
}

}  // namespace

void LayOut(Graph* graph) {
  std::map<int32_t, int> readers;
  for (const Node& node : graph->nodes) {
    if (ReadsAcross(graph->nodes, node) || ReadsDown(graph->nodes, node))
      ++readers[node.operands[1]];
  }
  const auto few = [](const auto& x) { return x.second < tuned::kMinLaidOutProducts; };
  if (std::all_of(readers.begin(), readers.end(), few)) return;

  const std::vector<Node> old = std::move(graph->nodes);
  graph->nodes.clear();
  std::vector<int32_t> now;
  // Factor, panels (0: by columns) -> its copy.
  std::map<std::pair<int32_t, int64_t>, int32_t> dense;
  for (const Node& node : old) {
    Node moved = node;
    for (int32_t& x : moved.operands) x = now[x];
    const auto reader = readers.find(node.operands.size() == 2 ? node.operands[1] : -1);
    if (reader != readers.end() && !few(*reader) && ReadsDown(old, node)) {
      auto [copy, fresh] = dense.try_emplace({node.operands[1], 0}, -1);
      if (fresh) copy->second = CopyColumns(graph, moved.operands[1], node.origin);
      moved.operands[1] = copy->second;
    }
    if (reader != readers.end() && !few(*reader) && ReadsAcross(old, node)) {
      const int64_t panels = PanelsOf(old, node);
      auto [copy, fresh] = dense.try_emplace({node.operands[1], panels}, -1);
      if (fresh) copy->second = CopyPanels(graph, moved.operands[1], panels, node.origin);
      moved.operands[1] = copy->second;
      if (panels > 1) {
        const int64_t k = old[node.operands[0]].layout->extents[1], n = node.layout->extents[1];
        const int32_t row = Add(graph, OpId::k_reshape, moved.operands[0], {1, 1, k}, node.origin);
        const StatusOr<int32_t> product =
            graph->AddOp(OpId::k_matmul, {row, moved.operands[1]}, moved.attrs, node.origin);
        FZ_CHECK(product.ok());
        now.push_back(Add(graph, OpId::k_reshape, *product, {1, n}, node.origin));
        continue;
      }
    }
    now.push_back(int32_t(graph->nodes.size()));
    graph->nodes.push_back(std::move(moved));
  }
  for (int32_t& x : graph->outputs) x = now[x];
}

}  // namespace frazil::jit
