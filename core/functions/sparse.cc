#include "core/functions/sparse.h"

namespace frazil::ops {

Tensor sparse_matmul(const Tensor& values, const SparsePlaces& places, const Tensor& dense,
                     bool transposed) {
  for (const Tensor* t : {&values, &places.structure, &dense}) {
    if (!t->ok()) return *t;
  }
  int64_t rows = places.rows, columns = places.columns;
  if (transposed) std::swap(rows, columns);
  if (dense.rank() < 1 || dense.rank() > 2 || dense.dims()[0] != columns) {
    return ValueError("[matmul] a sparse matrix of shape ", ToString({rows, columns}), " and ",
                      Describe(dense), " do not fit.");
  }
  const DType dtype = Promote(values.dtype(), dense.dtype());
  if (IsBool(dtype)) {  // whether any pair of elements is true
    const Tensor count =
        sparse_matmul(astype(values, DType::kI32), places, astype(dense, DType::kI32), transposed);
    return count.ok() ? astype(count, DType::kBool) : count;
  }
  const bool vector = dense.rank() == 1;
  const Tensor a = astype(values, dtype);
  Tensor b = astype(dense, dtype);
  if (vector) b = reshape(b, {columns, 1});
  const int64_t attrs[kSparseAttrs] = {places.pairs, transposed, places.rows, places.columns};
  const Tensor out = Apply(OpId::k_sparse_matmul, {&a, &places.structure, &b}, attrs);
  return vector && out.ok() ? reshape(out, {rows}) : out;
}

}  // namespace frazil::ops
