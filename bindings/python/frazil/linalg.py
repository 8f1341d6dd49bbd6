"""Linear algebra: factors, solutions, determinants, eigenvalues, norms.

All functions of matrices take them in the last two axes, batched over those before; dtypes are
float32, float64, complex64 and complex128, and integers are computed in float64. A matrix that an
algorithm cannot take (singular, not positive definite, not square, with infinities where
eigenvalues are wanted) raises LinAlgError, a ValueError, which tells which one it is.

Here: `cholesky`, `qr`, `svd`, `eigh`, `eig` and what they give (`QRResult`, `SVDResult`,
`EighResult`, `EigResult`); `solve`, `inv`, `pinv`, `lstsq` (`LstsqResult`), `cholesky_solve`,
`solve_triangular`; `det`, `slogdet` (`SlogdetResult`), `trace`, `diagonal`, `matrix_rank`, `cond`,
`matrix_power`, `expm`, `multi_dot`; `norm`, `vector_norm`, `matrix_norm`; `matmul`, `outer`,
`cross`, `vecdot`, `tensordot`, `matrix_transpose`; `LinAlgError`.

>>> import frazil as fz
>>> a = fz.asarray([[2.0, 1.0], [1.0, 3.0]])
>>> fz.linalg.solve(a, fz.asarray([4.0, 7.0])).tolist()
[1.0, 2.0]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, overload

from frazil._array_api import tensordot as tensordot
from frazil._dtypes import finfo as _finfo
from frazil._frazil import LinAlgError as LinAlgError
from frazil._frazil import count_nonzero as _count_nonzero
from frazil._frazil import cross as cross
from frazil._frazil import inside as _inside
from frazil._frazil import linalg as _linalg
from frazil._frazil import matmul as matmul
from frazil._frazil import matrix_transpose as matrix_transpose
from frazil._frazil import outer as outer
from frazil._frazil import vecdot as vecdot
from frazil._frazil.linalg import cholesky as cholesky
from frazil._frazil.linalg import cholesky_solve as cholesky_solve
from frazil._frazil.linalg import cond as cond
from frazil._frazil.linalg import det as det
from frazil._frazil.linalg import diagonal as diagonal
from frazil._frazil.linalg import eigvals as eigvals
from frazil._frazil.linalg import eigvalsh as eigvalsh
from frazil._frazil.linalg import expm as expm
from frazil._frazil.linalg import inv as inv
from frazil._frazil.linalg import matrix_norm as matrix_norm
from frazil._frazil.linalg import matrix_power as matrix_power
from frazil._frazil.linalg import matrix_rank as matrix_rank
from frazil._frazil.linalg import multi_dot as multi_dot
from frazil._frazil.linalg import norm as norm
from frazil._frazil.linalg import solve as solve
from frazil._frazil.linalg import solve_triangular as solve_triangular
from frazil._frazil.linalg import svdvals as svdvals
from frazil._frazil.linalg import trace as trace
from frazil._frazil.linalg import vector_norm as vector_norm
from frazil._named import inexact as _inexact
from frazil._named import public as _public
from frazil._named import tensor as _tensor

if TYPE_CHECKING:
    from frazil._frazil import Tensor
    from frazil._types import Operand

__all__ = [
    "EigResult",
    "EighResult",
    "LinAlgError",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cholesky_solve",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


class EigResult(NamedTuple):
    """Of eig: eigenvalues [..., n], and eigenvectors as columns of [..., n, n]; complex."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """Of eigh: ascending real eigenvalues [..., n], and eigenvectors as columns of [..., n, n]."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """Of qr: orthonormal columns, and an upper triangle."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """Of slogdet: a number of absolute value 1 (or 0), and a logarithm."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """Of svd: left singular vectors as columns, descending values, right vectors as rows."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class LstsqResult(NamedTuple):
    """Of lstsq: the solution, sums of squares of what is left, the rank and singular values."""

    x: Tensor
    residuals: Tensor
    rank: int | Tensor
    singular_values: Tensor


def _matrices_of(where: str, x: Operand, *, square: bool = False) -> Tensor:
    x = _tensor(x)
    if x.ndim < 2:
        raise LinAlgError(f"[{where}] needs at least two axes, got shape {x.shape}.")
    if square and x.shape[-1] != x.shape[-2]:
        raise LinAlgError(f"[{where}] needs square matrices, got shape {x.shape}.")
    return x


