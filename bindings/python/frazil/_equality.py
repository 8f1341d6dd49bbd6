"""Whether whole arrays are equal or close: Python bools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _frazil as _fz
from frazil._named import public as _public
from frazil._named import tensor as _tensor

if TYPE_CHECKING:
    from frazil._types import Operand

__all__ = ["allclose", "array_equal"]


@_public
def allclose(
    x1: Operand,
    x2: Operand,
    /,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    *,
    equal_nan: bool = False,
) -> bool:
    """Whether isclose holds for all elements: a Python bool. Reads the data."""
    return bool(_fz.all(_fz.isclose(x1, x2, rtol, atol, equal_nan=equal_nan)))


@_public
def array_equal(x1: Operand, x2: Operand, /, equal_nan: bool = False) -> bool:
    """Whether two arrays have the same shape and elements: a Python bool. Reads the data.

    With equal_nan, NaNs at the same place count as equal.
    """
    x1, x2 = _tensor(x1), _tensor(x2)
    if x1.shape != x2.shape:
        return False
    same = _fz.equal(x1, x2)
    if equal_nan:
        same = _fz.logical_or(same, _fz.logical_and(_fz.isnan(x1), _fz.isnan(x2)))
    return bool(_fz.all(same))
