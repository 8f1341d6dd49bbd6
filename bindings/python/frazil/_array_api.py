"""Functions of the array API that are short compositions of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._frazil import inside as _inside
from frazil._named import is_count as _is_count
from frazil._named import public as _public

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from frazil._types import DTypeLike, Ints, Operand

__all__ = [
    "array",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "ix_",
    "meshgrid",
    "positive",
    "tensordot",
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
def broadcast_shapes(*shapes: Iterable[int]) -> tuple[int, ...]:
    """The common shape."""
    return _inside.broadcast_shapes([tuple(shape) for shape in shapes])


@_public
def broadcast_arrays(*arrays: Operand) -> tuple[Tensor, ...]:
    """All arrays broadcast against each other, as a tuple."""
    return _inside.broadcast_arrays(arrays)


@_public
def meshgrid(*arrays: Operand, indexing: Literal["xy", "ij"] = "xy") -> tuple[Tensor, ...]:
    """Coordinate arrays from coordinate vectors, as a tuple."""
    return _inside.meshgrid(arrays, indexing)


@_public
def atleast_1d(*arrays: Operand) -> Any:
    """Each array with at least one axis; a tuple of them if several are given.

    >>> atleast_1d(3).shape
    (1,)
    """
    return _each(arrays, _inside.atleast_1d)


@_public
def atleast_2d(*arrays: Operand) -> Any:
    """Each array with at least two axes: a vector becomes a row."""
    return _each(arrays, _inside.atleast_2d)


@_public
def atleast_3d(*arrays: Operand) -> Any:
    """Each array with at least three axes: a vector of n becomes (1, n, 1), a matrix (m, n, 1)."""
    return _each(arrays, _inside.atleast_3d)


def _each(arrays, function):
    return function(*arrays) if len(arrays) == 1 else tuple(map(function, arrays))


@_public
def ix_(*vectors: Operand) -> tuple[Tensor, ...]:
    """Vectors shaped so that indexing with them takes their product; masks give their positions."""
    return _inside.ix_(vectors)


@_public
def tensordot(x1: Operand, x2: Operand, /, axes: int | Sequence[Ints] = 2) -> Tensor:
    """Sum of products over several axes: the last `axes` of x1 with the first of x2, or lists.

    >>> tensordot(_fz.ones((2, 3)), _fz.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    if _is_count(axes):
        return _inside.tensordot(x1, x2, axes)  # type: ignore[arg-type]
    pair = _items("[tensordot] axes", axes)
    if len(pair) != 2:
        raise ValueError(f"[tensordot] axes must be a number or two lists, got {axes!r}.")
    return _inside.tensordot(x1, x2, *pair)


def _items(where, value):
    """A list, tuple or 1-d tensor as a list."""
    if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__"):
        raise TypeError(
            f"{where} must be an integer or a list of integers, got {type(value).__name__}."
        )
    return list(value.tolist() if isinstance(value, Tensor) else value)
