"""Where the extremes are among elements that may be NaN, by NumPy's rule for where all are.

>>> nanargmax(_fz.asarray([1.0, math.nan])).item()
0
"""

from __future__ import annotations

import math  # noqa: F401 -- of the example above
from typing import TYPE_CHECKING

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._named import public as _public
from frazil._named import tensor as _tensor

if TYPE_CHECKING:
    from frazil._types import Axis, Operand

__all__ = ["nanargmax", "nanargmin"]


@_public
def nanargmax(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """Index of the first largest element that is no NaN, along an axis or of x flattened.

    ValueError where all are NaN: floats are read to tell.
    """
    return _not_all_nan("nanargmax", x, _fz.nanargmax(x, axis=axis, keepdims=keepdims))


@_public
def nanargmin(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """Index of the first smallest element that is no NaN, along an axis or of x flattened.

    ValueError where all are NaN: floats are read to tell.
    """
    return _not_all_nan("nanargmin", x, _fz.nanargmin(x, axis=axis, keepdims=keepdims))


def _not_all_nan(name, x, places):
    x = _tensor(x)
    if x.dtype.kind == "real floating" and _fz.any(places < 0):
        raise ValueError(f"[{name}] all elements along the axis are NaN: shape {x.shape}.")
    return places
