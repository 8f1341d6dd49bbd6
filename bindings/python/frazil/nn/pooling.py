"""Pooling: maxima and means of windows, given or adapted to the extents that are wanted.

A window's elements are parts of the input: part j of an axis has element j of every window. The
first of equal maxima is chosen, and gets the gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._dtypes import iinfo as _iinfo
from frazil.nn._arguments import several
from frazil.nn._places import along
from frazil.nn._places import part as _part

if TYPE_CHECKING:
    from frazil._frazil import Tensor

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d", "max_pool2d", "max_pool3d",
]  # fmt: skip


def _axes(op, n, x, channels_last):
    if x.ndim not in (n + 1, n + 2):
        raise ValueError(f"[{op}] needs {n + 1} or {n + 2} axes, got shape {x.shape}.")
    return tuple(range(x.ndim - n - 1, x.ndim - 1) if channels_last else range(x.ndim - n, x.ndim))


def _extent(op, size, kernel, stride, padding, dilation, ceil_mode):
    """How many windows an axis has."""
    if padding > kernel // 2:
        raise ValueError(
            f"[{op}] padding must be at most half of the kernel: {padding} and {kernel}."
        )
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    n = (-(-span // stride) if ceil_mode else span // stride) + 1
    if ceil_mode and (n - 1) * stride >= size + padding:
        n -= 1  # the last window would begin behind the input
    if n < 1:
        raise ValueError(f"[{op}] a window of {kernel} elements does not fit {size} elements.")
    return n


def _product(extents):
    """All places of a window in row-major order."""
    places = [()]
    for extent in extents:
        places = [(*place, i) for place in places for i in range(extent)]
    return places


def _windows(op, n, x, kernel, stride, padding, dilation, ceil_mode, value, axes):
    """The parts of the windows in row-major order, each with its place in a window, and where each
    window begins along each axis."""
    kernel = several(f"[{op}] kernel_size", kernel, n, 1)
    stride = kernel if stride is None or stride == () else several(f"[{op}] stride", stride, n, 1)
    padding = several(f"[{op}] padding", padding, n, 0)
    dilation = several(f"[{op}] dilation", dilation, n, 1)
    widths, counts = [(0, 0)] * x.ndim, []
    for axis, k, s, p, d in zip(axes, kernel, stride, padding, dilation, strict=True):
        count = _extent(op, x.shape[axis], k, s, p, d, ceil_mode)
        reach = (count - 1) * s + d * (k - 1) + 1
        widths[axis] = (p, max(reach - p - x.shape[axis], 0))
        counts.append(count)
    padded = _fz.pad(x, widths, constant_values=value) if any(map(any, widths)) else x
    parts = []
    for place in _product(kernel):
        index = [slice(None)] * x.ndim
        for axis, j, c, s, d in zip(axes, place, counts, stride, dilation, strict=True):
            index[axis] = slice(j * d, j * d + (c - 1) * s + 1, s)
        parts.append(padded[tuple(index)])
    begins = [
        [i * s - p for i in range(c)] for c, s, p in zip(counts, stride, padding, strict=True)
    ]
    return parts, begins, kernel, stride, padding, dilation


def _lowest(x):
    return -math.inf if x.dtype.kind == "real floating" else _iinfo(x.dtype).min


def _first_max(parts):
    best = parts[0]
    for part in parts[1:]:
        best = _fz.where((part > best) | (part != part), part, best)
    return best


def _first_max_at(parts, places):
    """The maxima, and which of the places they have."""
    best, at = parts[0], _fz.broadcast_to(places[0], parts[0].shape)
    for part, place in zip(parts[1:], places[1:], strict=True):
        more = (part > best) | (part != part)
        best, at = _fz.where(more, part, best), _fz.where(more, place, at)
    return best, at


def _flat_places(columns, axes, x):
    """Where elements lie in the flattened places; columns[i] are the elements along axis i."""
    flat = _fz.zeros((), dtype="int64")
    for axis, column in zip(axes, columns, strict=True):
        flat = flat * x.shape[axis] + along(column, axis, x.ndim, x, "int64")
    return flat


def _max_pool(
    n, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, channels_last
):
    op = f"max_pool{n}d"
    axes = _axes(op, n, input, channels_last)
    parts, begins, kernel, _, _, dilation = _windows(
        op, n, input, kernel_size, stride, padding, dilation, ceil_mode, _lowest(input), axes
    )
    if not return_indices:
        return _first_max(parts)
    places = []
    for place in _product(kernel):
        moved = [j * d for j, d in zip(place, dilation, strict=True)]
        columns = [[b + m for b in begin] for begin, m in zip(begins, moved, strict=True)]
        places.append(_flat_places(columns, axes, input))
    return _first_max_at(parts, places)


def _sum(parts):
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _avg_pool(
    n, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor, channels_last
):
    op = f"avg_pool{n}d"
    axes = _axes(op, n, input, channels_last)
    parts, begins, kernel, _, padding, _ = _windows(
        op, n, input, kernel_size, stride, padding, 1, ceil_mode, 0, axes
    )
    total = _sum(parts)
    if divisor is not None:
        return total / divisor
    for axis, begin, k, p in zip(axes, begins, kernel, padding, strict=True):
        more = p if count_include_pad else 0
        low, high = -more, input.shape[axis] + more
        counts = [min(b + k, high) - max(b, low) for b in begin]
        same = len(set(counts)) == 1
        total = total / (counts[0] if same else along(counts, axis, total.ndim, total))
    return total


def _adapted(op, n, input, output_size, axes):
    """For each axis (begin, end) of each window."""
    sizes = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * n
    sizes = [input.shape[a] if s is None else s for a, s in zip(axes, sizes, strict=True)]
    sizes = several(f"[{op}] output_size", sizes, n, 1)
    return [
        [((i * m) // s, -((-(i + 1) * m) // s)) for i in range(s)]
        for m, s in ((input.shape[a], s) for a, s in zip(axes, sizes, strict=True))
    ]


def _side_by_side(x, axis, count):
    """An axis as so many windows of one width: the same code for every extent."""
    width = x.shape[axis] // count
    return x.reshape((*x.shape[:axis], count, width, *x.shape[axis + 1 :]))


def _adaptive_max(n, input, output_size, return_indices, channels_last):
    op = f"adaptive_max_pool{n}d"
    axes = _axes(op, n, input, channels_last)
    windows = _adapted(op, n, input, output_size, axes)
    if not return_indices and all(
        input.shape[a] % len(w) == 0 for a, w in zip(axes, windows, strict=True)
    ):
        for axis, window in zip(axes, windows, strict=True):
            input = _fz.max(_side_by_side(input, axis, len(window)), axis=axis + 1)
        return input
    deep = [max(end - begin for begin, end in window) for window in windows]
    parts, places = [], []
    for place in _product(deep):
        part, columns = input, []
        for axis, window, j in zip(axes, windows, place, strict=True):
            columns.append([min(begin + j, end - 1) for begin, end in window])
            part = _part(part, axis, columns[-1])
        parts.append(part)
        places.append(columns)
    if not return_indices:
        return _first_max(parts)
    return _first_max_at(parts, [_flat_places(columns, axes, input) for columns in places])


def _adaptive_avg(n, input, output_size, channels_last):
    op = f"adaptive_avg_pool{n}d"
    axes = _axes(op, n, input, channels_last)
    for axis, window in zip(axes, _adapted(op, n, input, output_size, axes), strict=True):
        extent, s = input.shape[axis], len(window)
        if extent % s == 0:
            input = _fz.mean(_side_by_side(input, axis, s), axis=axis + 1)
            continue
        counts = [end - begin for begin, end in window]
        parts = []
        for j in range(max(counts)):
            part = _part(input, axis, [min(begin + j, end - 1) for begin, end in window])
            if j >= min(counts):  # some windows have no such element
                kept = along([j < count for count in counts], axis, input.ndim, input, "bool")
                part = _fz.where(kept, part, 0.0)
            parts.append(part)
        same = len(set(counts)) == 1
        input = _sum(parts) / (counts[0] if same else along(counts, axis, input.ndim, input))
    return input


def _lp_pool(n, input, norm_type, kernel_size, stride, ceil_mode, channels_last):
    power = input**norm_type
    total = _avg_pool(n, power, kernel_size, stride, 0, ceil_mode, True, None, channels_last)
    count = math.prod(several(f"[lp_pool{n}d] kernel_size", kernel_size, n, 1))
    return (_fz.maximum(total, 0.0) * count) ** (1.0 / norm_type)


def max_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    channels_last: bool = False,
) -> Any:
    """Maxima of windows over the last axis of ([n,] channels, length)."""
    options = stride, padding, dilation, ceil_mode, return_indices, channels_last
    return _max_pool(1, input, kernel_size, *options)


def avg_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    channels_last: bool = False,
) -> Tensor:
    """Means of windows over the last axis of ([n,] channels, length)."""
    options = stride, padding, ceil_mode, count_include_pad, divisor_override, channels_last
    return _avg_pool(1, input, kernel_size, *options)


def adaptive_max_pool1d(
    input: Tensor,
    output_size: Any,
    return_indices: bool = False,
    channels_last: bool = False,
) -> Any:
    """As many maxima of windows as wanted, over the last axis of ([n,] channels, length)."""
    return _adaptive_max(1, input, output_size, return_indices, channels_last)


def adaptive_avg_pool1d(input: Tensor, output_size: Any, channels_last: bool = False) -> Tensor:
    """As many means of windows as wanted, over the last axis of ([n,] channels, length)."""
    return _adaptive_avg(1, input, output_size, channels_last)


def max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    channels_last: bool = False,
) -> Any:
    """Maxima of windows over the last two axes of ([n,] channels, height, width).

    Padding is -inf. With return_indices=True also where in the flattened places each one was.

    >>> max_pool2d(_fz.arange(16.0).reshape(1, 4, 4), 2).tolist()
    [[[5.0, 7.0], [13.0, 15.0]]]
    """
    options = stride, padding, dilation, ceil_mode, return_indices, channels_last
    return _max_pool(2, input, kernel_size, *options)


def avg_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    channels_last: bool = False,
) -> Tensor:
    """Means of windows over the last two axes of ([n,] channels, height, width)."""
    options = stride, padding, ceil_mode, count_include_pad, divisor_override, channels_last
    return _avg_pool(2, input, kernel_size, *options)


def adaptive_max_pool2d(
    input: Tensor,
    output_size: Any,
    return_indices: bool = False,
    channels_last: bool = False,
) -> Any:
    """As many maxima of windows as wanted, over height and width of ([n,] channels, ...)."""
    return _adaptive_max(2, input, output_size, return_indices, channels_last)


def adaptive_avg_pool2d(input: Tensor, output_size: Any, channels_last: bool = False) -> Tensor:
    """As many means of windows as wanted, over height and width of ([n,] channels, ...)."""
    return _adaptive_avg(2, input, output_size, channels_last)


def max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    channels_last: bool = False,
) -> Any:
    """Maxima of windows over depth, height and width of ([n,] channels, ...)."""
    options = stride, padding, dilation, ceil_mode, return_indices, channels_last
    return _max_pool(3, input, kernel_size, *options)


def avg_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    channels_last: bool = False,
) -> Tensor:
    """Means of windows over depth, height and width of ([n,] channels, ...)."""
    options = stride, padding, ceil_mode, count_include_pad, divisor_override, channels_last
    return _avg_pool(3, input, kernel_size, *options)


def adaptive_max_pool3d(
    input: Tensor,
    output_size: Any,
    return_indices: bool = False,
    channels_last: bool = False,
) -> Any:
    """As many maxima of windows as wanted, over depth, height and width of ([n,] channels, ...)."""
    return _adaptive_max(3, input, output_size, return_indices, channels_last)


def adaptive_avg_pool3d(input: Tensor, output_size: Any, channels_last: bool = False) -> Tensor:
    """As many means of windows as wanted, over depth, height and width of ([n,] channels, ...)."""
    return _adaptive_avg(3, input, output_size, channels_last)


def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
    channels_last: bool = False,
) -> Tensor:
    """The norm of this type of each window: (sum of x ** norm_type) ** (1 / norm_type)."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode, channels_last)


def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
    channels_last: bool = False,
) -> Tensor:
    """The norm of this type of each window: (sum of x ** norm_type) ** (1 / norm_type)."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode, channels_last)


def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
    channels_last: bool = False,
) -> Tensor:
    """The norm of this type of each window: (sum of x ** norm_type) ** (1 / norm_type)."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode, channels_last)
