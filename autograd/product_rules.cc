#include "autograd/product_rules.h"

#include <algorithm>

#include "core/functions/ops.h"

namespace frazil::autograd {
namespace {

// Inner axes from here on make a product that is worth being added up by itself; and so much of
// them is held for one operand before its product is made. core/SEMANTICS.md says both.
constexpr int64_t kLongSteps = 512, kMostSteps = 1024;
// A smaller operand's gradients are cheap to add up, in the loop that makes them.
constexpr int64_t kFewestElements = 4096;

// Whether a matrix is stored along its columns, as the transpose of a weight is.
bool StoredByColumns(const Tensor& t) {
  const Layout* layout = t.layout();
  const int r = t.rank();
  return layout->extents[r - 1] > 1 && layout->strides_[r - 1] != 1 && layout->strides_[r - 2] == 1;
}

// a @ b, stored by columns if `like` is: what follows then reads both in one order. An element is
// the same sum of the same products either way.
Tensor ProductStoredAs(const Tensor& like, const Tensor& a, const Tensor& b) {
  if (!StoredByColumns(like)) return ops::matmul(a, b);
  return Transposed(ops::matmul(Transposed(b), Transposed(a)));
}

Dims Leading(Dims dims) { return dims.first(dims.size() - 2); }

bool IsOneMatrix(Dims dims) {
  return std::ranges::all_of(Leading(dims), [](int64_t n) { return n == 1; });
}

Tensor Joined(const std::vector<Tensor>& parts, int axis_from_end) {
  return parts.size() == 1 ? parts[0] : ops::concat(parts, parts[0].rank() - axis_from_end);
}

}  // namespace

Tensor Transposed(const Tensor& t) {
  absl::InlinedVector<int64_t, 8> axes(t.rank());
  for (int i = 0; i < t.rank(); ++i) axes[i] = i;
  std::swap(axes[t.rank() - 1], axes[t.rank() - 2]);
  return ops::permute_dims(t, axes);
}

Tensor Stacked(const Tensor& t) {
  const int64_t columns = t.dims().back();
  return ops::reshape(t, {t.size() / std::max<int64_t>(columns, 1), columns});
}

Tensor grad_matmul_a(const Tensor& g, const Tensor& a, const Tensor& b) {
  return ProductStoredAs(a, g, Transposed(b));
}

// Where one matrix b met many matrices, its gradient is one product over the rows of all.
Tensor grad_matmul_b(const Tensor& g, const Tensor& a, const Tensor& b) {
  if (!IsOneMatrix(b.dims()) || a.rank() == 2 || a.size() == 0 || g.size() == 0)
    return ProductStoredAs(b, Transposed(a), g);
  return ops::reshape(ProductStoredAs(b, Transposed(Stacked(a)), Stacked(g)), b.dims());
}

bool MayWait(const TapeNode& matmul, int input) {
  const Dims a = matmul.input_dims(0), b = matmul.input_dims(1);
  const int64_t m = a[a.size() - 2], k = a.back(), n = b.back();
  if (m == 0 || k == 0 || n == 0) return false;
  int64_t steps = input == 0 ? n : m;
  if (input == 1 && IsOneMatrix(b)) {
    for (const int64_t extent : Leading(a)) steps *= extent;
  } else if (!std::ranges::equal(Leading(a), Leading(b))) {
    return false;
  }
  const int64_t rows = input == 0 ? m : k, columns = input == 0 ? k : n;
  return steps > 0 && steps < kLongSteps && rows * columns >= kFewestElements &&
         steps * (rows + columns) <= rows * columns;
}

Tensor WaitingProducts::Add(const TapeNode& matmul, int input, const Tensor& g) {
  const Tensor &a = matmul.saved[0], &b = matmul.saved[1];
  Tensor left = input == 0 ? g : a, right = input == 0 ? b : g;
  bool rows = input == 1;
  if (input == 0 && g.dims().back() == 1) {  // columns that lie in memory as rows do
    left = Transposed(left), right = Transposed(right), rows = true;
  } else if (input == 1 && IsOneMatrix(b.dims())) {
    left = Stacked(left), right = Stacked(right);
  }
  Tensor sum;
  if (!left_.empty() &&
      (rows != rows_ || !std::ranges::equal(Leading(left.dims()), Leading(left_[0].dims()))))
    sum = Take();
  rows_ = rows;
  like_ = input == 0 ? a : b;
  steps_ += left.ok() ? left.dims()[left.rank() - (rows ? 2 : 1)] : 0;
  left_.push_back(std::move(left));
  right_.push_back(std::move(right));
  if (steps_ < kMostSteps) return sum;
  return sum.defined() ? ops::add(sum, Take()) : Take();
}

Tensor WaitingProducts::Take() {
  if (left_.empty()) return Tensor();
  const Tensor left = Joined(left_, rows_ ? 2 : 1), right = Joined(right_, rows_ ? 2 : 1);
  left_.clear(), right_.clear(), steps_ = 0;
  const Tensor product = rows_ ? ProductStoredAs(like_, Transposed(left), right)
                               : ProductStoredAs(like_, left, Transposed(right));
  return ops::reshape(product, like_.dims());
}

}  // namespace frazil::autograd
