"""Windows as columns and back (Unfold, Fold), places by coordinates, distances of all pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil.nn._arguments import one_of, several
from frazil.nn.module import Module
from frazil.nn.pooling import _windows

if TYPE_CHECKING:
    from frazil._frazil import Tensor

__all__ = ["Fold", "Unfold", "affine_grid", "fold", "grid_sample", "pdist", "unfold"]


def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """The windows of ([n,] channels, height, width) as columns: ([n,] channels * window, windows).

    The elements of a column go through the channels, and in each through the window row by row
    (im2col). `fold` is its gradient.

    >>> unfold(_fz.arange(9.0).reshape(1, 1, 3, 3), 2).tolist()
    [[[0.0, 1.0, 3.0, 4.0], [1.0, 2.0, 4.0, 5.0], [3.0, 4.0, 6.0, 7.0], [4.0, 5.0, 7.0, 8.0]]]
    """
    if input.ndim not in (3, 4):
        raise ValueError(f"[unfold] needs 3 or 4 axes, got shape {input.shape}.")
    axes = input.ndim - 2, input.ndim - 1
    widths = [(0, 0)] * axes[0] + [(p, p) for p in several("[unfold] padding", padding, 2, 0)]
    x = _fz.pad(input, widths) if any(map(any, widths)) else input
    parts = _windows("unfold", 2, x, kernel_size, stride, 0, dilation, False, 0, axes)[0]
    columns = _fz.stack(parts, axis=axes[0])
    *rest, channels, size, height, width = columns.shape
    return columns.reshape((*rest, channels * size, height * width))


def fold(
    input: Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Adds columns of ([n,] channels * window, windows) up where their windows lie (col2im):
    ([n,] channels, *output_size).

    Raises
    ------
    ValueError
        If the extents are not those of the windows.

    >>> fold(_fz.ones((1, 4, 4)), 3, 2).tolist()
    [[[[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]]]
    """
    size = several("[fold] output_size", output_size, 2, 1)
    kernel = several("[fold] kernel_size", kernel_size, 2, 1)
    dilation = several("[fold] dilation", dilation, 2, 1)
    padding = several("[fold] padding", padding, 2, 0)
    stride = several("[fold] stride", stride, 2, 1)
    if input.ndim not in (2, 3):
        raise ValueError(f"[fold] needs 2 or 3 axes, got shape {input.shape}.")
    counts = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(size, kernel, dilation, padding, stride, strict=True)
    ]
    *rest, rows, columns = input.shape
    window = math.prod(kernel)
    if rows % window or min(counts) < 1 or columns != math.prod(counts):
        raise ValueError(
            f"[fold] needs a multiple of {window} rows and {math.prod(counts)} columns "
            f"({counts[0]} x {counts[1]} windows), got shape {input.shape}."
        )
    x = input.reshape((*rest, rows // window, window, *counts))
    height, width = (n + 2 * p for n, p in zip(size, padding, strict=True))
    out = _fz.zeros((*rest, rows // window, height, width), dtype=input.dtype, device=input.device)
    for number, place in enumerate(product(*map(range, kernel))):
        begins = [j * d for j, d in zip(place, dilation, strict=True)]
        at = tuple(
            slice(b, b + (c - 1) * s + 1, s) for b, c, s in zip(begins, counts, stride, strict=True)
        )
        out[(..., *at)] += x[..., number, :, :]
    cut = tuple(slice(p, p + n) for n, p in zip(size, padding, strict=True))
    return out[(..., *cut)]


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Coordinates for grid_sample: theta (n, 2, 3) with size (n, c, height, width), or (n, 3, 4)
    with a depth, maps each place of the result to one of the input.

    >>> affine_grid(_fz.eye(2, 3)[None], (1, 1, 1, 2), align_corners=True).tolist()
    [[[[-1.0, 0.0], [1.0, 0.0]]]]
    """
    n = len(size) - 2
    if n not in (2, 3) or theta.shape != (size[0], n, n + 1):
        raise ValueError(
            "[affine_grid] needs theta of (n, 2, 3) and a size (n, c, height, width), or (n, 3, 4) "
            f"and (n, c, depth, height, width): got {theta.shape} and {tuple(size)}."
        )
    places = size[2:]
    ones = _fz.ones(tuple(places), dtype=theta.dtype, device=theta.device)
    columns = []
    for axis in reversed(range(n)):  # x comes first
        m = places[axis]
        step = (2 / (m - 1) if m > 1 else 0.0) if align_corners else 2 / m
        begin = (-1.0 if m > 1 else 0.0) if align_corners else step / 2 - 1
        shape = [m if i == axis else 1 for i in range(n)]
        numbers = [begin + i * step for i in range(m)]
        row = _fz.asarray(numbers, dtype=theta.dtype, device=theta.device)
        columns.append(row.reshape(shape) * ones)
    base = _fz.stack([*columns, ones], axis=-1).reshape((1, -1, n + 1))
    return (base @ _fz.swapaxes(theta, 1, 2)).reshape((size[0], *places, n))


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The elements of (n, c, height, width) at coordinates grid (n, ..., 2), x before y, of which
    -1 and 1 are the outermost elements (align_corners=True) or their outer edges; likewise of
    (n, c, depth, height, width) at (n, ..., 3).

    Parameters
    ----------
    mode : str
        "bilinear", of a volume trilinear; "nearest"; "bicubic" of images.
    padding_mode : str
        What lies outside: "zeros", the nearest element ("border") or the mirrored ones
        ("reflection").

    >>> x = _fz.asarray([[[[1.0, 3.0]]]])
    >>> grid_sample(x, _fz.asarray([[[[0.0, 0.0], [1.0, 0.0]]]]), align_corners=True).tolist()
    [[[[2.0, 3.0]]]]
    """
    one_of("[grid_sample] mode", mode, "bilinear", "nearest", "bicubic")
    one_of("[grid_sample] padding_mode", padding_mode, "zeros", "border", "reflection")
    n = input.ndim - 2
    if (
        n not in (2, 3)
        or grid.ndim != n + 2
        or grid.shape[0] != input.shape[0]
        or (grid.shape[-1] != n)
    ):
        raise ValueError(
            "[grid_sample] needs an input of (n, c, height, width) and a grid of (n, h, w, 2), or "
            f"of one axis more and 3: got {input.shape} and {grid.shape}."
        )
    if mode == "bicubic" and n == 3:
        raise ValueError('[grid_sample] mode "bicubic" is for images, got a volume.')
    places, corners = input.shape[2:], bool(align_corners)
    at = []  # of each axis of the input, in elements
    for axis in range(n):
        x, m = grid[..., n - 1 - axis], places[axis]
        x = (x + 1) * ((m - 1) / 2) if corners else ((x + 1) * m - 1) / 2
        at.append(x if mode == "bicubic" else _within(x, m, padding_mode, corners))
    if mode == "nearest":
        return _picked(input, [_fz.round(x) for x in at], padding_mode, corners)
    whole = [_fz.floor(x) for x in at]
    rest = [x - w for x, w in zip(at, whole, strict=True)]
    steps, weight = (range(-1, 3), _cubic) if mode == "bicubic" else (range(2), _linear)
    total: Any = 0.0
    for place in product(steps, repeat=n):
        weights = [weight(j, r) for j, r in zip(place, rest, strict=True)]
        found = [w + j for w, j in zip(whole, place, strict=True)]
        total = total + _picked(input, found, padding_mode, corners) * math.prod(weights)[:, None]
    return total


def _within(x, m, padding_mode, corners):
    """Coordinates along an axis of m elements, brought into it."""
    if padding_mode == "reflection":
        low, span = (0.0, float(m - 1)) if corners else (-0.5, float(m))
        x = abs(x - low)
        turns = _fz.floor(x / span) if span else x * 0
        inside = x - turns * span
        odd = turns - 2 * _fz.floor(turns / 2) == 1
        x = _fz.where(odd, span - inside, inside) + low if span else x * 0
    return x if padding_mode == "zeros" else _fz.clip(x, 0, m - 1)


def _picked(input, at, padding_mode, corners):
    """The elements at whole coordinates, (n, ...) along each axis: (n, c, ...)."""
    n, c, *places = input.shape
    flat = 0
    outside = False
    for x, m in zip(at, places, strict=True):
        x = _within(x, m, padding_mode, corners)
        if padding_mode == "zeros":
            outside = (x < 0) | (x > m - 1) | outside
        inside = _fz.minimum(_fz.where(x > 0, x, 0.0), m - 1)  # 0 for NaN
        flat = flat * m + inside.astype("int64")
    index = _fz.broadcast_to(flat.reshape((n, 1, -1)), (n, c, flat.size // n))
    found = _fz.take_along_axis(input.reshape((n, c, -1)), index, axis=2)
    found = found.reshape((n, c, *flat.shape[1:]))
    return found if outside is False else _fz.where(outside[:, None], 0.0, found)


def _linear(j, rest):
    return rest if j else 1 - rest


def _cubic(j, rest, a=-0.75):
    """The weight of the element at j (Keys 1981)."""
    t = abs(rest - j)
    if j in (0, 1):
        return ((a + 2) * t - (a + 3)) * t * t + 1
    return ((t - 5) * t + 8) * a * t - 4 * a


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norms of the differences of all pairs of rows, the pairs (i, j), i < j, in order.

    >>> pdist(_fz.asarray([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])).tolist()
    [5.0, 1.0, 4.242640495300293]
    """
    if input.ndim != 2:
        raise ValueError(f"[pdist] needs two axes, got shape {input.shape}.")
    if p < 0:
        raise ValueError(f"[pdist] p must be at least 0, got {p}.")
    rows = range(input.shape[0])
    pairs = [(i, j) for i in rows for j in rows if i < j]
    first = _fz.asarray([i for i, _ in pairs], dtype="int64", device=input.device)
    second = _fz.asarray([j for _, j in pairs], dtype="int64", device=input.device)
    difference = abs(_fz.take(input, first, axis=0) - _fz.take(input, second, axis=0))
    if p == 0:
        return (difference != 0).astype(input.dtype).sum(axis=1)
    if p == math.inf:
        return difference.max(axis=1)
    total = (difference**p).sum(axis=1)
    equal = total == 0  # the root has no derivative there, the norm takes 0
    return _fz.where(equal, 0.0, _fz.where(equal, 1.0, total) ** (1 / p))


class Unfold(Module):
    """The windows of images as columns (see functional.unfold)."""

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
    ) -> None:
        self.kernel_size, self.dilation = kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class Fold(Unfold):
    """Columns added up where their windows lie (see functional.fold)."""

    def __init__(
        self,
        output_size: int | Sequence[int],
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, {super().extra_repr()}"
