"""The compiled part of frazil.linalg."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from collections.abc import Sequence
from typing import (
    SupportsIndex,
)

from frazil._frazil import Tensor
from frazil._types import Axis, Operand

__all__ = [
    "cholesky",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "euclidean_norm",
    "inv",
    "matrix_power",
    "multi_dot",
    "pinv",
    "pinv_with_values",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
]

def cholesky(x: Operand, /, *, upper: builtins.bool = ...) -> Tensor:
    """The lower triangle L of x = L L^H, batched over leading axes, or the upper one U of x = U^H U; reads the same triangle of x. LinAlgError if x is not positive definite."""

def det(x: Operand, /) -> Tensor:
    """Determinant of square matrices, batched over leading axes; integers give float64."""

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

def inv(x: Operand, /) -> Tensor:
    """Inverse of square matrices, batched over leading axes. LinAlgError if one is singular."""

def matrix_power(x: Operand, n: builtins.int, /) -> Tensor:
    """The product of n matrices x, by squaring; of the inverse for n < 0, the identity for 0."""

def multi_dot(arrays: Sequence[Operand], /) -> Tensor:
    """The product of matrices in the order that takes the fewest multiplications. The first and the last may be vectors."""

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
    lower: builtins.bool = ...,
    unit_diagonal: builtins.bool = ...,
    trans: SupportsIndex = ...,
) -> Tensor:
    """x of x1 @ x = x2, where only the upper (lower) triangle of x1 counts; trans 1: of its transpose, 2: of its adjoint. Zeros on the diagonal give infinities."""

def svd(x: Operand, /, *, full_matrices: builtins.bool = ...) -> tuple[Tensor, Tensor, Tensor]:
    """Singular vectors and values."""

def svdvals(x: Operand, /) -> Tensor:
    """Singular values in descending order, batched over leading axes."""
