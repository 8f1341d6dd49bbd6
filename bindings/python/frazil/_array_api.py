"""Functions of the array API that are short compositions of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._named import fixed_axis as _axis
from frazil._named import integer as _integer
from frazil._named import is_count as _is_count
from frazil._named import public as _public
from frazil._named import tensor as _tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from frazil._types import Axis, DTypeLike, Ints, Operand

__all__ = [
    "array",
    "broadcast_arrays",
    "broadcast_shapes",
    "meshgrid",
    "outer",
    "positive",
    "repeat",
    "roll",
    "split",
    "tensordot",
    "transpose",
    "unstack",
    "vecdot",
]


@_public
def array(
    obj: Any,
    /,
    dtype: DTypeLike | None = None,
    *,
    copy: bool | None = True,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """asarray that copies a tensor, too.

    >>> array([1, 2], dtype="float64")
    fz.Tensor([1., 2.], dtype=float64)
    """
    return _fz.asarray(obj, dtype, device=device, copy=copy, requires_grad=requires_grad)


@_public
def positive(x: Operand, /) -> Tensor:
    """+x: the same elements in a new tensor."""
    return +_fz.asarray(x)


@_public
def transpose(x: Tensor, /, axes: Axis = None) -> Tensor:
    """The axes in another order, reversed if none is given."""
    return x.T if axes is None else _fz.permute_dims(x, axes)


@_public
def split(x: Operand, /, indices_or_sections: Ints | Tensor, axis: int = 0) -> list[Tensor]:
    """Parts along an axis: a number of equal parts, or the positions where they begin.

    >>> [p.tolist() for p in split(_fz.arange(5), [2, 3])]
    [[0, 1], [2], [3, 4]]
    """
    x = _tensor(x)
    axis = _axis(x, axis)
    n = x.shape[axis]
    if _is_count(indices_or_sections):
        parts = _integer("[split] the number of parts", indices_or_sections)
        if parts < 1 or n % parts:
            raise ValueError(f"[split] axis {axis} of extent {n} has no {parts} equal parts.")
        bounds = list(range(0, n + 1, n // parts)) if n else [0] * (parts + 1)
    else:
        places = _items("[split] indices_or_sections", indices_or_sections)
        bounds = [0, *(_integer("[split] an index", i) for i in places), n]
    head = (slice(None),) * axis
    return [x[(*head, slice(a, b))] for a, b in zip(bounds, bounds[1:], strict=False)]


@_public
def unstack(x: Operand, /, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, as a tuple."""
    return tuple(_fz.moveaxis(x, axis, 0))


@_public
def roll(x: Operand, /, shift: Ints, axis: Axis = None) -> Tensor:
    """Elements shifted along an axis; those pushed out come in again on the other side.

    >>> roll(_fz.arange(4), 1).tolist()
    [3, 0, 1, 2]
    """
    x = _tensor(x)
    if axis is None:
        return roll(_fz.flatten(x), shift, axis=0).reshape(x.shape)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    if len(shifts) == 1:
        shifts = tuple(shifts) * len(axes)
    if len(shifts) != len(axes):
        raise ValueError(f"[roll] {len(shifts)} shifts for {len(axes)} axes.")
    for s, a in zip(shifts, axes, strict=True):
        a, s = _axis(x, a), _integer("[roll] shift", s)  # noqa: PLW2901
        n = x.shape[a]
        if n and s % n:
            head = (slice(None),) * a
            cut = n - s % n
            x = _fz.concat([x[(*head, slice(cut, None))], x[(*head, slice(0, cut))]], axis=a)
    return x


@_public
def repeat(x: Operand, /, repeats: Ints | Tensor, axis: int | None = None) -> Tensor:
    """Each element repeated: a number of times, or one number for each.

    >>> repeat(_fz.asarray([5, 7]), 2).tolist()
    [5, 5, 7, 7]
    """
    x = _tensor(x)
    if axis is None and type(repeats) is int and repeats > 0:
        n = x.size
        return _fz.broadcast_to(x.reshape((n, 1)), (n, repeats)).reshape((n * repeats,))
    if axis is None:
        x, axis = _fz.flatten(x), 0
    axis = _axis(x, axis)
    n = x.shape[axis]
    if _is_count(repeats):
        count = _count(repeats)
        head, tail = x.shape[:axis], x.shape[axis + 1 :]
        spread = _fz.broadcast_to(_fz.expand_dims(x, axis=axis + 1), (*head, n, count, *tail))
        return _fz.reshape(spread, (*head, n * count, *tail))
    counts = repeats.tolist() if isinstance(repeats, Tensor) else repeats
    counts = [counts] if isinstance(counts, int) else _items("[repeat] counts", counts)
    counts = [_count(count) for count in counts]
    counts = counts * n if len(counts) == 1 else counts
    if len(counts) != n:
        raise ValueError(f"[repeat] {len(counts)} counts for an axis of extent {n}.")
    index = [i for i, count in enumerate(counts) for _ in range(count)]
    return _fz.take(x, _fz.asarray(index, dtype=_fz.int64), axis=axis)


