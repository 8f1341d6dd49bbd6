"""Functions of sets. They read their data.

>>> unique(_fz.asarray([3, 1, 3])).tolist()
[1, 3]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from frazil import _frazil as _fz  # noqa: F401 -- of the examples
from frazil._frazil import Tensor
from frazil._frazil import inside as _inside
from frazil._named import public as _public

if TYPE_CHECKING:
    from frazil._types import Operand

__all__ = [
    "intersect1d",
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


@_public
def unique_all(x: Operand, /) -> UniqueAll:
    """Distinct elements in ascending order, where each comes first, the position of each element's
    value among them, and how often each occurs. Every NaN counts by itself; complex numbers are
    ordered by their real, then by their imaginary parts."""
    return UniqueAll(*_inside.unique_all(x))


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
    out = _inside.unique(x, return_index, return_inverse, return_counts, axis, equal_nan)
    return out if len(out) > 1 else out[0]


@_public
def intersect1d(
    x1: Operand, x2: Operand, /, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The distinct elements that both arrays have, in ascending order; with return_indices also
    where they come first in either."""
    out = _inside.intersect1d(x1, x2, return_indices)
    return out if return_indices else out[0]
