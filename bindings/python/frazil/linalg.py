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

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from frazil import _frazil as _fz
from frazil import _matrices
from frazil._array_api import outer as outer
from frazil._array_api import tensordot as tensordot
from frazil._array_api import vecdot as vecdot
from frazil._dtypes import finfo as _finfo
from frazil._dtypes import result_type as _result_type
from frazil._frazil import LinAlgError as LinAlgError
from frazil._frazil import linalg as _linalg
from frazil._frazil import matmul as matmul
from frazil._frazil import matrix_transpose as matrix_transpose
from frazil._frazil.linalg import cholesky as cholesky
from frazil._frazil.linalg import det as det
from frazil._frazil.linalg import eigvals as eigvals
from frazil._frazil.linalg import eigvalsh as eigvalsh
from frazil._frazil.linalg import inv as inv
from frazil._frazil.linalg import matrix_power as matrix_power
from frazil._frazil.linalg import multi_dot as multi_dot
from frazil._frazil.linalg import solve as solve
from frazil._frazil.linalg import solve_triangular as solve_triangular
from frazil._frazil.linalg import svdvals as svdvals
from frazil._matrices import cross as cross
from frazil._named import fixed_axis as _axis
from frazil._named import inexact as _inexact
from frazil._named import public as _public
from frazil._named import tensor as _tensor

if TYPE_CHECKING:
    from frazil._frazil import Tensor
    from frazil._types import Axis, DTypeLike, Operand

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
    rank: int
    singular_values: Tensor


def _matrices_of(where: str, x: Operand, *, square: bool = False) -> Tensor:
    x = _tensor(x)
    if x.ndim < 2:
        raise LinAlgError(f"[{where}] needs at least two axes, got shape {x.shape}.")
    if square and x.shape[-1] != x.shape[-2]:
        raise LinAlgError(f"[{where}] needs square matrices, got shape {x.shape}.")
    return x


def _adjoint(x: Tensor) -> Tensor:
    return _fz.conj(matrix_transpose(x))


def _hermitian(x: Tensor) -> Tensor:
    """The Hermitian matrix whose lower triangle is x's."""
    lower = _fz.tril(x, -1)
    eye = _fz.eye(x.shape[-1], dtype=x.dtype)
    return lower + _adjoint(lower) + _fz.real(x) * eye


def eig(x: Operand, /) -> EigResult:
    """Eigenvalues, in no order, and eigenvectors of length 1 of square matrices; both complex."""
    return EigResult(*_linalg.eig(x))