def _count(value):
    count = _integer("[repeat] a count", value)
    if count < 0:
        raise ValueError(f"[repeat] counts must not be negative, got {count}.")
    return count


@_public
def broadcast_shapes(*shapes: Iterable[int]) -> tuple[int, ...]:
    """The common shape."""
    out: list[int] = []
    for each in shapes:
        shape = list(each)
        rank = max(len(out), len(shape))
        out = [1] * (rank - len(out)) + out
        shape = [1] * (rank - len(shape)) + shape
        for i, (a, b) in enumerate(zip(out, shape, strict=True)):
            if a != b and a != 1 and b != 1:
                raise ValueError(
                    f"[broadcast_shapes] shapes do not broadcast: {list(shapes)} ({a} vs {b})."
                )
            out[i] = b if a == 1 else a
    return tuple(out)


@_public
def broadcast_arrays(*arrays: Operand) -> tuple[Tensor, ...]:
    """All arrays broadcast against each other, as a tuple."""
    tensors = [_tensor(a) for a in arrays]
    shape = broadcast_shapes(*(a.shape for a in tensors))
    return tuple(_fz.broadcast_to(a, shape) for a in tensors)


@_public
def meshgrid(*arrays: Operand, indexing: Literal["xy", "ij"] = "xy") -> tuple[Tensor, ...]:
    """Coordinate arrays from coordinate vectors, as a tuple."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"[meshgrid] indexing must be 'xy' or 'ij', got '{indexing}'.")
    tensors = [_tensor(a) for a in arrays]
    n = len(tensors)
    shaped = [a.reshape((1,) * i + (-1,) + (1,) * (n - 1 - i)) for i, a in enumerate(tensors)]
    grids = broadcast_arrays(*shaped)
    if indexing == "xy" and n >= 2:
        grids = tuple(_fz.swapaxes(g, 0, 1) for g in grids)
    return grids


@_public
def outer(x1: Operand, x2: Operand, /) -> Tensor:
    """Products of all pairs of two vectors' elements."""
    return _fz.flatten(x1)[:, None] * _fz.flatten(x2)


@_public
def vecdot(x1: Operand, x2: Operand, /, *, axis: int = -1) -> Tensor:
    """Sum of products along an axis of both, which must be equally long; the others broadcast.

    Complex elements of x1 are conjugated.

    The dtype is that of the product, for bool whether any pair is true. ValueError if the axes
    differ in length, IndexError if one of the arrays lacks the axis.

    >>> vecdot(_fz.ones((4, 2, 3)), _fz.ones((2, 3))).shape
    (4, 2)
    """
    x1, x2 = _tensor(x1), _tensor(x2)
    axis = _integer("[vecdot] axis", axis)
    a, b = (_fz.moveaxis(x, _axis(x, axis), -1) for x in (x1, x2))
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(
            f"[vecdot] axis {axis} has {a.shape[-1]} elements in {x1.shape} and {b.shape[-1]} in "
            f"{x2.shape}."
        )
    products = _fz.multiply(_fz.conj(a), b)
    if products.dtype == _fz.bool:
        return _fz.any(products, axis=-1)
    return _fz.sum(products, axis=-1, dtype=products.dtype)


@_public
def tensordot(x1: Operand, x2: Operand, /, axes: int | Sequence[Ints] = 2) -> Tensor:
    """Sum of products over several axes: the last `axes` of x1 with the first of x2, or lists.

    >>> tensordot(_fz.ones((2, 3)), _fz.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    x1, x2 = _tensor(x1), _tensor(x2)
    if _is_count(axes):
        axes = _integer("[tensordot] the number of axes", axes, 0)
        a = list(range(x1.ndim - axes, x1.ndim))
        b = list(range(axes))
    else:
        pair = _items("[tensordot] axes", axes)
        if len(pair) != 2:
            raise ValueError(f"[tensordot] axes must be a number or two lists, got {axes!r}.")
        a, b = ([i] if isinstance(i, int) else _items("[tensordot] axes", i) for i in pair)
    a, b = [_axis(x1, i) for i in a], [_axis(x2, i) for i in b]
    if [x1.shape[i] for i in a] != [x2.shape[i] for i in b]:
        raise ValueError(f"[tensordot] axes differ: {a} of {x1.shape} and {b} of {x2.shape}.")
    free1 = [i for i in range(x1.ndim) if i not in a]
    free2 = [i for i in range(x2.ndim) if i not in b]
    inner = 1
    for i in a:
        inner *= x1.shape[i]
    outer1, outer2 = [x1.shape[i] for i in free1], [x2.shape[i] for i in free2]
    left = _fz.permute_dims(x1, free1 + a).reshape((_product(outer1), inner))
    right = _fz.permute_dims(x2, b + free2).reshape((inner, _product(outer2)))
    return (left @ right).reshape((*outer1, *outer2))


def _items(where, value):
    """A list, tuple or 1-d tensor as a list."""
    if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__"):
        raise TypeError(
            f"{where} must be an integer or a list of integers, got {type(value).__name__}."
        )
    return list(value.tolist() if isinstance(value, Tensor) else value)


def _product(extents):
    out = 1
    for n in extents:
        out *= n
    return out
