// Products of many matrices: matrix_power and multi_dot of linalg.h.
#include <cmath>
#include <limits>

#include "core/functions/linalg.h"

namespace frazil::ops {
namespace {

// Which matrices [i, j] of a product are multiplied last: those up to cuts[i][j] by those behind it.
// extents: the rows of each, and the columns of the last.
std::vector<std::vector<size_t>> BestCuts(const std::vector<double>& extents) {
  const size_t n = extents.size() - 1;
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<size_t>> cuts(n, std::vector<size_t>(n, 0));
  for (size_t length = 1; length < n; ++length) {
    for (size_t i = 0; i + length < n; ++i) {
      const size_t j = i + length;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (size_t k = i; k < j; ++k) {
        const double all =
            cost[i][k] + cost[k + 1][j] + extents[i] * extents[k + 1] * extents[j + 1];
        if (all < cost[i][j]) cost[i][j] = all, cuts[i][j] = k;
      }
    }
  }
  return cuts;
}

Tensor Product(const std::vector<Tensor>& parts, const std::vector<std::vector<size_t>>& cuts,
               size_t i, size_t j) {
  if (i == j) return parts[i];
  const size_t k = cuts[i][j];
  return matmul(Product(parts, cuts, i, k), Product(parts, cuts, k + 1, j));
}

}  // namespace

Tensor matrix_power(const Tensor& x, int64_t n) {
  if (!x.ok()) return x;
  if (x.rank() < 2)
    return LinAlgError("[matrix_power] needs at least two axes, got ", Describe(x), ".");
  const int64_t extent = x.dims().back();
  if (x.dims()[static_cast<size_t>(x.rank() - 2)] != extent)
    return LinAlgError("[matrix_power] needs square matrices, got ", Describe(x), ".");
  if (n == 0)
    return broadcast_to(to_device(eye(extent, extent, 0, x.dtype()), x.device()), x.dims());
  Tensor square = n < 0 ? inv(x) : x, out;
  uint64_t rest = n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
  for (;; square = matmul(square, square)) {
    if (rest % 2) out = out.defined() ? matmul(out, square) : square;
    if ((rest /= 2) == 0) return out;
  }
}

Tensor multi_dot(absl::Span<const Tensor> arrays) {
  if (arrays.size() < 2)
    return ValueError("[multi_dot] needs at least two arrays, got ", arrays.size(), ".");
  std::vector<Tensor> parts(arrays.begin(), arrays.end());
  for (const Tensor& t : parts) {
    if (!t.ok()) return t;
  }
  const bool first = parts.front().rank() == 1, last = parts.back().rank() == 1;
  if (first) parts.front() = expand_dims(parts.front(), 0);
  if (last) parts.back() = expand_dims(parts.back(), 1);
  std::vector<double> extents;
  for (const Tensor& t : parts) {
    if (t.rank() != 2) return LinAlgError("[multi_dot] needs matrices, got ", Describe(t), ".");
    extents.push_back(double(t.dims()[0]));
  }
  extents.push_back(double(parts.back().dims()[1]));
  const Tensor out = Product(parts, BestCuts(extents), 0, parts.size() - 1);
  if (!out.ok() || !(first || last)) return out;
  absl::InlinedVector<int64_t, 2> dims;
  if (!first) dims.push_back(out.dims()[0]);
  if (!last) dims.push_back(out.dims()[1]);
  return reshape(out, dims);
}

}  // namespace frazil::ops
