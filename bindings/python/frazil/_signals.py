"""Functions of samples on a line: differences, interpolation, convolution, polynomials.

>>> convolve(_fz.asarray([1, 2]), _fz.asarray([1, 1])).tolist()
[1, 3, 2]
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from frazil import _frazil as _fz
from frazil._dtypes import result_type as _result_type
from frazil._named import fixed_axis as _axis
from frazil._named import inexact as _inexact
from frazil._named import integer as _integer
from frazil._named import is_count as _is_count
from frazil._named import public as _public
from frazil._named import tensor as _tensor

if TYPE_CHECKING:
    from frazil._frazil import Tensor
    from frazil._types import Axis, Operand

__all__ = [
    "convolve",
    "correlate",
    "ediff1d",
    "gradient",
    "interp",
    "polyadd",
    "polyder",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "trapezoid",
    "unwrap",
]


@_public
def ediff1d(
    x: Operand, /, to_end: Operand | None = None, to_begin: Operand | None = None
) -> Tensor:
    """Differences of neighbours of x, flattened, with what is to stand before and behind them."""
    x = _fz.flatten(_tensor(x))
    ends = [
        None if e is None else _fz.flatten(_tensor(e)).astype(x.dtype) for e in (to_begin, to_end)
    ]
    parts = [ends[0], x[1:] - x[:-1], ends[1]]
    return _fz.concat([p for p in parts if p is not None], axis=0)


@_public
def gradient(
    x: Operand, /, *spacing: Operand, axis: Axis = None, edge_order: Literal[1, 2] = 1
) -> Any:
    """Central differences along axes, one-sided at the ends: a tensor for one axis, else a list.

    `spacing` is one number, or for each axis a number or the coordinates of the points. edge_order
    2 takes three points at the ends. Integers give float64, complex numbers complex slopes.
    ValueError for fewer than edge_order + 1 points.

    >>> gradient(_fz.asarray([1.0, 2.0, 4.0])).tolist()
    [1.0, 1.5, 2.0]
    """
    f = _inexact(x)
    if axis is None:
        axes = list(range(f.ndim))
    else:
        axes = [_axis(f, a) for a in ([axis] if _is_count(axis) else axis)]  # type: ignore
    steps = list(spacing) or [1.0]
    if len(steps) == 1 and _tensor(steps[0]).ndim == 0:
        steps *= len(axes)
    if len(steps) != len(axes):
        raise TypeError(f"[gradient] {len(steps)} spacings for {len(axes)} axes.")
    if edge_order not in (1, 2):
        raise ValueError(f"[gradient] edge_order must be 1 or 2, got {edge_order}.")
    out = [_slope(f, a, h, edge_order) for a, h in zip(axes, steps, strict=True)]
    return out[0] if len(out) == 1 else out


def _slope(f, axis, step, edge_order):
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(f"[gradient] needs {edge_order + 1} points along axis {axis}, got {n}.")
    f = _fz.moveaxis(f, axis, -1)
    h = _tensor(step)
    if h.ndim > 1 or (h.ndim == 1 and h.shape[0] != n):
        raise ValueError(f"[gradient] coordinates of shape {h.shape} for {n} points.")
    even = h.ndim == 0
    if not even:
        h = _inexact(h)
        h = h[1:] - h[:-1]
    if even:
        h = step
        inner = (f[..., 2:] - f[..., :-2]) / (2.0 * h)
    else:
        a, b = h[:-1], h[1:]
        inner = -b / (a * (a + b)) * f[..., :-2] + (b - a) / (a * b) * f[..., 1:-1]
        inner = inner + a / (b * (a + b)) * f[..., 2:]
    first, last = (h, h) if even else (h[0], h[-1])
    if edge_order == 1:
        start = (f[..., 1:2] - f[..., :1]) / first
        end = (f[..., -1:] - f[..., -2:-1]) / last
    else:
        second, before = (h, h) if even else (h[1], h[-2])
        start = _edge(f[..., 0:1], f[..., 1:2], f[..., 2:3], first, second)
        end = -_edge(f[..., -1:], f[..., -2:-1], f[..., -3:-2], last, before)
    return _fz.moveaxis(_fz.concat([start, inner, end], axis=-1), -1, axis)


def _edge(f0, f1, f2, h1, h2):
    """The slope at the first of three points, h1 and h2 apart."""
    a = -(2.0 * h1 + h2) / (h1 * (h1 + h2))
    b, c = (h1 + h2) / (h1 * h2), -h1 / (h2 * (h1 + h2))
    return a * f0 + b * f1 + c * f2


@_public
def trapezoid(y: Operand, /, x: Operand | None = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The integral along an axis by the trapezoidal rule: of points at x, or dx apart."""
    y = _tensor(y)
    axis = _axis(y, axis)
    y = _fz.moveaxis(y, axis, -1)
    y = y.astype(_fz.int64) if y.dtype == _fz.bool else y
    if x is not None:
        x = _tensor(x)
        dx = _fz.diff(x if x.ndim == 1 else _fz.moveaxis(x, axis, -1))  # type: ignore
    return _fz.sum(dx * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)


