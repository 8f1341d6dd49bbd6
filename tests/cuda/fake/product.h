// D = epilogue(alpha op(A) op(B) + beta C) on memory that the caller has opened. Called by
// cublaslt.cc. Invariant: one accumulator an element, k ascending by fma in chunks of 4096, chunks
// combined over 64 lanes (core/SEMANTICS.md, "Matrix product"): the bits of the CPU's default.
#pragma once

#include <cstdint>

namespace fake {

// Of cublasLt's types (jit/cuda/types.h: kR32F ...). Offsets are in elements.
struct ProductMatrix {
  char* data = nullptr;
  int type = 0;
  int64_t row_stride = 0, col_stride = 0, batch_stride = 0;
};

struct Product {
  int64_t m = 0, n = 0, k = 0, batches = 1;
  int compute = 0;           // kCompute32F ...
  ProductMatrix a, b, c, d;  // a is m x k and b k x n: transposition is in the strides
  double alpha = 1, beta = 0;
  int epilogue = 1;            // kEpilogueDefault ...
  const char* bias = nullptr;  // of d's type, one for each of the m rows
};

void RunProduct(const Product& product);

}  // namespace fake