def eigh(x: Operand, /, UPLO: str = "L") -> EighResult:
    """Ascending eigenvalues and orthonormal eigenvectors of Hermitian matrices.

    Reads the lower triangle, with UPLO "U" the upper one.

    >>> eigh(_fz.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
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
        w, v = eigh(x)
        s = _fz.abs(w)
        order = _fz.argsort(s, descending=True)
        s = _fz.take_along_axis(s, order, axis=-1)
        if not compute_uv:
            return s
        order = _fz.broadcast_to(order[..., None, :], v.shape)
        u = _fz.take_along_axis(v, order, axis=-1)
        signs = _fz.take_along_axis(
            _fz.where(w < 0, -1.0, 1.0).astype(w.dtype), order[..., 0, :], -1
        )
        return SVDResult(u, s, _adjoint(u * signs[..., None, :]))
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
    return _linalg.pinv(_hermitian(x) if hermitian else x, rtol)


@_public
def lstsq(a: Operand, b: Operand, /, rcond: float | None = None) -> LstsqResult:
    """The shortest x that makes the sum of squares of b - a @ x least, for a of [m, n].

    b is [m] or [m, k]. Singular values of a up to rcond times the largest count as 0, by default
    max(m, n) times the dtype's epsilon; `rank` is how many remain. `residuals` are the sums of
    squares for each column of b, empty where rank < n or m <= n.
    """
    a, b = _matrices_of("lstsq", a), _tensor(b)
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise LinAlgError(
            f"[lstsq] needs a matrix and a vector or matrix, got shapes {a.shape} and {b.shape}."
        )
    if a.shape[0] != b.shape[0]:
        raise LinAlgError(
            f"[lstsq] needs as many rows on both sides, got shapes {a.shape} and {b.shape}."
        )
    a, b = _inexact(a), _inexact(b)
    dtype = _result_type(a, b)
    a, b = a.astype(dtype), b.astype(dtype)
    m, n = a.shape
    least = max(m, n) * _finfo(a.dtype).eps if rcond is None else rcond
    inverse, s = _linalg.pinv_with_values(a, least)
    if a.requires_grad:
        s = svdvals(a)  # whose gradient the inverse's has not
    x = inverse @ b
    rank = int(_fz.count_nonzero(s > least * s[:1]).item())
    if rank < n or m <= n:
        residuals = _fz.zeros((0,), dtype=s.dtype)
    else:
        left = _fz.abs(b - a @ x)
        residuals = _fz.reshape(_fz.sum(left * left, axis=0), (-1,))
    return LstsqResult(x, residuals, rank, s)


@_public
def cholesky_solve(b: Operand, factor: Operand, *, upper: bool = False) -> Tensor:
    """x of a @ x = b, where factor = cholesky(a, upper=upper)."""
    factor = _tensor(factor)
    if upper:
        inner = solve_triangular(factor, b, trans=2)
        return solve_triangular(factor, inner)
    inner = solve_triangular(factor, b, lower=True)
    return solve_triangular(factor, inner, lower=True, trans=2)


@_public
def diagonal(x: Operand, /, *, offset: int = 0) -> Tensor:
    """The diagonal of the last two axes: x[..., i, i + offset]."""
    return _matrices.diagonal(x, offset, -2, -1)


@_public
def trace(x: Operand, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """The sum of the diagonal of the last two axes; integers are summed in 64 bits.

    >>> trace(_fz.asarray([[1, 2], [3, 4]])).item()
    5
    """
    return _fz.sum(_matrices.diagonal(x, offset, -2, -1), axis=-1, dtype=dtype)


@_public
def matrix_rank(
    x: Operand,
    /,
    tol: Operand | None = None,
    hermitian: bool = False,
    *,
    rtol: Operand | None = None,
) -> Tensor:
    """How many singular values are above tol, or above rtol times the largest; int64.

    rtol is max(m, n) times the dtype's epsilon if neither is given.

    >>> matrix_rank(_fz.ones((3, 3))).item()
    1
    """
    if tol is not None and rtol is not None:
        raise ValueError("[matrix_rank] takes tol or rtol, got both.")
    x = _tensor(x)
    if x.ndim < 2:
        return _fz.any(x != 0).astype(_fz.int64)
    s = _fz.abs(eigvalsh(x)) if hermitian else svdvals(x)
    if s.shape[-1] == 0:
        return _fz.zeros(s.shape[:-1], dtype=_fz.int64)
    if tol is None:
        rtol = max(x.shape[-2:]) * _finfo(s.dtype).eps if rtol is None else _tensor(rtol)
        tol = rtol * _fz.max(s, axis=-1)
    return _fz.count_nonzero(s > _tensor(tol)[..., None], axis=-1)


@_public
def vector_norm(
    x: Operand, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """The norm of the elements along one axis, several or all.

    ord is 2, 1, inf (largest absolute value), -inf (smallest), 0 (how many are not 0), or p for
    sum(abs(x)**p)**(1/p).

    >>> vector_norm(_fz.asarray([3.0, 4.0])).item()
    5.0
    """
    x = _inexact(x)
    if isinstance(ord, str) or not isinstance(ord, (int, float)):
        raise ValueError(f"[vector_norm] ord must be a number, got {ord!r}.")
    over: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    if ord == 2:
        return _linalg.euclidean_norm(x, **over)
    size = _fz.abs(x)
    if ord == math.inf:
        return _largest(size, **over)
    if ord == -math.inf:
        return _fz.min(size, **over)
    if ord == 0:
        return _fz.count_nonzero(x, **over).astype(size.dtype)
    if ord == 1:
        return _fz.sum(size, **over)
    return _fz.sum(size**ord, **over) ** (1 / ord)


def _largest(sizes: Tensor, **over: Any) -> Tensor:
    """The largest of numbers that are not negative: 0 of none, as NumPy's norms have it."""
    return (_fz.sum if 0 in sizes.shape else _fz.max)(sizes, **over)


