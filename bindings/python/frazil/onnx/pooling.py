"""Pooling: maxima, means and norms of windows, of all places, of regions."""

from __future__ import annotations

import itertools
import math
from typing import Any

import frazil as fz
from frazil.nn._places import along
from frazil.nn.pooling import _first_max, _first_max_at, _flat_places, _lowest, _sum
from frazil.onnx._table import converts
from frazil.onnx.convolutions import auto_pads
from frazil.onnx.shapes import ints


class _Windows:
    """Where windows lie: how many there are along each axis, and how wide padding is."""

    def __init__(
        self, x: Any, kernel: Any, strides: Any, dilations: Any, pads: Any, auto_pad: str, ceil: int
    ) -> None:
        n = len(kernel)
        self.kernel, self.n = kernel, n
        self.strides, self.dilations = strides or [1] * n, dilations or [1] * n
        self.sizes = x.shape[2:]
        self.pads = auto_pads(auto_pad, self.sizes, kernel, self.strides, self.dilations, pads)
        self.counts, self.widths = [], [(0, 0), (0, 0)]
        for size, k, s, d, (before, after) in zip(
            self.sizes, kernel, self.strides, self.dilations, self.pads, strict=True
        ):
            span = size + before + after - d * (k - 1) - 1
            count = (-(-span // s) if ceil else span // s) + 1
            if ceil and (count - 1) * s >= size + before:
                count -= 1
            if count < 1:
                raise ValueError(f"[onnx] a window of {k} does not fit {size} elements.")
            reach = (count - 1) * s + d * (k - 1) + 1
            self.counts.append(count)
            self.widths.append((before, max(reach - before - size, 0)))

    def places(self) -> Any:
        return itertools.product(*[range(k) for k in self.kernel])

    def parts(self, x: Any, value: Any) -> list[Any]:
        """Part j has element j of every window."""
        if any(map(any, self.widths)):
            x = fz.pad(x, self.widths, constant_values=value)
        parts = []
        for place in self.places():
            index = [slice(None), slice(None)]
            for j, c, s, d in zip(place, self.counts, self.strides, self.dilations, strict=True):
                index.append(slice(j * d, j * d + (c - 1) * s + 1, s))
            parts.append(x[tuple(index)])
        return parts

    def columns(self, place: Any) -> list[list[int]]:
        """Where in the input the elements of a part lie, along each axis."""
        return [
            [i * s + j * d - before for i in range(c)]
            for j, c, s, d, (before, _) in zip(
                place, self.counts, self.strides, self.dilations, self.pads, strict=True
            )
        ]


@converts("MaxPool")
def max_pool(
    x: Any, *, kernel_shape: Any, auto_pad: str = "NOTSET", pads: Any = None, strides: Any = None,
    dilations: Any = None, ceil_mode: int = 0, storage_order: int = 0, node: Any,
) -> Any:  # fmt: skip
    windows = _Windows(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    parts = windows.parts(x, _lowest(x))
    if not node.wants(1):
        return _first_max(parts)
    axes = list(range(2, x.ndim))
    if storage_order:
        axes.reverse()
    places = []
    for place in windows.places():
        columns = windows.columns(place)
        if storage_order:
            columns.reverse()
        places.append(_flat_places(columns, axes, x))
    best, at = _first_max_at(parts, places)
    images = fz.arange(math.prod(x.shape[:2])).reshape(x.shape[:2] + (1,) * (x.ndim - 2))
    return best, at + images * math.prod(x.shape[2:])


@converts("AveragePool")
def average_pool(
    x: Any, *, kernel_shape: Any, auto_pad: str = "NOTSET", pads: Any = None, strides: Any = None,
    dilations: Any = None, ceil_mode: int = 0, count_include_pad: int = 0,
) -> Any:  # fmt: skip
    windows = _Windows(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    total = _sum(windows.parts(x, 0))
    for axis in range(windows.n):
        before, after = windows.pads[axis] if count_include_pad else (0, 0)
        low, high = -before, windows.sizes[axis] + after
        k, s, d = windows.kernel[axis], windows.strides[axis], windows.dilations[axis]
        begin = windows.pads[axis][0]
        counts = [
            sum(low <= i * s - begin + j * d < high for j in range(k))
            for i in range(windows.counts[axis])
        ]
        if len(set(counts)) == 1:
            total = total / counts[0]
        else:
            total = total / along(counts, axis + 2, total.ndim, total)
    return total


def _norm(total: Any, p: float) -> Any:
    return total if p == 1 else fz.sqrt(total) if p == 2 else total ** (1.0 / p)


def _power(x: Any, p: float) -> Any:
    return x * x if p == 2 else fz.abs(x) ** p if p != 1 else fz.abs(x)


@converts("LpPool")
def lp_pool(
    x: Any, *, kernel_shape: Any, p: float = 2, auto_pad: str = "NOTSET", pads: Any = None,
    strides: Any = None, dilations: Any = None, ceil_mode: int = 0,
) -> Any:  # fmt: skip
    windows = _Windows(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    return _norm(_sum(windows.parts(_power(x, p), 0)), p)


def _all(x: Any) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


@converts("GlobalAveragePool")
def global_average(x: Any) -> Any:
    return fz.mean(x, axis=_all(x), keepdims=True)


@converts("GlobalMaxPool")
def global_max(x: Any) -> Any:
    return fz.max(x, axis=_all(x), keepdims=True)


@converts("GlobalLpPool")
def global_lp(x: Any, *, p: float = 2) -> Any:
    return _norm(fz.sum(_power(x, p), axis=_all(x), keepdims=True), p)


@converts("MaxUnpool", 9, host="output_shape")
def max_unpool(
    x: Any, indices: Any, output_shape: Any = None, *, kernel_shape: Any, pads: Any = None,
    strides: Any = None,
) -> Any:  # fmt: skip
    n = len(kernel_shape)
    strides, pads = strides or [1] * n, pads or [0] * (2 * n)
    sizes = [
        (x.shape[2 + i] - 1) * strides[i] + kernel_shape[i] - pads[i] - pads[i + n]
        for i in range(n)
    ]
    own = [*x.shape[:2], *sizes]
    flat = fz.zeros((math.prod(own),), dtype=x.dtype)
    if output_shape is None:
        flat[indices.reshape((-1,))] = x.reshape((-1,))
        return flat.reshape(tuple(own))
    # Places were counted in the image that was pooled; the result is larger.
    wanted = ints(output_shape)
    flat[indices.reshape((-1,))] = x.reshape((-1,))
    return fz.pad(flat.reshape(tuple(own)), [(0, w - o) for w, o in zip(wanted, own, strict=True)])


@converts("MaxRoiPool", host="rois")
def max_roi_pool(x: Any, rois: Any, *, pooled_shape: Any, spatial_scale: float = 1.0) -> Any:
    """Maxima of the cells of a grid over each region (Girshick 2015)."""
    height, width = pooled_shape
    results = []
    for roi in rois.array():
        left, top, right, bottom = (math.floor(v * spatial_scale + 0.5) for v in roi[1:])
        tall, wide = max(bottom - top + 1, 1) / height, max(right - left + 1, 1) / width
        image, cells = x[int(roi[0])], []
        for i in range(height):
            for j in range(width):
                ys = [
                    min(max(v, 0), x.shape[2])
                    for v in (math.floor(i * tall) + top, math.ceil((i + 1) * tall) + top)
                ]
                xs = [
                    min(max(v, 0), x.shape[3])
                    for v in (math.floor(j * wide) + left, math.ceil((j + 1) * wide) + left)
                ]
                cell = image[:, ys[0] : ys[1], xs[0] : xs[1]]
                empty = ys[0] >= ys[1] or xs[0] >= xs[1]
                cells.append(
                    fz.zeros((x.shape[1],), dtype=x.dtype) if empty else fz.max(cell, axis=(1, 2))
                )
        results.append(fz.stack(cells, axis=1).reshape((x.shape[1], height, width)))
    return fz.stack(results)
