"""Matrices and products under NumPy's names: diagonals, triangles, grids of indices, sums of
products."""

from __future__ import annotations

import cmath
import math
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._array_api import tensordot as _tensordot
from frazil._dtypes import result_type as _result_type
from frazil._named import fixed_axis as _axis
from frazil._named import integer as _integer
from frazil._named import public as _public
from frazil._named import tensor as _tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil._frazil import Tensor
    from frazil._types import DTypeLike, Operand

__all__ = [
    "cross",
    "diag",
    "diag_indices",
    "diagflat",
    "diagonal",
    "dot",
    "geomspace",
    "identity",
    "indices",
    "inner",
    "ix_",
    "kron",
    "logspace",
    "matvec",
    "tri",
    "tril_indices",
    "triu_indices",
    "vander",
    "vdot",
    "vecmat",
]


@_public
def diagonal(x: Operand, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonal of two axes, at the end: x[i, i + offset].

    >>> diagonal(_fz.asarray([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    x, k = _tensor(x), _integer("[diagonal] offset", offset)
    if x.ndim < 2:
        raise ValueError(f"[diagonal] needs at least two axes, got shape {x.shape}.")
    a, b = _axis(x, axis1), _axis(x, axis2)
    if a == b:
        raise ValueError(f"[diagonal] the axes must differ, got {axis1} and {axis2}.")
    x = _fz.moveaxis(x, (a, b), (-2, -1))
    rows, columns = x.shape[-2:]
    down, right = max(-k, 0), max(k, 0)
    n = max(min(rows - down, columns - right), 0)
    if n == 0:
        return x[..., :0, 0] if columns else _fz.reshape(x, (*x.shape[:-2], 0))
    # A square of n x n, read with a step of n + 1.
    square = x[..., down : down + n, right : right + n]
    return _fz.reshape(square, (*x.shape[:-2], n * n))[..., :: n + 1]


@_public
def diag(x: Operand, /, k: int = 0) -> Tensor:
    """The diagonal of a matrix, or a matrix with a vector as its diagonal and 0 elsewhere.

    >>> diag(_fz.asarray([1, 2])).tolist()
    [[1, 0], [0, 2]]
    """
    x, k = _tensor(x), _integer("[diag] k", k)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError(f"[diag] needs one axis or two, got shape {x.shape}.")
    n = x.shape[0] + abs(k)
    rows = _fz.arange(n)[:, None]
    inner = _fz.pad(x, ((max(k, 0), max(-k, 0)),))  # what column j holds
    return _fz.where(_fz.arange(n) == rows + k, inner, _fz.zeros((), dtype=x.dtype))


@_public
def diagflat(x: Operand, /, k: int = 0) -> Tensor:
    """A matrix with the elements of x, flattened, as its diagonal."""
    return diag(_fz.flatten(_tensor(x)), k)


@_public
def tri(n: int, m: int | None = None, k: int = 0, *, dtype: DTypeLike | None = None) -> Tensor:
    """n x m ones where column <= row + k, else 0; the default dtype if none is given."""
    m = n if m is None else m
    rows = _fz.arange(_integer("[tri] n", n, 0))[:, None]
    lower = _fz.arange(_integer("[tri] m", m, 0)) <= rows + _integer("[tri] k", k)
    return lower.astype(_fz.runtime.default_dtype() if dtype is None else dtype)


@_public
def identity(n: int, *, dtype: DTypeLike | None = None) -> Tensor:
    """n x n with ones on the diagonal and 0 elsewhere."""
    return _fz.eye(n, dtype=dtype)


def _triangle(name, n, k, m, lower):
    n, k = _integer(f"[{name}] n", n, 0), _integer(f"[{name}] k", k)
    m = n if m is None else _integer(f"[{name}] m", m, 0)
    places = [
        (i, j)
        for i in range(n)
        for j in (range(min(max(i + k + 1, 0), m)) if lower else range(max(i + k, 0), m))
    ]
    return tuple(_fz.asarray([p[axis] for p in places], dtype=_fz.int64) for axis in (0, 1))


@_public
def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """Rows and columns of the elements of an n x m matrix up to its k-th diagonal, int64."""
    return _triangle("tril_indices", n, k, m, True)


@_public
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """Rows and columns of the elements of an n x m matrix from its k-th diagonal on, int64.

    >>> [i.tolist() for i in triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return _triangle("triu_indices", n, k, m, False)


@_public
def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """Positions of the diagonal of an array of n along each of ndim axes."""
    return (_fz.arange(_integer("[diag_indices] n", n, 0)),) * ndim


@_public
def indices(dimensions: Sequence[int], dtype: DTypeLike | None = None) -> Tensor:
    """The positions of an array of these extents: [axes, *dimensions], int64."""
    shape = tuple(_integer("[indices] a dimension", n, 0) for n in dimensions)
    dtype = _fz.int64 if dtype is None else dtype
    if not shape:
        return _fz.zeros((0,), dtype=dtype)
    grids = [
        _fz.broadcast_to(
            _fz.arange(n).reshape((-1 if n else 0,) + (1,) * (len(shape) - 1 - i)), shape
        )
        for i, n in enumerate(shape)
    ]
    return _fz.stack(grids).astype(dtype)


@_public
def ix_(*vectors: Operand) -> tuple[Tensor, ...]:
    """Vectors shaped so that indexing with them takes their product; masks give their positions."""
    out = []
    for i, each in enumerate(vectors):
        v = _tensor(each)
        if v.ndim != 1:
            raise ValueError(f"[ix_] needs vectors, got shape {v.shape}.")
        v = v.astype(_fz.int64) if v.size == 0 else v
        v = _fz.nonzero(v)[0] if v.dtype == _fz.bool else v
        out.append(v.reshape((1,) * i + v.shape + (1,) * (len(vectors) - 1 - i)))
    return tuple(out)


@_public
def dot(x1: Operand, x2: Operand, /) -> Tensor:
    """NumPy's dot: the last axis of x1 with the second last of x2, vectors with their only one;
    numbers multiply. Without batches: leading axes of both follow each other in the result.

    >>> dot(_fz.ones((2, 3)), _fz.ones((4, 3, 5))).shape
    (2, 4, 5)
    """
    a, b = _tensor(x1), _tensor(x2)
    if a.ndim == 0 or b.ndim == 0:
        return _fz.multiply(a, b)
    if a.ndim <= 2 and b.ndim <= 2:
        return _fz.matmul(a, b)
    return _tensordot(a, b, axes=([-1], [-2 if b.ndim > 1 else -1]))


@_public
def inner(x1: Operand, x2: Operand, /) -> Tensor:
    """Sums of products along the last axes; numbers multiply."""
    a, b = _tensor(x1), _tensor(x2)
    if a.ndim == 0 or b.ndim == 0:
        return _fz.multiply(a, b)
    return _tensordot(a, b, axes=([-1], [-1]))


@_public
def vdot(x1: Operand, x2: Operand, /) -> Tensor:
    """The sum of products of conjugates of x1 with x2, both flattened."""
    return _fz.matmul(_fz.conj(_fz.flatten(_tensor(x1))), _fz.flatten(_tensor(x2)))


@_public
def matvec(x1: Operand, x2: Operand, /) -> Tensor:
    """Matrices times vectors, batched: [..., m, n] and [..., n] give [..., m]."""
    return _fz.matmul(_tensor(x1), _tensor(x2)[..., None])[..., 0]


@_public
def vecmat(x1: Operand, x2: Operand, /) -> Tensor:
    """Conjugate vectors times matrices, batched: [..., m] and [..., m, n] give [..., n]."""
    return _fz.matmul(_fz.conj(_tensor(x1))[..., None, :], _tensor(x2))[..., 0, :]


@_public
def kron(x1: Operand, x2: Operand, /) -> Tensor:
    """Kronecker product: blocks of x2, each times an element of x1.

    >>> kron(_fz.asarray([1, 10]), _fz.asarray([1, 2])).tolist()
    [1, 2, 10, 20]
    """
    a, b = _tensor(x1), _tensor(x2)
    rank = max(a.ndim, b.ndim)
    first, second = ((1,) * (rank - x.ndim) + x.shape for x in (a, b))
    left = a.reshape([n for d in first for n in (d, 1)])
    right = b.reshape([n for d in second for n in (1, d)])
    return (left * right).reshape([m * n for m, n in zip(first, second, strict=True)])


@_public
def cross(x1: Operand, x2: Operand, /, *, axis: int = -1) -> Tensor:
    """Cross product of vectors of three elements along an axis; the other axes broadcast.

    >>> cross(_fz.asarray([1, 0, 0]), _fz.asarray([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    a, b = _tensor(x1), _tensor(x2)
    axis = _integer("[cross] axis", axis)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("[cross] needs vectors, got a number.")
    a, b = (_fz.moveaxis(x, _axis(x, axis), -1) for x in (a, b))
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ValueError(
            f"[cross] needs three elements along axis {axis}, got {a.shape[-1]} and {b.shape[-1]}."
        )
    a0, a1, a2 = (a[..., i] for i in range(3))
    b0, b1, b2 = (b[..., i] for i in range(3))
    out = _fz.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1)
    return _fz.moveaxis(out, -1, axis)


@_public
def vander(x: Operand, /, n: int | None = None, *, increasing: bool = False) -> Tensor:
    """Powers of a vector's elements as rows of n columns, the highest first unless increasing.

    >>> vander(_fz.asarray([2, 3]), 3).tolist()
    [[4, 2, 1], [9, 3, 1]]
    """
    x = _tensor(x)
    if x.ndim != 1:
        raise ValueError(f"[vander] needs a vector, got shape {x.shape}.")
    n = x.shape[0] if n is None else _integer("[vander] n", n, 0)
    if x.dtype.kind != "real floating":
        x = x.astype(_result_type(x, _fz.int64))
    ones = _fz.ones((x.shape[0], 1), dtype=x.dtype)
    parts = [ones, _fz.broadcast_to(x[:, None], (x.shape[0], max(n - 1, 0)))]
    powers = _fz.cumprod(_fz.concat(parts, axis=1), axis=1)[:, :n]
    return powers if increasing else _fz.flip(powers, axis=1)


@_public
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    *,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """base**start to base**stop with equal steps of the exponent; computed in float64."""
    line = _fz.linspace(start, stop, num, endpoint=endpoint, dtype=_fz.float64)
    return _fz.pow(base, line).astype(_fz.runtime.default_dtype() if dtype is None else dtype)


@_public
def geomspace(
    start: complex,
    stop: complex,
    num: int = 50,
    *,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """start to stop with equal factors between neighbours, both of one sign; computed in float64.
    Between complex numbers a spiral, by the smaller angle; complex64 if no dtype is given.

    >>> geomspace(1, 1000, 4).tolist()
    [1.0, 10.0, 100.0, 1000.0]
    """
    if isinstance(start, complex) or isinstance(stop, complex):
        if start == 0 or stop == 0:
            raise ValueError(f"[geomspace] needs numbers that are not 0, got {start} and {stop}.")
        line = _fz.linspace(0.0, 1.0, num, endpoint=endpoint, dtype="float64")
        out = complex(start) * _fz.exp(line * cmath.log(stop / start))
        return _with_ends(out, start, stop, endpoint).astype(
            _fz.complex64 if dtype is None else dtype
        )
    if start == 0 or stop == 0 or (start < 0) != (stop < 0):
        raise ValueError(f"[geomspace] needs two numbers of one sign, got {start} and {stop}.")
    sign = -1.0 if start < 0 else 1.0
    line = _fz.linspace(
        math.log10(abs(start)), math.log10(abs(stop)), num, endpoint=endpoint, dtype="float64"
    )
    out = _with_ends(sign * _fz.pow(10.0, line), start, stop, endpoint)
    return out.astype(_fz.runtime.default_dtype() if dtype is None else dtype)


def _with_ends(x, start, stop, endpoint):
    """The ends as they were given."""
    place, num = _fz.arange(x.size), x.size
    x = _fz.where(place == 0, start, x)
    return _fz.where(place == num - 1, stop if num > 1 else start, x) if endpoint else x
