// The join pass: products of successive rows of one value with one matrix become one product. A
// loop over time steps that multiplies each step's row by the same weights is one large product
// then, which reads the weights once. By the rule of core/SEMANTICS.md a row of a product does not
// depend on the other rows, so no bit changes; other libraries' products may, so the pass is for
// products by the rule alone.
#include <algorithm>
#include <map>
#include <tuple>

#include "core/check.h"
#include "core/tuned.h"
#include "jit/graph/passes/passes.h"

namespace frazil::jit {
namespace {

// A product whose left factor is `rows` whole rows of `base`, which is dense.
struct Rows {
  int32_t base, matrix;
  int64_t rows, length;

  bool operator<(const Rows& o) const {
    return std::tie(base, matrix, rows, length) < std::tie(o.base, o.matrix, o.rows, o.length);
  }
};
struct Product {
  int64_t offset;  // elements of base
  int32_t node;

  bool operator<(const Product& o) const { return offset < o.offset; }
};

bool Describe(const Graph& graph, int32_t id, Rows* rows, int64_t* offset) {
  const Node& n = graph.nodes[id];
  if (n.op != OpId::k_matmul || n.input || !(n.device == Device())) return false;
  const Node &a = graph.nodes[n.operands[0]], &b = graph.nodes[n.operands[1]];
  if (a.layout->rank != 2 || b.layout->rank != 2 || a.dtype != n.dtype || b.dtype != n.dtype ||
      n.layout->size == 0 || a.layout->size == 0)
    return false;
  const int64_t m = a.layout->extents[0], k = a.layout->extents[1];
  const int32_t base = BaseOf(graph, n.operands[0]);
  if ((k > 1 && a.layout->strides_[1] != 1) || (m > 1 && a.layout->strides_[0] != k) ||
      !graph.nodes[base].layout->dense || graph.nodes[base].dtype != a.dtype)
    return false;
  *rows = {base, n.operands[1], m, k};
  *offset = ElementsInBase(graph, n.operands[0]);
  return true;
}

// Runs of products whose rows follow each other, by the first of their nodes.
std::map<int32_t, std::pair<Rows, std::vector<Product>>> FindRuns(const Graph& graph) {
  std::map<Rows, std::vector<Product>> alike;
  std::vector<bool> returned(graph.nodes.size(), false);  // as they are, or as views of theirs
  for (const int32_t id : graph.outputs) returned[BaseOf(graph, id)] = true;
  for (int32_t id = graph.num_inputs; id < int32_t(graph.nodes.size()); ++id) {
    Rows rows;
    int64_t offset;
    if (!returned[id] && Describe(graph, id, &rows, &offset)) alike[rows].push_back({offset, id});
  }
  std::map<int32_t, std::pair<Rows, std::vector<Product>>> runs;
  for (auto& [rows, products] : alike) {
    std::stable_sort(products.begin(), products.end());
    for (size_t begin = 0, end; begin < products.size(); begin = end) {
      for (end = begin + 1; end < products.size(); ++end) {
        if (products[end].offset != products[end - 1].offset + rows.rows * rows.length) break;
      }
      if (end - begin < tuned::kMinJoinedProducts) continue;
      std::vector<Product> run(products.begin() + begin, products.begin() + end);
      int32_t first = run[0].node;
      for (const Product& p : run) first = std::min(first, p.node);
      runs[first] = {rows, std::move(run)};
    }
  }
  return runs;
}

}  // namespace

void JoinProducts(Graph* graph) {
  const auto runs = FindRuns(*graph);
  if (runs.empty()) return;
  const std::vector<Node> old = std::move(graph->nodes);
  graph->nodes.clear();
  std::vector<int32_t> now(old.size(), -1);
  const auto add = [graph](OpId op, absl::Span<const int32_t> operands, const Attrs& attrs,
                           int32_t origin) {
    const StatusOr<int32_t> id = graph->AddOp(op, operands, attrs, origin);
    FZ_CHECK(id.ok());
    return *id;
  };
  for (size_t id = 0; id < old.size(); ++id) {
    if (const auto it = runs.find(int32_t(id)); it != runs.end()) {
      const auto& [rows, run] = it->second;
      const int32_t origin = old[id].origin;
      const int64_t m = rows.rows, k = rows.length, n = int64_t(run.size());
      const int32_t flat =
          add(OpId::k_reshape, {now[rows.base]}, {old[rows.base].layout->size}, origin);
      const int32_t part = add(OpId::k_slice, {flat}, {run[0].offset, 1, n * m * k}, origin);
      const int32_t left = add(OpId::k_reshape, {part}, {n * m, k}, origin);
      const int32_t all = add(OpId::k_matmul, {left, now[rows.matrix]}, {}, origin);
      for (int64_t i = 0; i < n; ++i) {
        const Node& product = old[run[i].node];
        now[run[i].node] = add(OpId::k_slice, {all},
                               {i * m, 1, m, 0, 1, product.layout->extents[1]}, product.origin);
      }
    }
    if (now[id] >= 0) continue;
    Node node = old[id];
    for (int32_t& x : node.operands) x = now[x];
    if (node.view) {
      now[id] = add(node.op, node.operands, node.attrs, node.origin);
      continue;
    }
    now[id] = int32_t(graph->nodes.size());
    graph->nodes.push_back(std::move(node));
  }
  for (int32_t& x : graph->outputs) x = now[x];
}

}  // namespace frazil::jit
