#include "jit/library/product_shape.h"

namespace frazil::jit {

ProductShape ProductShape::Of(const Layout* a, const Layout* b, const Layout* c) {
  const int r = c->rank;
  const auto matrix = [r](const Layout* x) {
    return MatrixRef{nullptr, x->strides_[r - 2], x->strides_[r - 1]};
  };
  ProductShape shape{c->extents[r - 2], c->extents[r - 1], a->extents[r - 1],
                     matrix(a),         matrix(b),         {}};
  for (int i = 0; i < r - 2; ++i) {
    // Along an axis of extent 1 a layout's stride is 0, which is how it is broadcast.
    if (c->extents[i] != 1) shape.batch.push_back({c->extents[i], a->strides_[i], b->strides_[i]});
    shape.one_b &= b->extents[i] == 1;
  }
  return shape;
}

ProductShape ProductShape::Of(const Graph& graph, int32_t id) {
  const Node& node = graph.nodes[id];
  return Of(graph.nodes[node.operands[0]].layout, graph.nodes[node.operands[1]].layout,
            node.layout);
}

ProductShape ProductShape::Stacked() const {
  ProductShape stacked = *this;
  while (!stacked.batch.empty() && stacked.batch.back().b == 0) {
    const Batch& last = stacked.batch.back();
    if (stacked.m == 1) stacked.a.row_stride = last.a;
    if (last.a != stacked.m * stacked.a.row_stride) break;
    stacked.m *= last.extent;
    stacked.batch.pop_back();
  }
  return stacked;
}

int64_t ProductShape::batches() const {
  int64_t batches = 1;
  for (const Batch& axis : batch) batches *= axis.extent;
  return batches;
}

gemm::BatchPlace ProductShape::PlaceOf(int64_t index) const {
  gemm::BatchPlace at{0, 0, index * m * n};
  for (size_t i = batch.size(); i-- > 0; index /= batch[i].extent) {
    const int64_t along = index % batch[i].extent;
    at.a += along * batch[i].a;
    at.b += along * batch[i].b;
  }
  return at;
}

}  // namespace frazil::jit
