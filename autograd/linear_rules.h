// Gradient rules of linear algebra, named by rows of core/ops.def. Called by autograd/rules.cc.
// Invariants: made of ops, so gradients of any order work and are traced; g is dL/d(re) + i
// dL/d(im), as core/SEMANTICS.md says. Of a Hermitian matrix the gradient is Hermitian, though one
// triangle was read. Eigenvectors and singular vectors are taken up to a factor of absolute value
// 1 each: what depends on that factor has no gradient. Equal eigenvalues or singular values add
// nothing in place of an infinity.
#pragma once

#include "autograd/tape.h"

namespace frazil::autograd {

Tensor grad_cholesky(const Tensor& g, const Tensor& y, const TapeNode& node);
Tensor grad_lu_solve(const Tensor& g, const Tensor& a, const Tensor& lu, const Tensor& y,
                     const TapeNode& node, int input, Tensor* shared);
Tensor grad_triangular_solve(const Tensor& g, const Tensor& a, const Tensor& y,
                             const TapeNode& node, int input, Tensor* shared);
Tensor grad_inverse(const Tensor& g, const Tensor& y, const TapeNode& node);
Tensor grad_determinant(const Tensor& g, const Tensor& a);
Tensor grad_log_determinant(const Tensor& g, const Tensor& a, const Tensor& y);
Tensor grad_qr(const Tensor& g, const Tensor& y, const TapeNode& node);
Tensor grad_svd(const Tensor& g, const Tensor& a, const Tensor& y, const TapeNode& node);
Tensor grad_eigh(const Tensor& g, const Tensor& a, const Tensor& y, const TapeNode& node);
Tensor grad_eig(const Tensor& g, const Tensor& a, const Tensor& y, const TapeNode& node);
Tensor grad_pseudo_inverse(const Tensor& g, const Tensor& a, const Tensor& y, const TapeNode& node);

}  // namespace frazil::autograd
