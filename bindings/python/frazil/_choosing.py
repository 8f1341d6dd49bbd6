"""Choosing, ordering and finding under NumPy's names.

>>> select([_fz.asarray([True, False])], [_fz.asarray([1, 2])], 9).tolist()
[1, 9]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from frazil import _frazil as _fz
from frazil._dtypes import result_type as _result_type
from frazil._frazil import Tensor
from frazil._frazil import inside as _inside
from frazil._named import fixed_axis as _axis
from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil._named import is_count as _is_count
from frazil._named import public as _public
from frazil._named import tensor as _tensor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import SupportsIndex

    from frazil._types import Ints, Operand

__all__ = [
    "apply_along_axis",
    "argpartition",
    "argwhere",
    "choose",
    "compress",
    "extract",
    "flatnonzero",
    "lexsort",
    "partition",
    "piecewise",
    "ravel_multi_index",
    "select",
    "topk",
    "trim_zeros",
    "unravel_index",
]


@_public
def select(
    conditions: Sequence[Operand], choices: Sequence[Operand], default: Operand = 0, /
) -> Tensor:
    """Elementwise the choice of the first condition that is true, else the default.

    ValueError for lists of different lengths or none, TypeError for conditions that are not bool.
    """
    if len(conditions) != len(choices) or not conditions:
        raise ValueError(f"[select] {len(conditions)} conditions for {len(choices)} choices.")
    for each in conditions:
        if _tensor(each).dtype != _fz.bool:
            raise TypeError(f"[select] a condition is {_tensor(each).dtype.name}, not bool.")
    dtype = _common((*choices, default))
    out = _tensor(default).astype(dtype)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        out = _fz.where(condition, _tensor(choice).astype(dtype), out)
    return out


def _common(operands):
    """The dtype of arrays and numbers, which are weak beside them."""
    numbers = (bool, int, float)
    strong = [_tensor(c) for c in operands if not isinstance(c, numbers)]
    weak = [c for c in operands if isinstance(c, numbers)]
    return _result_type(*strong, *weak) if strong else _result_type(*map(_tensor, weak))


@_public
def choose(
    x: Operand, choices: Sequence[Operand], /, mode: Literal["raise", "wrap", "clip"] = "raise"
) -> Tensor:
    """Elementwise choices[x], of arrays that broadcast.

    x beyond the choices is an error ("raise": reads the data), wraps or is clipped.
    """
    x, arrays = _tensor(x), [_tensor(c) for c in choices]
    n = len(arrays)
    if x.dtype.kind == "real floating":
        raise TypeError(f"[choose] places must be integers, got {x.dtype.name}.")
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"[choose] mode must be 'raise', 'wrap' or 'clip', got {mode!r}.")
    x = x.astype(_fz.int64)
    if mode == "raise" and _fz.any((x < 0) | (x >= n)):
        raise ValueError(f"[choose] a place is not one of {n} choices.")
    x = x % n if mode == "wrap" else _fz.clip(x, 0, n - 1)
    dtype = _common(choices)
    x, *arrays = _inside.broadcast_arrays([x, *arrays])
    stacked = _fz.stack([a.astype(dtype) for a in arrays])
    return _fz.take_along_axis(stacked, x[None], axis=0)[0]


@_public
def compress(condition: Operand, x: Operand, /, axis: int | None = None) -> Tensor:
    """Slices along an axis where a vector is true; without one of x flattened. Reads how many."""
    x, mask = _tensor(x), _tensor(condition)
    if mask.ndim != 1:
        raise ValueError(f"[compress] the condition must be a vector, got shape {mask.shape}.")
    x, axis = (_fz.flatten(x), 0) if axis is None else (x, _axis(x, axis))
    return _fz.take(x, _fz.nonzero(mask)[0], axis=axis)


@_public
def extract(condition: Operand, x: Operand, /) -> Tensor:
    """The elements of x where a condition is true, both flattened. Reads how many."""
    return compress(_fz.flatten(_tensor(condition)), x)


@_public
def flatnonzero(x: Operand, /) -> Tensor:
    """Positions of the elements of x, flattened, that are not zero. Reads how many."""
    return _fz.nonzero(_fz.flatten(_tensor(x)))[0]


@_public
def argwhere(x: Operand, /) -> Tensor:
    """Positions of the elements that are not zero, one a row. Reads how many.

    >>> argwhere(_fz.asarray([[0, 1], [1, 0]])).tolist()
    [[0, 1], [1, 0]]
    """
    x = _tensor(x)
    if x.ndim == 0:
        return _fz.zeros((flatnonzero(x).size, 0), dtype=_fz.int64)
    return _fz.stack(_fz.nonzero(x), axis=1)


@_public
def trim_zeros(x: Operand, /, trim: str = "fb") -> Tensor:
    """A vector without the zeros before ("f") and behind ("b") the others. Reads them."""
    x = _tensor(x)
    if x.ndim != 1:
        raise ValueError(f"[trim_zeros] needs a vector, got shape {x.shape}.")
    places = flatnonzero(x)
    if places.size == 0:
        return x[:0]
    first, last = int(places[0]), int(places[-1])
    return x[first if "f" in trim.lower() else 0 : last + 1 if "b" in trim.lower() else None]


@_public
def lexsort(keys: Any, /, axis: int = -1) -> Tensor:
    """Indices that sort by several keys, of which the last one counts most; stable.

    >>> lexsort((_fz.asarray([2, 1, 0]), _fz.asarray([1, 0, 1]))).tolist()
    [1, 2, 0]
    """
    arrays = [_tensor(k) for k in keys]
    if not arrays:
        raise TypeError("[lexsort] needs at least one key, got 0.")
    arrays = [a.reshape((1,)) if a.ndim == 0 else a for a in arrays]
    if len({a.shape for a in arrays}) > 1:
        raise ValueError(f"[lexsort] keys differ in shape: {[a.shape for a in arrays]}.")
    axis = _axis(arrays[0], axis)
    order = _fz.argsort(arrays[0], axis=axis)
    for key in arrays[1:]:
        by = _fz.argsort(_fz.take_along_axis(key, order, axis=axis), axis=axis)
        order = _fz.take_along_axis(order, by, axis=axis)
    return order


def _kth(name, x, kth, axis):
    x = _tensor(x)
    if type(kth) is int and axis == -1 and x.ndim and 0 <= kth < x.shape[-1]:
        return x, -1
    x, axis = (_fz.flatten(x), 0) if axis is None else (x, _axis(x, axis))
    for k in [kth] if _is_count(kth) else kth:
        n = x.shape[axis]
        if not -n <= _integer(f"[{name}] kth", k) < n:
            raise ValueError(f"[{name}] kth {k} is out of range for an axis of extent {n}.")
    return x, axis


@_public
def partition(x: Operand, kth: Ints, /, axis: int | None = -1) -> Tensor:
    """An order in which element kth stands where sorting puts it, with none larger before it and
    none smaller behind: the sorted one."""
    x, axis = _kth("partition", x, kth, axis)
    return _fz.sort(x, axis)


@_public
def argpartition(x: Operand, kth: Ints, /, axis: int | None = -1) -> Tensor:
    """Indices that partition along an axis: those that sort."""
    x, axis = _kth("argpartition", x, kth, axis)
    return _fz.argsort(x, axis=axis)


class TopK(NamedTuple):
    """What topk returns."""

    values: Tensor
    indices: Tensor


_BLOCK = 512  # elements, of which topk asks for the largest one


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
    x, k = _tensor(x), _integer("[topk] k", k, 0)
    largest = _flag("[topk] largest", largest)
    _flag("[topk] sorted", sorted)
    axis = _axis(x, axis)
    n = x.shape[axis]
    if k > n:
        raise ValueError(f"[topk] k {k} is more than the axis of extent {n} has.")
    if x.ndim == 1 and 0 < k * _BLOCK * 4 <= n and x.dtype != _fz.bool:
        order = _first_of_blocks(_fz.detach(x), k, largest)
        return TopK(_fz.take(x, order, axis=0), order)
    order = _fz.argsort(x, axis=axis, descending=largest)
    order = order[(*(slice(None),) * axis, slice(0, k))]
    return TopK(_fz.take_along_axis(x, order, axis=axis), order)


def _first_of_blocks(x, k, largest):
    """The first k indices that sort a long vector, which lie in the k blocks whose own first
    elements come first."""
    count = x.shape[0] // _BLOCK
    rows = x[: count * _BLOCK].reshape((count, _BLOCK))
    best = (_fz.nanmax if largest else _fz.nanmin)(rows, axis=1)
    blocks = _fz.sort(_fz.argsort(best, descending=largest)[:k])
    places = blocks[:, None] * _BLOCK + _fz.arange(_BLOCK, dtype=_fz.int64)
    rest = _fz.arange(count * _BLOCK, x.shape[0], dtype=_fz.int64)
    places = _fz.concat([_fz.flatten(places), rest])
    order = _fz.argsort(_fz.take(x, places, axis=0), descending=largest)
    return _fz.take(places, order[:k], axis=0)


@_public
def unravel_index(
    indices: Operand, shape: Ints, /, order: Literal["C", "F"] = "C"
) -> tuple[Tensor, ...]:
    """Positions in the flattened array as positions along its axes, int64. Reads them to check.

    >>> [int(i) for i in unravel_index(5, (2, 3))]
    [1, 2]
    """
    dims = _dims("unravel_index", shape, order)
    flat = _indices("unravel_index", indices)
    size = math.prod(dims)
    if flat.size and _fz.any((flat < 0) | (flat >= size)):
        raise ValueError(f"[unravel_index] an index is out of range for shape {tuple(dims)}.")
    out = []
    for n in reversed(dims) if order == "C" else dims:
        out.append(flat % n if n else flat)
        flat = flat // n if n else flat
    return tuple(reversed(out) if order == "C" else out)


@_public
def ravel_multi_index(
    multi_index: Sequence[Operand],
    dims: Ints,
    /,
    mode: Literal["raise", "wrap", "clip"] = "raise",
    order: Literal["C", "F"] = "C",
) -> Tensor:
    """Positions along axes as positions in the flattened array, int64.

    Beyond an axis is an error ("raise": reads the data), wraps or is clipped.

    >>> int(ravel_multi_index((1, 2), (2, 3)))
    5
    """
    shape = _dims("ravel_multi_index", dims, order)
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(
            f"[ravel_multi_index] mode must be 'raise', 'wrap' or 'clip', got {mode!r}."
        )
    places = [_indices("ravel_multi_index", i) for i in multi_index]
    if len(places) != len(shape):
        raise ValueError(f"[ravel_multi_index] {len(places)} indices for {len(shape)} axes.")
    flat: Any = 0
    pairs = list(zip(places, shape, strict=True))
    for i, n in pairs if order == "C" else reversed(pairs):
        if mode == "raise":
            if _fz.any((i < 0) | (i >= n)):
                raise ValueError(f"[ravel_multi_index] an index is out of range for extent {n}.")
        else:
            i = i % n if mode == "wrap" else _fz.clip(i, 0, n - 1)  # noqa: PLW2901
        flat = flat * n + i
    return _tensor(flat)


def _dims(name, shape, order):
    if order not in ("C", "F"):
        raise ValueError(f"[{name}] order must be 'C' or 'F', got {order!r}.")
    dims = [shape] if _is_count(shape) else shape
    return [_integer(f"[{name}] an extent", n, 0) for n in dims]


def _indices(name, x):
    x = _tensor(x)
    if x.dtype.kind == "real floating" or x.dtype == _fz.bool:
        raise TypeError(f"[{name}] indices must be integers, got {x.dtype.name}.")
    return x.astype(_fz.int64)


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