@_public
def matrix_norm(
    x: Operand, /, *, keepdims: bool = False, ord: float | str | None = "fro"
) -> Tensor:
    """The norm of the matrices in the last two axes.

    ord is "fro" (root of the sum of squares), "nuc" (sum of singular values), 2 (the largest of
    these), -2 (the smallest), 1 (largest column sum of absolute values), inf (row sum), -1 and -inf
    (smallest sums).
    """
    x = _inexact(_matrices_of("matrix_norm", x))
    if ord is None or ord == "fro":
        return _linalg.euclidean_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        pick: Any = {"nuc": _fz.sum, 2: _largest, -2: _fz.min}[ord]
        out = pick(svdvals(x), axis=-1)
        return out[..., None, None] if keepdims else out
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(
            f"[matrix_norm] ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {ord!r}."
        )
    across = -2 if abs(ord) == 1 else -1
    sums = _fz.sum(_fz.abs(x), axis=across, keepdims=True)
    extreme: Any = _largest if ord > 0 else _fz.min
    return extreme(sums, axis=(-2, -1), keepdims=keepdims)


@_public
def norm(
    x: Operand,
    /,
    ord: float | str | None = None,
    axis: Axis = None,
    keepdims: bool = False,
) -> Tensor:
    """NumPy's norm: of a vector along one axis, of matrices in two.

    Without an axis, of a vector or matrix; without `ord` either, of all elements as one vector.
    """
    x = _inexact(x)
    if axis is None:
        if ord is None:
            return _linalg.euclidean_norm(x, keepdims=keepdims)
        if x.ndim not in (1, 2):
            raise ValueError(f"[norm] needs an axis or one or two axes, got shape {x.shape}.")
        axis = tuple(range(x.ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    if len(axes) == 1:
        order: Any = 2 if ord is None else ord
        return vector_norm(x, axis=axes[0], keepdims=keepdims, ord=order)
    if len(axes) != 2:
        raise ValueError(f"[norm] takes one axis or two, got {len(axes)}.")
    a, b = (_axis(x, i) for i in axes)
    if a == b:
        raise ValueError(f"[norm] the axes must differ, got {axes[0]} and {axes[1]}.")
    out = matrix_norm(_fz.moveaxis(x, (a, b), (-2, -1)), ord=ord)
    return _fz.expand_dims(out, axis=(a, b)) if keepdims else out


@_public
def cond(x: Operand, /, p: float | str | None = None) -> Tensor:
    """norm(x, p) * norm(inv(x), p): how much errors may grow; inf for singular matrices, of which
    a matrix of zeros is one.

    Without p, the largest singular value over the smallest, also of matrices that are not square.
    """
    x = _inexact(_matrices_of("cond", x))
    if 0 in x.shape:
        raise LinAlgError(f"[cond] an empty array has no condition number: shape {x.shape}.")
    if p in (None, 2, -2):
        s = svdvals(x)
        first, last = s[..., 0], s[..., -1]
        ratio = last / first if p == -2 else first / last
        return _fz.where(_fz.equal(first, 0), math.inf, ratio)
    x = _matrices_of("cond", x, square=True)
    try:
        return matrix_norm(x, ord=p) * matrix_norm(inv(x), ord=p)
    except LinAlgError:
        if x.ndim == 2:
            return _fz.full((), math.inf, dtype=_fz.real(x).dtype)
        return _fz.stack([cond(part, p) for part in x])


# Of the approximant of degree 13, and the largest norm it is good for: Higham 2005.
_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0,
    960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
_PADE_NORM = 5.371920351148152


@_public
def expm(x: Operand, /) -> Tensor:
    """The exponential of square matrices, by scaling and squaring; reads how large they are.

    >>> expm(_fz.zeros((2, 2))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    x = _inexact(_matrices_of("expm", x, square=True))
    if x.size == 0:
        return x
    size = _fz.max(_fz.sum(_fz.abs(x.detach()), axis=-2), axis=-1) / _PADE_NORM
    halvings = _fz.ceil(_fz.log2(_fz.where(_fz.isfinite(size), _fz.maximum(size, 1.0), 1.0)))
    rounds = int(_fz.max(halvings).item())
    a = x * _fz.exp2(-halvings)[..., None, None]
    one = _fz.eye(x.shape[-1], dtype=x.dtype)
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    c = _PADE
    odd = a6 @ (c[13] * a6 + c[11] * a4 + c[9] * a2)
    odd = a @ (odd + c[7] * a6 + c[5] * a4 + c[3] * a2 + c[1] * one)
    even = a6 @ (c[12] * a6 + c[10] * a4 + c[8] * a2)
    even = even + c[6] * a6 + c[4] * a4 + c[2] * a2 + c[0] * one
    out = solve(even - odd, even + odd)
    for i in range(rounds):
        squared = out @ out
        out = squared if x.ndim == 2 else _fz.where(halvings[..., None, None] > i, squared, out)
    return out
