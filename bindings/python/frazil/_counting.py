"""Statistics of samples under NumPy's names: counts in bins, weighted means, covariances.

>>> average(_fz.asarray([1.0, 4.0]), weights=_fz.asarray([2.0, 1.0])).item()
2.0
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from frazil import _frazil as _fz
from frazil._dtypes import finfo as _finfo
from frazil._dtypes import result_type as _result_type
from frazil._frazil import Tensor
from frazil._named import fixed_axis as _axis
from frazil._named import inexact as _inexact
from frazil._named import integer as _integer
from frazil._named import is_count as _is_count
from frazil._named import public as _public
from frazil._named import tensor as _tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil._types import Axis, Operand

__all__ = [
    "average",
    "corrcoef",
    "cov",
    "digitize",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
]


@_public
def average(
    x: Operand,
    /,
    axis: Axis = None,
    weights: Operand | None = None,
    *,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """The mean over axes, weighted if weights are given: of x's shape, or of the axes' extents.

    Integers give float64, complex numbers complex ones. With `returned` a pair: the average and the
    sums of weights. TypeError or ValueError for weights of another shape. Weights that sum to 0
    give NaN.
    """
    x = _tensor(x)
    if weights is None:
        mean = _fz.mean(x, axis=axis, keepdims=keepdims)
        count = x.size / mean.size if mean.size else 0.0
        return (mean, _fz.full(mean.shape, count, dtype=mean.dtype)) if returned else mean
    w = _tensor(weights)
    if w.shape != x.shape:
        if axis is None:
            raise TypeError(f"[average] weights of shape {w.shape} for {x.shape} need an axis.")
        axes = [_axis(x, a) for a in _list(axis)]
        if w.shape != tuple(x.shape[a] for a in axes):
            raise ValueError(
                f"[average] weights of shape {w.shape} do not fit axes {axes} of {x.shape}."
            )
        w = _fz.permute_dims(w, sorted(range(w.ndim), key=lambda i: axes[i]))
        w = w.reshape([n if a in axes else 1 for a, n in enumerate(x.shape)])
    dtype = _result_type(x, w)
    if dtype.kind not in ("real floating", "complex floating"):
        dtype = _fz.float64
    x, w = x.astype(dtype), _fz.broadcast_to(w.astype(dtype), x.shape)
    total = _fz.sum(w, axis=axis, keepdims=keepdims)
    mean = _fz.sum(x * w, axis=axis, keepdims=keepdims) / total
    return (mean, total) if returned else mean


def _list(axis):
    return [axis] if _is_count(axis) else axis


@_public
def cov(
    x: Operand,
    y: Operand | None = None,
    /,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    *,
    fweights: Operand | None = None,
    aweights: Operand | None = None,
) -> Tensor:
    """Covariances of variables, which are rows (columns if not rowvar), a vector being one of them.

    y has further variables. Divided by n - 1, by n with bias, or by n - ddof; fweights count how
    often an observation occurs, aweights weigh it. Of complex variables the second one's conjugate
    is taken. Integers give float64; one variable a number. ValueError for more than two axes.
    """
    m = _variables("cov", x, rowvar)
    if y is not None:
        m = _fz.concat([m, _variables("cov", y, rowvar)], axis=0)
    m = _inexact(m)
    n = m.shape[1]
    less = (0 if bias else 1) if ddof is None else _integer("[cov] ddof", ddof)
    weights = None
    for each in (fweights, aweights):
        if each is not None:
            w = _tensor(each)
            if w.shape != (n,):
                raise ValueError(f"[cov] weights of shape {w.shape} for {n} observations.")
            weights = w.astype(_fz.real(m).dtype) if weights is None else weights * w
    if weights is None:
        centred = other = m - _fz.mean(m, axis=1, keepdims=True)
        factor: Any = float(n - less) if n > less else math.nan
    else:
        total = _fz.sum(weights)
        centred = m - _fz.sum(m * weights, axis=1, keepdims=True) / total
        extra = total if aweights is None else _fz.sum(weights * aweights) / total
        factor = total - less * (1.0 if aweights is None else extra)
        other = centred * weights
    return _fz.squeeze((centred @ _fz.conj(other).T) / factor)


def _variables(name, x, rowvar):
    x = _tensor(x)
    if x.ndim > 2:
        raise ValueError(f"[{name}] needs at most two axes, got shape {x.shape}.")
    x = x.reshape((1, -1 if x.size else 0)) if x.ndim < 2 else x
    return x if rowvar or x.shape[0] == 1 else x.T


@_public
def corrcoef(x: Operand, y: Operand | None = None, /, rowvar: bool = True) -> Tensor:
    """Correlation coefficients of variables, as cov takes them, from -1 to 1,
    real and imaginary parts alike."""
    c = cov(x, y, rowvar)
    if c.ndim == 0:
        return c / c
    deviation = _fz.sqrt(_fz.real(_fz.diagonal(c)))
    c = c / deviation[:, None] / deviation
    if c.dtype.kind == "real floating":
        return _fz.clip(c, -1, 1)
    return _fz.complex(_fz.clip(_fz.real(c), -1, 1), _fz.clip(_fz.imag(c), -1, 1))


def _weights(name, x, weights):
    if weights is None:
        return None
    w = _tensor(weights)
    if w.shape != x.shape:
        raise ValueError(f"[{name}] weights have shape {w.shape}, not {x.shape}.")
    return w if w.dtype.kind == "real floating" else w.astype(_fz.float64)


def _tally(places, n, weights):
    """Sums of weights (None: ones) by place, of n; in ascending order of elements."""
    updates = _fz.ones(places.shape, dtype=_fz.int64) if weights is None else weights
    return _fz.index_add(_fz.zeros(n, dtype=updates.dtype), places, updates)


@_public
def digitize(x: Operand, bins: Operand, /, right: bool = False) -> Tensor:
    """The bin of each element: i where bins[i-1] <= x < bins[i], or bins[i-1] < x <= bins[i] if
    right; of falling bins likewise. int64. Reads the data. ValueError for bins out of order."""
    x, edges = _tensor(x), _tensor(bins)
    if edges.ndim != 1:
        raise ValueError(f"[digitize] bins must be a vector, got shape {edges.shape}.")
    rises = _fz.all(edges[1:] >= edges[:-1])
    side: Literal["left", "right"] = "left" if right else "right"
    if rises:
        return _fz.searchsorted(edges, x, side=side)
    if not _fz.all(edges[1:] <= edges[:-1]):
        raise ValueError("[digitize] bins must rise or fall all the way.")
    return edges.shape[0] - _fz.searchsorted(_fz.flip(edges), x, side=side)


@_public
def histogram_bin_edges(
    x: Operand, /, bins: int | Operand = 10, range: tuple[float, float] | None = None
) -> Tensor:
    """The edges of bins: as many equal ones as `bins` says between the extremes or over `range`,
    or an array of them. Reads the extremes."""
    x = _fz.flatten(_tensor(x))
    if isinstance(bins, str):
        raise ValueError(f"[histogram] bins must be a number or edges, got '{bins}'.")
    if not _is_count(bins):
        edges = _tensor(bins)
        if edges.ndim != 1:
            raise ValueError(f"[histogram] edges must be a vector, got shape {edges.shape}.")
        if _fz.any(edges[1:] < edges[:-1]):
            raise ValueError("[histogram] edges must rise.")
        return edges
    n = _integer("[histogram] bins", bins, 1)
    if range is not None:
        low, high = (float(v) for v in range)
        if not low <= high:
            raise ValueError(f"[histogram] the range must rise, got {low} to {high}.")
    elif x.size == 0:
        low, high = 0.0, 1.0
    else:
        low, high = (float(v) for v in _fz.stack([_fz.min(x), _fz.max(x)]).tolist())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"[histogram] the range must be finite, got {low} to {high}.")
    if low == high:
        low, high = low - 0.5, high + 0.5
    dtype = x.dtype if x.dtype.kind == "real floating" else _fz.float64
    apart = math.ulp(max(abs(low), abs(high))) * (_finfo(dtype).eps / 2.0**-52)
    if (high - low) / n < apart:
        raise ValueError(
            f"[histogram] {n} bins from {low} to {high} are too narrow for {dtype.name}, whose "
            f"numbers are {apart} apart there."
        )
    return _fz.linspace(low, high, n + 1, dtype=dtype)


@_public
def histogram(
    x: Operand,
    /,
    bins: int | Operand = 10,
    range: tuple[float, float] | None = None,
    density: bool | None = None,
    weights: Operand | None = None,
) -> tuple[Tensor, Tensor]:
    """How many elements lie in each bin, int64 (or sums of weights), and the edges of the bins.

    A bin holds its left edge, the last one its right one, too. Density divides by the width and the
    total. Reads the data.

    >>> histogram(_fz.asarray([1.0, 2.0, 1.0]), [0, 1, 2, 3])[0].tolist()
    [0, 2, 1]
    """
    x = _tensor(x)
    edges = histogram_bin_edges(x, bins, range)
    w = None if weights is None else _fz.flatten(_weights("histogram", x, weights))
    equal = _is_count(bins) and w is None and edges.dtype in (_fz.float32, _fz.float64)
    if equal and _result_type(x, edges) == edges.dtype:
        counts = _fz.runtime.count_in_bins(x.astype(edges.dtype), edges)
    else:
        counts = _binned([_fz.flatten(x)], [edges], w)
    if density:
        widths = (edges[1:] - edges[:-1]).astype(_fz.float64)
        counts = counts / widths / _fz.sum(counts)
    return counts, edges


@_public
def histogram2d(
    x: Operand,
    y: Operand,
    /,
    bins: Any = 10,
    range: Sequence[tuple[float, float] | None] | None = None,
    density: bool | None = None,
    weights: Operand | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """How many points lie in each cell of a grid, float64, and the edges along both axes.

    `bins` is one number or array of edges for both, or a pair of them. Reads the data.
    """
    points = [_fz.flatten(_tensor(x)), _fz.flatten(_tensor(y))]
    if points[0].shape != points[1].shape:
        raise ValueError(
            f"[histogram2d] x and y have {points[0].size} and {points[1].size} elements."
        )
    both = list(bins) if isinstance(bins, (list, tuple)) and len(bins) == 2 else [bins, bins]
    ranges = range if range is not None else (None, None)
    edges = [histogram_bin_edges(p, b, r) for p, b, r in zip(points, both, ranges, strict=True)]
    w = None if weights is None else _fz.flatten(_tensor(weights))
    counts = _binned(points, edges, w).astype(_fz.float64)
    if density:
        a, b = (e[1:] - e[:-1] for e in edges)
        counts = counts / (a[:, None] * b) / _fz.sum(counts)
    return counts, edges[0], edges[1]


def _binned(points, edges, weights):
    """Counts in a grid of bins; what lies outside goes to one place more, which is cut off."""
    place, inside, shape = 0, True, []
    for x, e in zip(points, edges, strict=True):
        n = e.shape[0] - 1
        at = _fz.searchsorted(e, x, side="right") - 1
        at = _fz.where(x == e[-1], n - 1, at)
        inside = inside & (at >= 0) & (at < n)
        place, shape = place * n + at, [*shape, n]
    size = math.prod(shape)
    counts = _tally(_fz.where(inside, place, size), size + 1, weights)
    return counts[:size].reshape(shape)
