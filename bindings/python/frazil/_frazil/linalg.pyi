"""The compiled part of frazil.linalg."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from collections.abc import Sequence
from typing import (
    SupportsIndex,
)

from frazil._frazil import Tensor
from frazil._types import Axis, DTypeLike, Number, Operand

__all__ = [
    "cholesky",
    "cholesky_solve",
    "cond",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "euclidean_norm",
    "expm",
    "inv",
    "lstsq",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "pinv_with_values",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svd_hermitian",
    "svdvals",
    "trace",
    "vector_norm",
]

def cholesky(x: Operand, /, *, upper: Operand = ...) -> Tensor:
    """The lower triangle L of x = L L^H, batched over leading axes, or the upper one U of x = U^H U; reads the same triangle of x. LinAlgError if x is not positive definite."""

def cholesky_solve(b: Operand, factor: Operand, *, upper: Operand = ...) -> Tensor:
    """x of a @ x = b, where factor = cholesky(a, upper=upper)."""

def cond(x: Operand, /, p: builtins.float | str | None = ...) -> Tensor:
    """norm(x, p) * norm(inv(x), p): how much errors may grow; inf for singular matrices, of which a matrix of zeros is one. Without p, the largest singular value over the smallest, also of matrices that are not square."""

def det(x: Operand, /) -> Tensor:
    """Determinant of square matrices, batched over leading axes; integers give float64."""

def diagonal(x: Operand, /, *, offset: SupportsIndex = ...) -> Tensor:
    """The diagonal of the last two axes: x[..., i, i + offset]."""

def eig(x: Operand, /) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of square matrices."""

def eigh(x: Operand, /, UPLO: str = ...) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of Hermitian matrices."""

def eigvals(x: Operand, /) -> Tensor:
    """Eigenvalues of square matrices, complex, in no order, batched over leading axes."""

def eigvalsh(x: Operand, /, UPLO: str = ...) -> Tensor:
    """Eigenvalues of Hermitian matrices in ascending order, batched over leading axes; reads the lower (upper) triangle."""

def euclidean_norm(x: Operand, /, axis: Axis = ..., *, keepdims: builtins.bool = ...) -> Tensor:
    """Square root of the sum of squares of floats or complex numbers over axes, with gradient 0 at 0."""

def expm(x: Operand, /) -> Tensor:
    """The exponential of square matrices, by scaling and squaring; reads how large they are."""

def inv(x: Operand, /) -> Tensor:
    """Inverse of square matrices, batched over leading axes. LinAlgError if one is singular."""

def lstsq(
    a: Operand, b: Operand, /, rcond: Number | None = ...
) -> tuple[Tensor, Tensor, builtins.int, Tensor]:
    """The solution, what is left, rank and singular values."""

def matrix_norm(
    x: Operand, /, *, keepdims: builtins.bool = ..., ord: builtins.float | str | None = ...
) -> Tensor:
    """The norm of the matrices in the last two axes. ord is "fro" (root of the sum of squares), "nuc" (sum of singular values), 2 (the largest of these), -2 (the smallest), 1 (largest column sum of absolute values), inf (row sum), -1 and -inf (smallest sums)."""

def matrix_power(x: Operand, n: builtins.int, /) -> Tensor:
    """The product of n matrices x, by squaring; of the inverse for n < 0, the identity for 0."""

def matrix_rank(
    x: Operand,
    /,
    tol: Operand | None = ...,
    hermitian: builtins.bool = ...,
    *,
    rtol: Operand | None = ...,
) -> Tensor:
    """How many singular values are above tol, or above rtol times the largest; int64. rtol is max(m, n) times the dtype's epsilon if neither is given."""

def multi_dot(arrays: Sequence[Operand], /) -> Tensor:
    """The product of matrices in the order that takes the fewest multiplications. The first and the last may be vectors."""

def norm(
    x: Operand,
    /,
    ord: builtins.float | str | None = ...,
    axis: Axis = ...,
    keepdims: builtins.bool = ...,
) -> Tensor:
    """NumPy's norm: of a vector along one axis, of matrices in two. Without an axis, of a vector or matrix; without `ord` either, of all elements as one vector."""

def pinv(x: Operand, /, rtol: Operand | None = ...) -> Tensor:
    """Moore and Penrose's inverse, batched over leading axes; singular values up to rtol times the largest count as 0, by default max(m, n) times the dtype's epsilon."""

def pinv_with_values(x: Operand, /, rtol: Operand | None = ...) -> tuple[Tensor, Tensor]:
    """The pseudo-inverse and the singular values it is made of."""

def qr(x: Operand, /, *, mode: str = ...) -> tuple[Tensor, Tensor]:
    """Orthonormal columns and an upper triangle."""

def slogdet(x: Operand, /) -> tuple[Tensor, Tensor]:
    """Sign of a determinant and logarithm of its absolute value."""

def solve(x1: Operand, x2: Operand, /) -> Tensor:
    """x of x1 @ x = x2, batched over leading axes; x2 is a vector, or [..., n, k]. LinAlgError if x1 is singular."""

def solve_triangular(
    x1: Operand,
    x2: Operand,
    /,
    *,
    lower: Operand = ...,
    unit_diagonal: builtins.bool = ...,
    trans: SupportsIndex = ...,
) -> Tensor:
    """x of x1 @ x = x2, where only the upper (lower) triangle of x1 counts; trans 1: of its transpose, 2: of its adjoint. Zeros on the diagonal give infinities."""

def svd(x: Operand, /, *, full_matrices: builtins.bool = ...) -> tuple[Tensor, Tensor, Tensor]:
    """Singular vectors and values."""

def svd_hermitian(x: Operand, /) -> Tensor:
    """Singular vectors and values of Hermitian matrices."""

def svdvals(x: Operand, /) -> Tensor:
    """Singular values in descending order, batched over leading axes."""

def trace(x: Operand, /, *, offset: SupportsIndex = ..., dtype: DTypeLike | None = ...) -> Tensor:
    """The sum of the diagonal of the last two axes; integers are summed in 64 bits."""

def vector_norm(
    x: Operand, /, *, axis: Axis = ..., keepdims: builtins.bool = ..., ord: builtins.float = ...
) -> Tensor:
    """The norm of the elements along one axis, several or all. ord is 2, 1, inf (largest absolute value), -inf (smallest), 0 (how many are not 0), or p for sum(abs(x)**p)**(1/p)."""
