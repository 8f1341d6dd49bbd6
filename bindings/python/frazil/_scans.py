"""Cumulative sums and products, and functions of sets. Those of sets read their data.

>>> cumulative_sum(_fz.asarray([1, 2, 3])).tolist()
[1, 3, 6]
>>> unique_values(_fz.asarray([3, 1, 3])).tolist()
[1, 3]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from frazil import _frazil as _fz
from frazil._dtypes import result_type as _result_type
from frazil._frazil import Tensor
from frazil._named import fixed_axis as _axis
from frazil._named import flag as _flag
from frazil._named import public as _public
from frazil._named import tensor as _tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil._types import DTypeLike, Operand

__all__ = [
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "isin",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]

_BLOCK = 64


def _rounds(x, op):
    """Every element of the last axis with all before it: in round d, x[i] = x[i - d] op x[i]."""
    n, d = x.shape[-1], 1
    while d < n:
        x = _fz.concat([x[..., :d], op(x[..., :-d], x[..., d:])], axis=-1)
        d *= 2
    return x


def _scan(x, op, identity):
    """The same for long axes: in blocks, each of which then takes the total of those before it."""
    n = x.shape[-1]
    if n <= _BLOCK:
        return _rounds(x, op)
    blocks = -(-n // _BLOCK)
    widths = [(0, 0)] * (x.ndim - 1)
    padded = _fz.pad(x, [*widths, (0, blocks * _BLOCK - n)], constant_values=identity)
    rows = _rounds(padded.reshape((*x.shape[:-1], blocks, _BLOCK)), op)
    totals = _scan(rows[..., -1], op, identity)
    before = _fz.pad(totals[..., :-1], [*widths, (1, 0)], constant_values=identity)
    return op(before[..., None], rows).reshape((*x.shape[:-1], -1))[..., :n]


def _cumulative(x, axis, dtype, include_initial, op, identity):
    x, include_initial = _tensor(x), _flag("[scan] include_initial", include_initial)
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"[scan] needs an axis for {x.ndim} axes: shape {x.shape}.")
        x, axis = _fz.flatten(x), 0
    axis = _axis(x, axis)
    if dtype is not None:
        x = x.astype(dtype)
    elif x.dtype.kind != "real floating":
        x = x.astype(_fz.uint64 if x.dtype.kind == "unsigned integer" else _fz.int64)
    narrow = x.dtype if x.dtype in (_fz.float16, _fz.bfloat16) else None
    rows = _fz.moveaxis(x.astype(_fz.float32) if narrow else x, axis, -1)
    # -0.0 is what a sum of floats leaves as it is.
    start = -0.0 if identity == 0 and rows.dtype.kind == "real floating" else identity
    out = _scan(rows, op, start)
    if include_initial:
        widths = [(0, 0)] * (out.ndim - 1)
        out = _fz.pad(out, [*widths, (1, 0)], constant_values=identity)
    out = _fz.moveaxis(out, -1, axis)
    return out.astype(narrow) if narrow else out


@_public
def cumulative_sum(
    x: Operand,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Sums of the elements up to each one along an axis; integers are summed in 64 bits."""
    return _cumulative(x, axis, dtype, include_initial, _fz.add, 0)


@_public
def cumulative_prod(
    x: Operand,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Products of the elements up to each one along an axis; integers in 64 bits."""
    return _cumulative(x, axis, dtype, include_initial, _fz.multiply, 1)


@_public
def cumsum(x: Operand, /, axis: int | None = None, *, dtype: DTypeLike | None = None) -> Tensor:
    """cumulative_sum under NumPy's name: without an axis, of x flattened."""
    x = _fz.flatten(_tensor(x)) if axis is None else x
    return cumulative_sum(x, axis=axis, dtype=dtype)


@_public
def cumprod(x: Operand, /, axis: int | None = None, *, dtype: DTypeLike | None = None) -> Tensor:
    """cumulative_prod under NumPy's name: without an axis, of x flattened."""
    x = _fz.flatten(_tensor(x)) if axis is None else x
    return cumulative_prod(x, axis=axis, dtype=dtype)


class UniqueAll(NamedTuple):
    """What unique_all returns."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What unique_counts returns."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What unique_inverse returns."""

    values: Tensor
    inverse_indices: Tensor


@_public
def unique_all(x: Operand, /) -> UniqueAll:
    """Distinct elements in ascending order, where each comes first, the position of each element's
    value among them, and how often each occurs. Every NaN counts by itself."""
    x = _tensor(x)
    flat = _fz.flatten(x)
    order = _fz.argsort(flat)
    ordered = _fz.take(flat, order, axis=0)
    first = _fz.ones(min(x.size, 1), dtype=_fz.bool)
    new = _fz.concat([first, _fz.not_equal(ordered[1:], ordered[:-1])], axis=0)
    (starts,) = _fz.nonzero(new)
    ends = _fz.concat([starts, _fz.asarray([x.size])], axis=0)
    group = cumulative_sum(new) - 1
    inverse = _fz.take(group, _fz.argsort(order), axis=0)
    return UniqueAll(
        _fz.take(ordered, starts, axis=0),
        _fz.take(order, starts, axis=0),
        _fz.reshape(inverse, x.shape),
        ends[1:] - ends[:-1],
    )


@_public
def unique_counts(x: Operand, /) -> UniqueCounts:
    """Distinct elements in ascending order, and how often each occurs."""
    every = unique_all(x)
    return UniqueCounts(every.values, every.counts)


@_public
def unique_inverse(x: Operand, /) -> UniqueInverse:
    """Distinct elements in ascending order, and the position of each element's value among them."""
    every = unique_all(x)
    return UniqueInverse(every.values, every.inverse_indices)


@_public
def unique_values(x: Operand, /) -> Tensor:
    """Distinct elements in ascending order."""
    return unique_all(x).values


@_public
def isin(x1: Operand, x2: Operand | Sequence[Any], /, *, invert: bool = False) -> Tensor:
    """True where an element of x1 is among those of x2 (false with invert); NaN equals none."""
    invert = _flag("[isin] invert", invert)
    dtype = _result_type(_tensor(x1), _tensor(x2))
    x, among = _tensor(x1).astype(dtype), _fz.sort(_fz.flatten(_tensor(x2).astype(dtype)))
    if among.size == 0:
        return _fz.full(x.shape, invert)
    at = _fz.minimum(_fz.searchsorted(among, x), among.size - 1)
    found = _fz.take(among, at, axis=0)
    return _fz.not_equal(found, x) if invert else _fz.equal(found, x)
