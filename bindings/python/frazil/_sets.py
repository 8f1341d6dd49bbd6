"""Functions of sets. They read their data.

>>> union1d(_fz.asarray([3, 1]), _fz.asarray([3])).tolist()
[1, 3]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from frazil import _frazil as _fz
from frazil._dtypes import result_type as _result_type
from frazil._frazil import Tensor
from frazil._named import fixed_axis as _fixed_axis
from frazil._named import flag as _flag
from frazil._named import public as _public
from frazil._named import tensor as _tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil._types import Operand

__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
]


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


def _ordering(x: Tensor) -> Tensor:
    """Indices that sort x; complex numbers by their real, then by their imaginary parts."""
    if x.dtype.kind != "complex floating":
        return _fz.argsort(x)
    by_imag = _fz.argsort(_fz.imag(x))
    by_real = _fz.argsort(_fz.take(_fz.real(x), by_imag, axis=0))
    return _fz.take(by_imag, by_real, axis=0)


@_public
def unique_all(x: Operand, /) -> UniqueAll:
    """Distinct elements in ascending order, where each comes first, the position of each element's
    value among them, and how often each occurs. Every NaN counts by itself; complex numbers are
    ordered by their real, then by their imaginary parts."""
    x = _tensor(x)
    flat = _fz.flatten(x)
    order = _ordering(flat)
    ordered = _fz.take(flat, order, axis=0)
    first = _fz.ones(min(x.size, 1), dtype=_fz.bool)
    new = _fz.concat([first, _fz.not_equal(ordered[1:], ordered[:-1])], axis=0)
    (starts,) = _fz.nonzero(new)
    ends = _fz.concat([starts, _fz.asarray([x.size])], axis=0)
    group = _fz.cumulative_sum(new) - 1
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


@_public
def unique(
    x: Operand,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
) -> Any:
    """NumPy's unique: distinct elements in ascending order, or distinct slices along an axis.

    What else is asked for follows in a tuple: where each comes first, the position of each
    element's value among them, how often each occurs. NaN counts once, unless not equal_nan.

    >>> [t.tolist() for t in unique(_fz.asarray([3, 1, 3]), return_counts=True)]
    [[1, 3], [1, 2]]
    """
    x = _tensor(x)
    more = return_index or return_inverse or return_counts
    if axis is None and not more and x.dtype.kind != "complex floating":
        return _fz.unique_values(x, equal_nan=equal_nan)
    if axis is None:
        rows = _fz.flatten(x)[:, None]
    else:
        axis = _fixed_axis(x, axis)
        moved = _fz.moveaxis(x, axis, 0)
        rows = moved.reshape((moved.shape[0], -1 if moved.size else 0))
    n = rows.shape[0]
    order = _fz.arange(n)
    for column in reversed(range(rows.shape[1])):  # stable: the first column counts most
        by = _fz.argsort(_fz.take(rows[:, column], order, axis=0))
        order = _fz.take(order, by, axis=0)
    ordered = _fz.take(rows, order, axis=0)
    apart = ordered[1:] != ordered[:-1]
    if equal_nan and axis is None and x.dtype.kind == "real floating":
        apart = apart & ~(_fz.isnan(ordered[1:]) & _fz.isnan(ordered[:-1]))
    new = _fz.concat([_fz.ones(min(n, 1), dtype=_fz.bool), _fz.any(apart, axis=1)])
    (starts,) = _fz.nonzero(new)
    first = _fz.take(order, starts, axis=0)
    if axis is None:
        values = _fz.take(_fz.flatten(x), first, axis=0)
    else:
        values = _fz.take(x, first, axis=axis)
    out = [values]
    if return_index:
        out.append(first)
    if return_inverse:
        group = _fz.cumulative_sum(new) - 1
        inverse = _fz.take(group, _fz.argsort(order), axis=0)
        out.append(inverse.reshape(x.shape) if axis is None else inverse)
    if return_counts:
        ends = _fz.concat([starts, _fz.asarray([n])], axis=0)
        out.append(ends[1:] - ends[:-1])
    return tuple(out) if len(out) > 1 else values


@_public
def union1d(x1: Operand, x2: Operand, /) -> Tensor:
    """The distinct elements of both arrays, in ascending order."""
    return unique(_fz.concat([_fz.flatten(_tensor(x1)), _fz.flatten(_tensor(x2))]))


@_public
def intersect1d(
    x1: Operand, x2: Operand, /, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The distinct elements that both arrays have, in ascending order; with return_indices also
    where they come first in either."""
    a, b = _fz.flatten(_tensor(x1)), _fz.flatten(_tensor(x2))
    values, at, _, _ = unique_all(a)
    found = isin(values, b)
    common = values[found]
    if not return_indices:
        return common
    others, at_other, _, _ = unique_all(b)
    return common, at[found], at_other[isin(others, a)]


@_public
def setdiff1d(x1: Operand, x2: Operand, /, assume_unique: bool = False) -> Tensor:
    """The distinct elements of x1 that x2 lacks, in ascending order (as they stand in x1 if
    assume_unique)."""
    x = _fz.flatten(_tensor(x1))
    x = x if assume_unique else unique(x)
    return x[isin(x, x2, invert=True)]


@_public
def setxor1d(x1: Operand, x2: Operand, /, assume_unique: bool = False) -> Tensor:
    """The distinct elements that one of the arrays has and the other lacks, in ascending order."""
    a, b = unique(x1), unique(x2)
    dtype = _result_type(a, b)
    both = [setdiff1d(a, b).astype(dtype), setdiff1d(b, a).astype(dtype)]
    return _fz.sort(_fz.concat(both))