@_public
def interp(
    x: Operand,
    xp: Operand,
    fp: Operand,
    /,
    left: Operand | None = None,
    right: Operand | None = None,
    *,
    period: float | None = None,
) -> Tensor:
    """Values at x of the line through the points (xp, fp), of which xp rises.

    Before the first point it is `left`, behind the last one `right` (their values if not given);
    with a period the points repeat. The common float dtype, float64 for integers, complex with a
    complex fp. Reads the data of x and xp; gradients go to all three. TypeError for complex x, xp.

    >>> interp(2.5, _fz.asarray([1, 2, 3]), _fz.asarray([3, 2, 0])).item()
    1.0
    """
    points = [_tensor(t) for t in (x, xp, fp)]
    for t in points[:2]:
        if t.dtype.kind == "complex floating":
            raise TypeError(f"[interp] x and xp must be real, got {t.dtype.name}.")
    common = _inexact(_fz.empty(0, dtype=_result_type(*points)))
    dtypes = [_fz.real(common).dtype] * 2 + [common.dtype]
    points = [t.astype(dtype) for t, dtype in zip(points, dtypes, strict=True)]
    return _through(points, left, right, period)


def _through(points, left, right, period):
    x, xp, fp = points
    if xp.ndim != 1 or xp.shape != fp.shape or xp.size == 0:
        raise ValueError(
            f"[interp] needs points of one axis, got shapes {xp.shape} and {fp.shape}."
        )
    if period is not None:
        if period == 0:
            raise ValueError("[interp] the period must not be 0.")
        period, left, right = abs(period), None, None
        x, xp = x % period, xp % period
        order = _fz.argsort(xp)
        xp, fp = _fz.take(xp, order, axis=0), _fz.take(fp, order, axis=0)
        xp = _fz.concat([xp[-1:] - period, xp, xp[:1] + period])
        fp = _fz.concat([fp[-1:], fp, fp[:1]])
    n = xp.shape[0]
    at = _fz.searchsorted(_fz.detach(xp), _fz.detach(x), side="right") - 1
    below = _fz.clip(at, 0, max(n - 2, 0))
    x0, y0 = _fz.take(xp, below, axis=0), _fz.take(fp, below, axis=0)
    above = _fz.minimum(below + 1, n - 1)
    x1, y1 = _fz.take(xp, above, axis=0), _fz.take(fp, above, axis=0)
    width = _fz.where(x1 > x0, x1 - x0, 1.0).astype(x.dtype)
    inside = _fz.clip(x, xp[0], xp[-1])
    out = (y1 - y0) / width * (inside - x0) + y0
    out = _fz.where(x >= xp[-1], fp[-1], out)
    out = _fz.where(x < xp[0], fp[0] if left is None else left, out)
    out = _fz.where(x > xp[-1], fp[-1] if right is None else right, out)
    return _fz.where(_fz.isnan(x), x, out).astype(fp.dtype)


