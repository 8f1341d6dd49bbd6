"""Iterative solvers, written as programs: under fz.trace each is one loop of a plan. Called through
frazil.sparse. A matrix is anything that @ takes, dense or sparse, or a function of a vector.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._named import integer as _integer
from frazil._named import public as _public
from frazil._named import tensor as _tensor

if TYPE_CHECKING:
    from frazil._types import Operand

__all__ = ["cg", "gmres", "lobpcg"]


def _operator(name: str, a: Any, n: int) -> Callable[[Tensor], Tensor]:
    if a is None:
        return lambda x: x
    if callable(a) and not hasattr(a, "shape"):
        return a  # type: ignore[no-any-return]
    if tuple(a.shape) != (n, n):
        raise ValueError(f"[{name}] b has {n} elements, but the matrix has shape {tuple(a.shape)}.")
    return lambda x: a @ x


def _start(name: str, a: Any, b: Operand, x0: Operand | None) -> tuple[Tensor, Tensor]:
    b = _tensor(b)
    if b.ndim != 1:
        raise ValueError(f"[{name}] b must be a vector, got shape {b.shape}.")
    dtype = b.dtype if x0 is None else _tensor(x0).dtype
    if hasattr(a, "dtype"):
        dtype = _fz.runtime.promote(dtype, a.dtype)
    if dtype.kind not in ("real floating", "complex floating"):
        dtype = _fz.float64
    b = b.astype(dtype)
    if x0 is None:
        return b, _fz.zeros(b.shape, dtype, device=b.device)
    x = _tensor(x0).astype(dtype)
    if x.shape != b.shape:
        raise ValueError(f"[{name}] x0 has shape {x.shape} and b {b.shape}.")
    return b, x


def _dot(x: Tensor, y: Tensor) -> Tensor:
    return _fz.sum(_fz.conj(x) * y)


def _square(x: Tensor) -> Tensor:
    """The squared norm, real."""
    return _fz.sum(_fz.real(x) ** 2 + _fz.imag(x) ** 2) if _complex(x) else _fz.sum(x * x)


def _complex(x: Tensor) -> bool:
    return x.dtype.kind == "complex floating"


def _info(square: Tensor, stop: Tensor, steps: Tensor) -> int:
    if bool(square <= stop):
        return 0
    return int(steps) if bool(_fz.isfinite(square)) else -1


def _limits(
    name: str, b: Tensor, rtol: float, atol: float, maxiter: int | None
) -> tuple[Tensor, int]:
    """The squared norm at which a residual is small enough, and how many steps there may be."""
    if maxiter is not None and maxiter < 0:
        raise ValueError(f"[{name}] maxiter must be at least 0, got {maxiter}.")
    stop = _fz.maximum(rtol**2 * _square(b), atol**2)
    return stop, 10 * b.shape[0] if maxiter is None else maxiter


@_public
def cg(
    A: Any,  # noqa: N803
    b: Operand,
    x0: Operand | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,  # noqa: N803
) -> tuple[Tensor, int]:
    """Solves A x = b for a Hermitian positive definite A by conjugate gradients.

    Hestenes and Stiefel, "Methods of conjugate gradients for solving linear systems", 1952.

    Parameters
    ----------
    A : matrix of shape (n, n), dense or sparse, or function of a vector
    b : vector
    x0 : vector, optional
        Where to begin; zeros if not given.
    rtol, atol : float
        It ends where the norm of b - A x is at most max(rtol * norm(b), atol).
    maxiter : int, optional
        At most so many steps, 10 n if not given.
    M : like A, optional
        Approximates the inverse of A.

    Returns
    -------
    x : vector
    info : int
        0, the number of steps if they did not suffice, or -1 if a NaN or infinity came up.

    >>> import frazil as fz
    >>> x, info = cg(fz.asarray([[4.0, 1.0], [1.0, 3.0]]), [1.0, 2.0])
    >>> [round(v, 4) for v in x.tolist()], info
    ([0.0909, 0.6364], 0)
    """
    b, x = _start("cg", A, b, x0)
    n = b.shape[0]
    apply, precondition = _operator("cg", A, n), _operator("cg", M, n)
    stop, most = _limits("cg", b, rtol, atol, maxiter)
    r = b - apply(x)
    p = z = precondition(r)
    rz, square = _dot(r, z), _square(r)
    steps = _fz.zeros((), "int64")
    while _fz.logical_and(square > stop, steps < most):
        ap = apply(p)
        alpha = rz / _dot(p, ap)
        x = x + alpha * p
        r = r - alpha * ap
        z = precondition(r)
        before, rz, square = rz, _dot(r, z), _square(r)
        p = z + rz / before * p
        steps = steps + 1
    return x, _info(square, stop, steps)


@_public
def gmres(
    A: Any,  # noqa: N803
    b: Operand,
    x0: Operand | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,  # noqa: N803
) -> tuple[Tensor, int]:
    """Solves A x = b for any regular A by restarted generalized minimal residuals.

    Saad and Schultz, "GMRES: a generalized minimal residual algorithm for solving nonsymmetric
    linear systems", 1986; Arnoldi's process with modified Gram-Schmidt and Givens rotations.

    Parameters
    ----------
    A : matrix of shape (n, n), dense or sparse, or function of a vector
    b, x0, rtol, atol, M : see cg
    restart : int, optional
        Vectors of a cycle, at most n; 20 if not given.
    maxiter : int, optional
        At most so many cycles, 10 n if not given.

    Returns
    -------
    x : vector
    info : int
        0, the number of cycles if they did not suffice, or -1 if a NaN or infinity came up.

    >>> import frazil as fz
    >>> x, info = gmres(fz.asarray([[0.0, 2.0], [1.0, 1.0]]), [2.0, 3.0])
    >>> [round(v, 4) for v in x.tolist()], info
    ([2.0, 1.0], 0)
    """
    b, x = _start("gmres", A, b, x0)
    n = b.shape[0]
    apply, precondition = _operator("gmres", A, n), _operator("gmres", M, n)
    stop, most = _limits("gmres", b, rtol, atol, maxiter)
    if restart is not None and restart < 1:
        raise ValueError(f"[gmres] restart must be at least 1, got {restart}.")
    size = min(20 if restart is None else restart, n)
    r = b - apply(x)
    square = _square(r)
    steps = _fz.zeros((), "int64")
    while _fz.logical_and(square > stop, steps < most):
        x = x + _cycle(lambda v: precondition(apply(v)), precondition(r), size)
        r = b - apply(x)
        square = _square(r)
        steps = steps + 1
    return x, _info(square, stop, steps)


def _over(x: Tensor, norm: Tensor) -> Tensor:
    """x / norm, and 0 where the norm is 0: the space is exhausted."""
    none = _fz.equal(norm, 0)
    return _fz.where(none, 0, x / _fz.where(none, 1, norm))


def _cycle(apply: Callable[[Tensor], Tensor], r: Tensor, size: int) -> Tensor:
    """The combination of r, A r, ..., A^(size - 1) r that is nearest to A^-1 r."""
    beta = _fz.sqrt(_square(r))
    basis = [_over(r, beta)]
    columns: list[list[Tensor]] = []  # of the triangle
    turns: list[tuple[Tensor, Tensor]] = []
    right = [beta.astype(r.dtype)]
    for _ in range(size):
        w = apply(basis[-1])
        column = []
        for v in basis:
            column.append(_dot(v, w))
            w = w - column[-1] * v
        below = _fz.sqrt(_square(w))
        basis.append(_over(w, below))
        for i, (c, s) in enumerate(turns):
            high, low = column[i], column[i + 1]
            column[i] = c * high + s * low
            column[i + 1] = c * low - _fz.conj(s) * high
        top = column[-1]
        length = _fz.sqrt(_square(top) + below * below)
        c, s = _turn(top, below, length)
        turns.append((c, s))
        column[-1] = c * top + s * below
        last = right[-1]
        right[-1] = c * last
        right.append(-_fz.conj(s) * last)
        columns.append(column)
    y: list[Tensor] = []  # from the last on
    for j in range(size - 1, -1, -1):
        rest = right[j]
        for k, value in enumerate(y):
            rest = rest - columns[size - 1 - k][j] * value
        y.append(_over(rest, columns[j][j]))
    x = y[-1] * basis[0]
    for j in range(1, size):
        x = x + y[size - 1 - j] * basis[j]
    return x


def _turn(top: Tensor, below: Tensor, length: Tensor) -> tuple[Tensor, Tensor]:
    """c, real, and s of the Givens rotation that makes (top, below) (value, 0)."""
    size = _fz.sqrt(_square(top))
    flat = _fz.equal(size, 0)
    c = _fz.where(flat, 0, _over(size, length))
    unit = _fz.where(flat, 1, top / _fz.where(flat, 1, size).astype(top.dtype))
    return c, unit * _over(below, length)


@_public
def lobpcg(
    A: Any,  # noqa: N803
    X: Operand,  # noqa: N803
    *,
    M: Any = None,  # noqa: N803
    tol: float | None = None,
    maxiter: int = 20,
    largest: bool = True,
) -> tuple[Tensor, Tensor]:
    """The largest or smallest eigenvalues of a Hermitian A and their vectors.

    Knyazev, "Toward the optimal preconditioned eigensolver: locally optimal block preconditioned
    conjugate gradient method", 2001.

    Parameters
    ----------
    A : matrix of shape (n, n), dense or sparse, or function of a matrix (n, k)
    X : matrix of shape (n, k)
        Where to begin, of independent columns; 5 k < n.
    M : like A, optional
        Approximates the inverse of A.
    tol : float, optional
        It ends where no residual's norm is above; sqrt(eps) * n if not given.
    maxiter : int
        With 0 they are the best that the columns of X hold.
    largest : bool

    Returns
    -------
    w : vector of k eigenvalues, the largest (or smallest) first
    V : matrix of shape (n, k), a column for each
    """
    from frazil import linalg  # noqa: PLC0415 -- loaded at first use

    x = _tensor(X)
    if x.ndim != 2 or 5 * x.shape[1] >= x.shape[0]:
        raise ValueError(f"[lobpcg] X must have shape (n, k) with 5 k < n, got {x.shape}.")
    n, k = x.shape
    maxiter = _integer("[lobpcg] maxiter", maxiter, 0)
    if x.dtype.kind not in ("real floating", "complex floating"):
        x = x.astype(_fz.float64)
    apply, precondition = _operator("lobpcg", A, n), _operator("lobpcg", M, n)
    eps = 1.1920928955078125e-07 if x.dtype.name in ("float32", "complex64") else 2.0**-52
    limit = eps**0.5 * n if tol is None else tol

    def best(space: Tensor) -> tuple[Tensor, Tensor]:
        q = linalg.qr(space).Q
        w, z = linalg.eigh(_fz.conj(q).T @ apply(q))
        w, z = (_fz.flip(w[-k:]), _fz.flip(z[:, -k:], axis=1)) if largest else (w[:k], z[:, :k])
        return w, q @ z

    w, x = best(x)
    moved = _fz.zeros(x.shape, x.dtype)
    residual = apply(x) - x * w
    steps = _fz.zeros((), "int64")
    while _fz.logical_and(_fz.max(_columns(residual)) > limit, steps < maxiter):
        before = x
        # What is in x already would make the columns of the space dependent.
        parts = []
        for part in (precondition(residual), moved):
            rest = part - x @ (_fz.conj(x).T @ part)
            norm = _columns(rest)
            parts.append(rest / _fz.where(_fz.equal(norm, 0), 1, norm))
        w, x = best(_fz.concat([x, *parts], axis=1))
        moved = x - before @ (_fz.conj(before).T @ x)
        residual = apply(x) - x * w
        steps = steps + 1
    return w, x


def _columns(x: Tensor) -> Tensor:
    """The norm of each column."""
    size = _fz.abs(x)
    return _fz.sqrt(_fz.sum(size * size, axis=0))
