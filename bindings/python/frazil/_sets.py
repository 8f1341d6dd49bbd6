"""Functions of sets. They read their data.

>>> unique_values(_fz.asarray([3, 1, 3])).tolist()
[1, 3]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from frazil import _frazil as _fz
from frazil._dtypes import result_type as _result_type
from frazil._frazil import Tensor
from frazil._named import flag as _flag
from frazil._named import public as _public
from frazil._named import tensor as _tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil._types import Operand

__all__ = [
    "isin",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
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
def unique_values(x: Operand, /) -> Tensor:
    """Distinct elements in ascending order."""
    ordered = _fz.sort(_fz.flatten(_tensor(x)))
    if ordered.size == 0:
        return ordered
    first = _fz.ones(1, dtype=_fz.bool)
    return ordered[_fz.concat([first, ordered[1:] != ordered[:-1]], axis=0)]


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
