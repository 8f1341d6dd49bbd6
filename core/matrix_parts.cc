#include "core/matrix_parts.h"

#include <algorithm>

namespace frazil {

MatrixParts MatrixParts::Of(OpId op, int64_t m, int64_t n, int64_t option) {
  MatrixParts out;
  const auto add = [&](int64_t rows, int64_t columns) {
    out.part[out.count++] = {out.size, rows, columns};
    out.size += rows * columns;
  };
  const auto fails = [&] { out.info = out.size++; };
  const int64_t k = std::min(m, n);
  switch (op) {
    case OpId::k_cholesky_factor:
    case OpId::k_inverse:
      add(n, n);
      fails();
      break;
    case OpId::k_lu_factor:  // of the transpose; where rows went, from 1; the permutation's sign
      add(n, n);
      add(1, n);
      add(1, 1);
      fails();
      break;
    case OpId::k_pseudo_inverse:  // and the singular values
      add(n, m);
      add(1, k);
      fails();
      break;
    case OpId::k_qr_factors:
      add(m, option & kComplete ? m : k);
      add(option & kComplete ? m : k, n);
      break;
    case OpId::k_svd_factors:  // u, s, vh
      add(m, option == kFull ? m : option == kReduced ? k : 0);
      add(1, k);
      add(option == kFull ? n : option == kReduced ? k : 0, n);
      fails();
      break;
    case OpId::k_eigh_factors:  // w, and the eigenvectors as rows
    case OpId::k_eig_factors:
      add(1, n);
      add(option & kValuesOnly ? 0 : n, n);
      fails();
      break;
    case OpId::k_log_determinant:  // sign, logarithm
      add(1, 1);
      add(1, 1);
      break;
    default:
      break;
  }
  return out;
}

}  // namespace frazil
