"""Running extremes, in rounds d = 1, 2, 4 ...: every element meets the one d before it.

>>> cummax(_fz.asarray([1, 3, 2, 5, 4])).tolist()
[1, 3, 3, 5, 5]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._named import fixed_axis as _axis
from frazil._named import public as _public
from frazil._named import tensor as _tensor

if TYPE_CHECKING:
    from frazil._frazil import Tensor
    from frazil._types import Operand

__all__ = ["cummax", "cummin"]


def _scan(op: Callable[[Tensor, Tensor], Tensor], x: Any, axis: int | None) -> Tensor:
    x = _tensor(x)
    if axis is None:
        x, axis = _fz.flatten(x), 0
    axis = _axis(x, axis)
    x = _fz.moveaxis(x, axis, 0)
    n, d = x.shape[0], 1
    while d < n:
        x = _fz.concat([x[:d], op(x[d:], x[:-d])])
        d *= 2
    return _fz.moveaxis(x, 0, axis)


@_public
def cummax(x: Operand, /, axis: int | None = None) -> Tensor:
    """The largest element up to each one along an axis, or of x flattened; NaN from one on."""
    return _scan(_fz.maximum, x, axis)


@_public
def cummin(x: Operand, /, axis: int | None = None) -> Tensor:
    """The smallest element up to each one along an axis, or of x flattened; NaN from one on."""
    return _scan(_fz.minimum, x, axis)