def _two(name, a, v):
    a, v = _tensor(a), _tensor(v)
    if a.ndim > 1 or v.ndim > 1:
        raise ValueError(f"[{name}] needs vectors, got shapes {a.shape} and {v.shape}.")
    if a.size == 0 or v.size == 0:
        raise ValueError(f"[{name}] needs elements, got shapes {a.shape} and {v.shape}.")
    dtype = _result_type(a, v)
    return _fz.flatten(a).astype(dtype), _fz.flatten(v).astype(dtype)


def _slide(name, a, v, mode):
    """Sums of products of v with the part of a that it covers, at every shift that mode keeps."""
    long, short = a.shape[0], v.shape[0]
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"[{name}] mode must be 'full', 'same' or 'valid', got {mode!r}.")
    left = {"full": short - 1, "same": short // 2, "valid": 0}[mode]
    right = {"full": short - 1, "same": short - 1 - short // 2, "valid": 0}[mode]
    padded = _fz.pad(a, ((left, right),))
    n = long + left + right - short + 1
    windows = _fz.arange(n)[:, None] + _fz.arange(short)
    if a.dtype == _fz.bool:
        return _fz.any(_fz.take(padded, windows, axis=0) & v, axis=1)
    if short <= 16:  # short ones as sums of shifted arrays: one kernel
        out = padded[:n] * v[0]
        for i in range(1, short):
            out = out + padded[i : i + n] * v[i]
        return out
    return _fz.matmul(_fz.take(padded, windows, axis=0), v)


@_public
def convolve(a: Operand, v: Operand, /, mode: Literal["full", "same", "valid"] = "full") -> Tensor:
    """Convolution of two vectors: sums of a[i] * v[n - i].

    "full" at every shift where they overlap, "same" as many as the longer one has, "valid" where
    the shorter one lies within the longer. ValueError for empty arrays and more axes.
    """
    first, second = _two("convolve", a, v)
    if second.shape[0] > first.shape[0]:
        first, second = second, first
    return _slide("convolve", first, _fz.flip(second), mode)


@_public
def correlate(
    a: Operand, v: Operand, /, mode: Literal["full", "same", "valid"] = "valid"
) -> Tensor:
    """Cross-correlation of two vectors: sums of a[i + k] * conj(v[i]) by convolve's modes."""
    first, second = _two("correlate", a, v)
    if second.shape[0] > first.shape[0]:
        return _fz.flip(_fz.conj(_slide("correlate", second, _fz.conj(first), mode)))
    return _slide("correlate", first, _fz.conj(second), mode)


@_public
def unwrap(
    p: Operand, /, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Tensor:
    """Angles without jumps of more than half a period (or discont), by whole periods."""
    p = _tensor(p)
    axis = _axis(p, axis)
    p = _fz.moveaxis(p, axis, -1)
    d = p[..., 1:] - p[..., :-1]
    discont = period / 2 if discont is None else discont
    whole = isinstance(period, int) and p.dtype.kind != "real floating"
    low = -(period // 2) if whole else -period / 2
    edge = not whole or period % 2 == 0
    wrapped = (d - low) % period + low
    if edge:
        wrapped = _fz.where((wrapped == low) & (d > 0), -low, wrapped)
    correction = _fz.where(_fz.abs(d) < discont, 0, wrapped - d)
    out = _fz.concat([p[..., :1], p[..., 1:] + _fz.cumsum(correction, axis=-1)], axis=-1)
    return _fz.moveaxis(out, -1, axis)


@_public
def polyfit(x: Operand, y: Operand, deg: int, *, w: Operand | None = None) -> Tensor:
    """Coefficients, the highest power first, of the polynomial nearest to points by least squares.

    Parameters
    ----------
    x : vector of n numbers
    y : vector of n numbers, or matrix of n rows: a polynomial for each column
    deg : int
        The degree, at least 0.
    w : vector of n weights, optional
        Of the residuals, not of their squares.

    >>> [round(c, 4) for c in polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 7.0], 2).tolist()]
    [1.0, 1.0, 1.0]
    """
    from frazil import linalg  # noqa: PLC0415 -- loaded at first use

    x, y = _inexact(x), _inexact(y)
    deg = _integer("[polyfit] deg", deg)
    if deg < 0:
        raise ValueError(f"[polyfit] deg must be at least 0, got {deg}.")
    if x.ndim != 1 or y.ndim not in (1, 2) or x.shape[0] != y.shape[0] or not x.size:
        raise TypeError(
            f"[polyfit] needs as many points as values, got shapes {x.shape} and {y.shape}."
        )
    powers = _fz.stack([x**k for k in range(deg, -1, -1)], axis=1)
    if w is not None:
        weights = _inexact(w)
        if weights.shape != x.shape:
            raise TypeError(f"[polyfit] w needs shape {x.shape}, got {weights.shape}.")
        powers = powers * weights[:, None]
        y = y * (weights if y.ndim == 1 else weights[:, None])
    size = _fz.sqrt(_fz.sum(_fz.real(powers * _fz.conj(powers)), axis=0))
    scale = _fz.where(_fz.equal(size, 0), 1, size)
    found = linalg.lstsq(powers / scale, y)[0]
    return found / (scale if y.ndim == 1 else scale[:, None])


@_public
def polyval(p: Operand, x: Operand, /) -> Tensor:
    """The polynomial with coefficients p, the highest power first, at x, by Horner's rule.

    >>> polyval([3, 0, 1], 5).item()
    76
    """
    p, x = _fz.asarray(p), _tensor(x)
    if p.ndim != 1:
        raise ValueError(f"[polyval] needs coefficients of one axis, got shape {p.shape}.")
    y = _fz.zeros(x.shape, dtype=_result_type(p, x))
    for i in range(p.shape[0]):
        y = y * x + p[i]
    return y


def _coefficients(p: Any) -> Tensor:
    p = _fz.asarray(p)
    return p.reshape((1,)) if p.ndim == 0 else p


def _sum_of(a, b, sign):
    a, b = _coefficients(a), _coefficients(b)
    n = max(a.shape[0], b.shape[0])
    a, b = (_fz.pad(p, ((n - p.shape[0], 0),)) for p in (a, b))
    return a + b if sign > 0 else a - b


@_public
def polyadd(a: Operand, b: Operand, /) -> Tensor:
    """The sum of two polynomials, the highest power first."""
    return _sum_of(a, b, 1)


@_public
def polysub(a: Operand, b: Operand, /) -> Tensor:
    """The difference of two polynomials, the highest power first."""
    return _sum_of(a, b, -1)


@_public
def polymul(a: Operand, b: Operand, /) -> Tensor:
    """The product of two polynomials, the highest power first."""
    return convolve(_coefficients(a), _coefficients(b))


@_public
def polyder(p: Operand, /, m: int = 1) -> Tensor:
    """The m-th derivative of a polynomial, the highest power first."""
    p = _coefficients(p)
    for _ in range(_integer("[polyder] m", m, 0)):
        n = p.shape[0] - 1
        p = p[:-1] * _fz.arange(n, 0, -1).astype(_result_type(p, _fz.int64) if n else p.dtype)
    return p


@_public
def polyint(p: Operand, /, m: int = 1, k: float = 0.0) -> Tensor:
    """The m-th integral of a polynomial, the highest power first, each time with the constant k."""
    p = _inexact(_coefficients(p))
    for _ in range(_integer("[polyint] m", m, 0)):
        over = p / _fz.arange(p.shape[0], 0, -1).astype(p.dtype)
        p = _fz.concat([over, _fz.full((1,), k, dtype=p.dtype)])
    return p
