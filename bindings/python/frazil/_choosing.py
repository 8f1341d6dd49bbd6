"""The largest elements, and functions of rows and of pieces of an array."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._frazil import inside as _inside
from frazil._named import fixed_axis as _axis
from frazil._named import flag as _flag
from frazil._named import public as _public
from frazil._named import tensor as _tensor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import SupportsIndex

    from frazil._types import Operand

__all__ = [
    "apply_along_axis",
    "piecewise",
    "topk",
]


class TopK(NamedTuple):
    """What topk returns."""

    values: Tensor
    indices: Tensor


@_public
def topk(
    x: Operand, k: SupportsIndex, /, axis: int = -1, largest: bool = True, sorted: bool = True
) -> TopK:
    """The k largest (or smallest) elements along an axis and their indices, int64, in order.

    Of equal elements the first ones, and NaN last, as `sort` has it; the order does not depend on
    `sorted`. Gradients go to the elements that were taken. ValueError for more than there are.

    >>> topk(_fz.asarray([1, 4, 2]), 2).indices.tolist()
    [1, 2]
    """
    _flag("[topk] sorted", sorted)
    return TopK(*_inside.topk(x, k, axis, largest))


@_public
def apply_along_axis(
    function: Callable[..., Any], axis: int, x: Operand, /, *args: Any, **kwargs: Any
) -> Tensor:
    """function(row, *args, **kwargs) of every row along an axis, whose place its result takes.

    The function is called once for each row: an operation with an axis is faster.

    >>> apply_along_axis(_fz.sum, 0, _fz.ones((2, 3))).tolist()
    [2.0, 2.0, 2.0]
    """
    x = _tensor(x)
    axis = _axis(x, axis)
    moved = _fz.moveaxis(x, axis, -1)
    outer = moved.shape[:-1]
    rows = moved.reshape((math.prod(outer), x.shape[axis]))
    if rows.shape[0] == 0:
        raise ValueError(f"[apply_along_axis] shape {x.shape} has no rows along axis {axis}.")
    results = [_tensor(function(row, *args, **kwargs)) for row in rows]
    stacked = _fz.stack(results)
    out = stacked.reshape((*outer, *stacked.shape[1:]))
    n = stacked.ndim - 1
    return _fz.moveaxis(out, [len(outer) + i for i in range(n)], [axis + i for i in range(n)])


@_public
def piecewise(
    x: Operand,
    conditions: Operand | Sequence[Operand],
    functions: Sequence[Any],
    /,
    *args: Any,
    **keywords: Any,
) -> Tensor:
    """A function of x given in pieces: where a condition is true, its function of those elements.

    Functions are callables that get the elements as a vector, then `args` and `keywords`, or
    numbers. Of several true conditions the last counts; one more function is for where none is,
    else 0. Of x's shape and dtype. Reads the conditions.
    ValueError for another number of functions, IndexError for conditions of another shape.

    >>> piecewise(_fz.asarray([-2.0, 3.0]), [[True, False]], [_fz.abs, 0.5]).tolist()
    [2.0, 0.5]
    """
    x = _tensor(x)
    given: Any = conditions
    one = isinstance(given, bool) or getattr(given, "ndim", -1) == x.ndim
    if x.ndim and isinstance(given, (list, tuple)) and given:
        one = isinstance(given[0], bool)  # a condition as a list
    masks = [_tensor(m).astype(_fz.bool) for m in ([given] if one else given)]
    for m in masks:
        if m.shape not in (x.shape, ()):
            raise IndexError(f"[piecewise] a condition has shape {m.shape}, x has {x.shape}.")
    masks = [_fz.broadcast_to(m, x.shape) for m in masks]
    if len(functions) == len(masks) + 1:
        masks.append(~_fz.any(_fz.stack(masks), axis=0) if masks else _fz.ones(x.shape, "bool"))
    if len(functions) != len(masks):
        raise ValueError(
            f"[piecewise] {len(masks)} conditions need as many functions or one more, "
            f"got {len(functions)}."
        )
    out = _fz.zeros_like(x)
    for mask, function in zip(masks, functions, strict=True):
        if not callable(function):
            out = _fz.where(mask, _tensor(function).astype(x.dtype), out)
            continue
        part = x[mask]
        if part.size:
            out[mask] = _tensor(function(part, *args, **keywords)).astype(x.dtype)
    return out
