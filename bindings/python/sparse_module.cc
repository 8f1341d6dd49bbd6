// Functions of frazil._frazil.sparse: the products that the classes of frazil/_sparse.py are made of.
#include "bindings/python/bound.h"
#include "bindings/python/functions.h"
#include "bindings/python/movement.h"
#include "core/functions/sparse.h"

namespace frazil::python {
namespace {

FZ_FAST(Matmul) {
  FZ_ARGS(7, "matmul(values, structure, dense, /, rows, columns, pairs, transposed)");
  Tensor own_values, own_structure, own_dense;
  const Tensor* values = HeldTensor(a[0], "matmul", &own_values);
  const Tensor* structure = values ? HeldTensor(a[1], "matmul", &own_structure) : nullptr;
  const Tensor* dense = structure ? HeldTensor(a[2], "matmul", &own_dense) : nullptr;
  ops::SparsePlaces places;
  bool transposed = false;
  if (!dense || !ToInt(a[3], "matmul", "rows", &places.rows) ||
      !ToInt(a[4], "matmul", "columns", &places.columns) ||
      !ToBool(a[5], "matmul", "pairs", false, &places.pairs) ||
      !ToBool(a[6], "matmul", "transposed", false, &transposed))
    return nullptr;
  places.structure = *structure;
  return Wrap(ops::sparse_matmul(*values, places, *dense, transposed));
}

}  // namespace

std::vector<FunctionRow> SparseFunctions() {
  return {
      {"matmul(values, structure, dense, /, rows, columns, pairs, transposed)",
       "A sparse matrix, or its transpose, times a vector or a matrix. structure, int32 or int64: "
       "where the values of each row begin, rows + 1 numbers, then the column of each value; as "
       "pairs the row of each value, then the column of each.",
       Matmul},
  };
}

}  // namespace frazil::python
