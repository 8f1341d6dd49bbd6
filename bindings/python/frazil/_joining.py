"""Arrays joined, taken apart and turned round under NumPy's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._array_api import split as _split
from frazil._named import fixed_axis as _axis
from frazil._named import integer as _integer
from frazil._named import is_count as _is_count
from frazil._named import public as _public
from frazil._named import tensor as _tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from frazil._frazil import Tensor
    from frazil._types import Ints, Operand

__all__ = [
    "append",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "delete",
    "dsplit",
    "fliplr",
    "flipud",
    "hsplit",
    "insert",
    "rollaxis",
    "rot90",
    "vsplit",
]


@_public
def atleast_1d(*arrays: Operand) -> Any:
    """Each array with at least one axis; a tuple of them if several are given.

    >>> atleast_1d(3).shape
    (1,)
    """
    return _each(arrays, lambda x: x if x.ndim else x.reshape((1,)))


@_public
def atleast_2d(*arrays: Operand) -> Any:
    """Each array with at least two axes: a vector becomes a row."""
    return _each(arrays, lambda x: x if x.ndim >= 2 else x.reshape((1, -1 if x.size else 0)))


@_public
def atleast_3d(*arrays: Operand) -> Any:
    """Each array with at least three axes: a vector of n becomes (1, n, 1), a matrix (m, n, 1)."""

    def three(x):
        if x.ndim == 2:
            return x.reshape((*x.shape, 1))
        return x if x.ndim > 2 else x.reshape((1, x.size, 1))

    return _each(arrays, three)


def _each(arrays, function):
    out = tuple(function(_tensor(x)) for x in arrays)
    return out[0] if len(out) == 1 else out


@_public
def append(x: Operand, values: Operand, /, axis: int | None = None) -> Tensor:
    """x followed by values along an axis; without one both are flattened."""
    x, values = _tensor(x), _tensor(values)
    if axis is None:
        return _fz.concat([_fz.flatten(x), _fz.flatten(values)], axis=0)
    return _fz.concat([x, values], axis=_axis(x, axis))


@_public
def array_split(x: Operand, /, indices_or_sections: Ints | Tensor, axis: int = 0) -> list[Tensor]:
    """Parts along an axis as by split, of lengths that differ by at most one.

    >>> [p.tolist() for p in array_split(_fz.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    """
    x = _tensor(x)
    if not _is_count(indices_or_sections):
        return _split(x, indices_or_sections, axis)
    parts, n = _integer("[array_split] the number of parts", indices_or_sections), 0
    if parts < 1:
        raise ValueError(f"[array_split] the number of parts must be positive, got {parts}.")
    n = x.shape[_axis(x, axis)]
    size, more = divmod(n, parts)
    return _split(x, [i * size + min(i, more) for i in range(1, parts)], axis)


def _split_along(name, least, axis_of, doc):
    def parts(x: Operand, /, indices_or_sections: Ints | Tensor) -> list[Tensor]:
        t = _tensor(x)
        if t.ndim < least:
            raise ValueError(f"[{name}] needs at least {least} axes, got shape {t.shape}.")
        return _split(t, indices_or_sections, axis_of(t))

    parts.__name__ = parts.__qualname__ = name
    parts.__doc__ = doc
    return _public(parts)


hsplit = _split_along(
    "hsplit",
    1,
    lambda x: min(x.ndim - 1, 1),
    "Parts along the second axis, of a vector along its only one. ValueError for 0 axes.",
)
vsplit = _split_along("vsplit", 2, lambda x: 0, "Parts along the first axis of two or more.")
dsplit = _split_along("dsplit", 3, lambda x: 2, "Parts along the third axis.")


@_public
def fliplr(x: Operand, /) -> Tensor:
    """The second axis backwards. ValueError for fewer axes."""
    x = _tensor(x)
    if x.ndim < 2:
        raise ValueError(f"[fliplr] needs at least 2 axes, got shape {x.shape}.")
    return _fz.flip(x, axis=1)


@_public
def flipud(x: Operand, /) -> Tensor:
    """The first axis backwards. ValueError for a number."""
    x = _tensor(x)
    if x.ndim < 1:
        raise ValueError(f"[flipud] needs at least 1 axes, got shape {x.shape}.")
    return _fz.flip(x, axis=0)


@_public
def rot90(x: Operand, /, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """Turned by k quarters in the plane of two axes, from the first to the second.

    >>> rot90(_fz.asarray([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """
    x, k = _tensor(x), _integer("[rot90] k", k) % 4
    if len(axes) != 2:
        raise ValueError(f"[rot90] needs two axes, got {tuple(axes)}.")
    first, second = (_axis(x, a) for a in axes)
    if first == second:
        raise ValueError(f"[rot90] the axes must differ, got {tuple(axes)} of shape {x.shape}.")
    if k == 2:
        return _fz.flip(x, axis=(first, second))
    if k == 0:
        return x[...]
    if k == 1:
        return _fz.swapaxes(_fz.flip(x, axis=second), first, second)
    return _fz.flip(_fz.swapaxes(x, first, second), axis=second)


@_public
def rollaxis(x: Operand, /, axis: int, start: int = 0) -> Tensor:
    """An axis moved to stand before the axis `start`."""
    x = _tensor(x)
    axis, start = _axis(x, axis), _integer("[rollaxis] start", start)
    start += x.ndim if start < 0 else 0
    if not 0 <= start <= x.ndim:
        raise IndexError(f"[rollaxis] start {start} is out of range for rank {x.ndim}.")
    return _fz.moveaxis(x, axis, start - (axis < start))


def _places(name, x, where, axis):
    """Where along an axis, as a list of Python ints counted from the front."""
    n = x.shape[axis]
    if isinstance(where, slice):
        return [*range(*where.indices(n))]
    chosen = _tensor(where)
    if chosen.dtype == _fz.bool:
        if chosen.shape != (n,):
            raise ValueError(f"[{name}] a mask for an axis of {n} has shape {chosen.shape}.")
        return [i for i, on in enumerate(chosen.tolist()) if on]
    if chosen.size and chosen.dtype.kind == "real floating":
        raise IndexError(f"[{name}] places must be integers, got {chosen.dtype.name}.")
    places = _fz.flatten(chosen).tolist() if chosen.size else []
    for i in places:
        if not -n <= i < n + (name == "insert"):
            raise IndexError(f"[{name}] place {i} is out of range for an axis of extent {n}.")
    return [i + n if i < 0 else i for i in places]


def _flat(x, axis):
    x = _tensor(x)
    return (_fz.flatten(x), 0) if axis is None else (x, _axis(x, axis))


@_public
def delete(x: Operand, where: Any, /, axis: int | None = None) -> Tensor:
    """x without what stands at places along an axis: an integer, several, a slice or a mask.

    Places in a tensor are read. Without an axis x is flattened.

    >>> delete(_fz.arange(5), [1, -1]).tolist()
    [0, 2, 3]
    """
    t, along = _flat(x, axis)
    gone = {*_places("delete", t, where, along)}
    kept = [i for i in range(t.shape[along]) if i not in gone]
    return _fz.take(t, _fz.asarray(kept, dtype=_fz.int64), axis=along)


@_public
def insert(x: Operand, where: Any, values: Operand, /, axis: int | None = None) -> Tensor:
    """x with values put before places along an axis: one integer, several, a slice or a mask.

    Places in a tensor are read. Without an axis x is flattened.

    >>> insert(_fz.arange(3), 1, 9).tolist()
    [0, 9, 1, 2]
    """
    t, along = _flat(x, axis)
    return _inserted(t, along, where, values)


def _inserted(x, axis, where, values):
    places = _places("insert", x, where, axis)
    v = _tensor(values).astype(x.dtype)
    one = _is_count(where)
    if one and v.ndim:  # of one place there may be many values
        v = _fz.moveaxis(_at_least(v, x.ndim), 0, axis) if v.ndim < x.ndim else v
    more = len(places)
    if one and v.ndim == x.ndim:
        more, places = v.shape[axis], places * v.shape[axis]
    v = _fz.broadcast_to(v, (*x.shape[:axis], more, *x.shape[axis + 1 :]))
    n = x.shape[axis]
    order = sorted([(i, 0, j) for j, i in enumerate(places)] + [(i, 1, i) for i in range(n)])
    index = [n + j if kind == 0 else j for _, kind, j in order]
    both = _fz.concat([x, v], axis=axis)
    return _fz.take(both, _fz.asarray(index, dtype=_fz.int64), axis=axis)


def _at_least(x, n):
    return x.reshape((1,) * (n - x.ndim) + x.shape)
