// Linear algebra of several results, and what its gradients share; functions of one result are rows
// of composites.def. Called by bindings, frazil.h and the rules of autograd/linear_rules.cc.
// Invariant: made of ops of class kLapack, whose one result is taken apart by views; whether a
// matrix could be taken is read, as indices are checked, so that an error comes where the function
// is called.
#pragma once

#include "core/functions/composites.h"
#include "core/matrix_parts.h"

#pragma GCC visibility push(default)
namespace frazil::ops {

struct SlogdetResult {
  Tensor sign, logabsdet;
};
struct QrResult {
  Tensor q, r;
};
struct SvdResult {
  Tensor u, s, vh;
};
struct EigResult {
  Tensor eigenvalues, eigenvectors;
};
struct PinvResult {
  Tensor inverse, singular_values;
};

// Errors are in every member.
SlogdetResult slogdet(const Tensor& x);
QrResult qr(const Tensor& x, std::string_view mode = "reduced");
SvdResult svd(const Tensor& x, bool full_matrices = true);
EigResult eig(const Tensor& x);
EigResult eigh(const Tensor& x, std::string_view uplo = "L");
// rtol: a number for each matrix, or null: the larger extent times the dtype's epsilon.
PinvResult pinv_with_values(const Tensor& x, const Tensor* rtol);

// The product of n matrices x, by squaring: of the inverse for n < 0, the identity for 0.
Tensor matrix_power(const Tensor& x, int64_t n);
// The product of matrices in the order that takes the fewest multiplications; the first and the last
// may be vectors.
Tensor multi_dot(absl::Span<const Tensor> arrays);

// The op itself, of operands of one dtype whose axes before the last two are equal.
Tensor lapack(OpId op, std::initializer_list<const Tensor*> operands, int64_t option = 0);
// A matrix of each packed result, as a view.
Tensor matrix_part(const Tensor& packed, const MatrixPart& part);
// The same of a part that is one row.
Tensor row_part(const Tensor& packed, const MatrixPart& part);
Tensor adjoint(const Tensor& x);

}  // namespace frazil::ops
#pragma GCC visibility pop
