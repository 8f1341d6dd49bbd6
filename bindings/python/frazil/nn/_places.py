"""Elements of an axis by lists of indices, and numbers along one."""

from __future__ import annotations

from frazil import _frazil as _fz


def along(values, axis, ndim, like, dtype=None):
    """Numbers as a tensor along an axis."""
    shape = [1] * ndim
    shape[axis] = len(values)
    return _fz.asarray(values, dtype=dtype or like.dtype, device=like.device).reshape(shape)


def part(x, axis, columns):
    """The elements of an axis with these indices: a slice where they are evenly apart."""
    step = columns[1] - columns[0] if len(columns) > 1 else 1
    if step > 0 and columns == list(range(columns[0], columns[-1] + 1, step)):
        return x[(slice(None),) * axis + (slice(columns[0], columns[-1] + 1, step),)]
    return _fz.take(x, _fz.asarray(columns, device=x.device), axis=axis)