def eig(x: Operand, /) -> EigResult:
    """Eigenvalues, in no order, and eigenvectors of length 1 of square matrices; both complex."""
    return EigResult(*_linalg.eig(x))


def eigh(x: Operand, /, UPLO: str = "L") -> EighResult:
    """Ascending eigenvalues and orthonormal eigenvectors of Hermitian matrices.

    Reads the lower triangle, with UPLO "U" the upper one.

    >>> import frazil as fz
    >>> eigh(fz.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
    [1.0, 2.0]
    """
    return EighResult(*_linalg.eigh(x, UPLO))


@overload
def qr(x: Operand, /, mode: Literal["reduced", "complete"] = ...) -> QRResult: ...
@overload
def qr(x: Operand, /, mode: Literal["r"]) -> Tensor: ...
def qr(x: Operand, /, mode: Literal["reduced", "complete", "r"] = "reduced") -> QRResult | Tensor:
    """x = Q R with orthonormal columns of Q and an upper triangle R, of [..., m, n].

    "reduced": Q has min(m, n) columns; "complete": m; "r": R alone. The columns that "complete"
    adds are any basis of their space: gradients are those of functions of the space alone.
    """
    if mode == "r":
        return _linalg.qr(x)[1]
    return QRResult(*_linalg.qr(x, mode=mode))


def slogdet(x: Operand, /) -> SlogdetResult:
    """Sign of the determinant, complex of absolute value 1 for complex matrices, and the logarithm
    of its absolute value; 0 and -inf for singular matrices."""
    return SlogdetResult(*_linalg.slogdet(x))


@overload
def svd(
    x: Operand, /, full_matrices: bool = ..., compute_uv: Literal[True] = ..., hermitian: bool = ...
) -> SVDResult: ...
@overload
def svd(
    x: Operand, /, full_matrices: bool = ..., *, compute_uv: Literal[False], hermitian: bool = ...
) -> Tensor: ...
@_public
def svd(
    x: Operand, /, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> SVDResult | Tensor:
    """x = U diag(S) Vh of [..., m, n], with S descending.

    U is m x m and Vh n x n, without `full_matrices` m x k and k x n, where k = min(m, n). Without
    `compute_uv` S alone. `hermitian`: x is, and its lower triangle is read. The vectors that
    `full_matrices` adds are any basis of their space: gradients are those of functions of the space
    alone.
    """
    if hermitian and _tensor(x).size:
        factors = SVDResult(*_linalg.svd_hermitian(x))
        return factors if compute_uv else factors.S
    if not compute_uv:
        return svdvals(x)
    return SVDResult(*_linalg.svd(x, full_matrices=full_matrices))


@_public
def pinv(
    x: Operand,
    /,
    rcond: Operand | None = None,
    hermitian: bool = False,
    *,
    rtol: Operand | None = None,
) -> Tensor:
    """Moore and Penrose's inverse of [..., m, n], which is [..., n, m].

    Singular values up to rtol (or rcond) times the largest count as 0: max(m, n) times the dtype's
    epsilon, or a number for each matrix. `hermitian`: x is, and its lower triangle is read.
    """
    if rcond is not None and rtol is not None:
        raise ValueError("[pinv] takes rtol or rcond, got both.")
    rtol = rcond if rtol is None else rtol
    x = _inexact(_matrices_of("pinv", x, square=hermitian))
    return _linalg.pinv(_inside.hermitian(x) if hermitian else x, rtol)


@_public
def lstsq(a: Operand, b: Operand, /, rcond: float | None = None) -> LstsqResult:
    """The shortest x that makes the sum of squares of b - a @ x least, for a of [m, n].

    b is [m] or [m, k]. Singular values of a up to rcond times the largest count as 0, by default
    max(m, n) times the dtype's epsilon; `rank` is how many remain. `residuals` are the sums of
    squares for each column of b, empty where rank < n or m <= n. Where a differs between the
    examples of a vmap, so may the rank: it is an integer tensor then, and `residuals` are empty
    only where m <= n.
    """
    x, residuals, rank, values = _linalg.lstsq(a, b, rcond)
    if rank >= 0:
        return LstsqResult(x, residuals, rank, values)
    least = max(_tensor(a).shape) * _finfo(values.dtype).eps if rcond is None else rcond
    return LstsqResult(x, residuals, _count_nonzero(values > values[:1] * least), values)
