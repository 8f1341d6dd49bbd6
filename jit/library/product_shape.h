// What a product of matrices asks for, whoever computes it: its extents, where the matrices of each
// batch lie, and which batches are rows of one product. Made from matmul nodes by the products of
// the CPU (library.cc), of GPUs (jit/run/cuda) and of the NPU (jit/run/npu). Invariant: follows
// from shapes and strides alone. Strides are in elements, 0 along what has one element or is
// broadcast; a matrix that lies transposed is one whose rows are adjacent elements.
#pragma once

#include "absl/container/inlined_vector.h"
#include "jit/graph/graph.h"
#include "kernels/gemm/small_product.h"

namespace frazil::jit {

struct ProductShape {
  // An axis of batches: how far apart the matrices of each operand are.
  struct Batch {
    int64_t extent, a, b;
  };

  int64_t m, n, k;
  MatrixRef a, b;                       // of a batch, without data
  absl::InlinedVector<Batch, 4> batch;  // in row-major order; none of extent 1
  bool one_b = true;                    // b's shape has no more than one matrix

  // a [..., m, k], b [..., k, n] and c [..., m, n] of one rank; a and b are broadcast to c.
  static ProductShape Of(const Layout* a, const Layout* b, const Layout* c);
  // Of a matmul node.
  static ProductShape Of(const Graph& graph, int32_t id);

  // In as few batches as rows allow: matrices whose rows follow each other, times one matrix, are
  // one product, whose rows lie as those of the batches.
  ProductShape Stacked() const;

  int64_t batches() const;
  // True if there is nothing to write, or nothing to sum.
  bool empty() const { return batches() * m * n == 0 || k == 0; }
  // The matrices of a batch; c is dense.
  gemm::BatchPlace PlaceOf(int64_t batch) const;
  // Of one batch, without data. Extents of 1 have stride 0 in a layout; kernels want the rows of an
  // output apart.
  GemmArgs Args(DType dtype) const { return {dtype, m, n, k, a, b, {nullptr, n, 1}}; }
};

}  // namespace frazil::jit
