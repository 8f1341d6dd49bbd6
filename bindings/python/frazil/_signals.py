"""Slopes of samples on a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from frazil import _frazil as _fz  # noqa: F401 -- of the example
from frazil._frazil import inside as _inside
from frazil._named import public as _public

if TYPE_CHECKING:
    from frazil._types import Axis, Operand

__all__ = ["gradient"]


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
    out = _inside.gradient(x, spacing, axis, edge_order)
    return out[0] if len(out) == 1 else list(out)
