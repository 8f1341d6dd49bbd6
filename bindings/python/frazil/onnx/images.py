"""Images: sampling at places, regions, suppression of boxes, decoding."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import frazil as fz
from frazil.onnx._table import converts
from frazil.onnx._values import array_of
from frazil.onnx.shapes import ints


@converts("AffineGrid", 20, host="size")
def affine_grid(theta: Any, size: Any, *, align_corners: int = 0) -> Any:
    extents = ints(size)[2:]
    axes = []
    for n in extents:
        at = fz.arange(n).astype(theta.dtype)
        if align_corners:
            axes.append(at * (2 / (n - 1)) - 1 if n > 1 else at * 0)
        else:
            axes.append((at * 2 + 1) / n - 1)
    grids = list(fz.meshgrid(*axes, indexing="ij"))[::-1]
    grids.append(fz.ones(tuple(extents), dtype=theta.dtype))
    points = fz.stack(grids, axis=-1).reshape((-1, len(extents) + 1))
    y = fz.matmul(points, fz.matrix_transpose(theta))
    return y.reshape((theta.shape[0], *extents, len(extents)))


def _reflected(x: Any, low: float, high: float) -> Any:
    """Mirrored at both ends as often as needed."""
    span = high - low
    if span <= 0:
        return x * 0
    x = fz.remainder(fz.abs(x - low), 2 * span)
    return fz.minimum(x, 2 * span - x) + low


def _inside(x: Any, n: int, padding: str, align: int) -> Any:
    if padding == "border":
        return fz.clip(x, 0, n - 1)
    if padding == "reflection":
        low, high = (0.0, n - 1.0) if align else (-0.5, n - 0.5)
        return fz.clip(_reflected(x, low, high), 0, n - 1)
    return x


def _cubic(t: Any, a: float = -0.75) -> Any:
    t = fz.abs(t)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    return fz.where(t <= 1, near, ((t - 5) * t + 8) * a * t - 4 * a)


@converts("GridSample", 16)
def grid_sample(
    x: Any, grid: Any, *, align_corners: int = 0, mode: str = "linear",
    padding_mode: str = "zeros",
) -> Any:  # fmt: skip
    n, c, *sizes = x.shape
    out = grid.shape[1:-1]
    points = grid.reshape((n, -1, len(sizes)))
    axes: list[Any] = []  # for each axis (place, weight) of each tap
    for axis, size in enumerate(sizes):
        g = points[..., len(sizes) - 1 - axis]
        at = (g + 1) / 2 * (size - 1) if align_corners else ((g + 1) * size - 1) / 2
        if mode in ("cubic", "bicubic"):
            low = fz.floor(at)
            taps = [(low + j, _cubic(at - (low + j))) for j in range(-1, 3)]
            axes.append([(_inside(p, size, padding_mode, align_corners), w) for p, w in taps])
            continue
        at = _inside(at, size, padding_mode, align_corners)
        if mode == "nearest":
            axes.append([(fz.round(at), None)])
        else:
            low = fz.floor(at)
            axes.append([(low, 1 - (at - low)), (low + 1, at - low)])
    flat = x.reshape((n, c, -1))
    total: Any = None
    for places in itertools.product(*axes):
        place: Any = 0
        weight: Any = None
        for (where, w), size in zip(places, sizes, strict=True):
            shown = (where >= 0) & (where <= size - 1)
            w = shown.astype(x.dtype) if w is None else fz.where(shown, w, fz.zeros_like(w))
            weight = w if weight is None else weight * w
            place = place * size + fz.clip(where, 0, size - 1).astype("int64")
        index = fz.broadcast_to(place[:, None], (n, c, place.shape[-1]))
        part = fz.take_along_axis(flat, index, axis=2) * weight[:, None].astype(x.dtype)
        total = part if total is None else total + part
    return total.reshape((n, c, *out))


def _bin_places(begin: float, width: float, count: int, grid: int, size: int) -> Any:
    """Two places, their weights (bins * grid), 0 beyond the image, along one axis."""
    at = begin + np.arange(count)[:, None] * width + (np.arange(grid) + 0.5) * width / grid
    at = at.reshape(-1)
    shown = (at >= -1.0) & (at <= size)
    at = np.maximum(at, 0)
    low = np.floor(at).astype(np.int64)
    last = low >= size - 1
    low = np.where(last, size - 1, low)
    high = np.where(last, size - 1, low + 1)
    rest = np.where(last, 0.0, at - low)
    return (low, (1 - rest) * shown), (high, rest * shown)


def _roi_align(
    x: Any, rois: Any, batches: Any, mode: str, height: int, width: int, ratio: int, scale: float,
    half_pixel: bool,
) -> Any:  # fmt: skip
    """Means or maxima of samples in each cell of a grid over regions (He et al. 2017)."""
    results = []
    offset = 0.5 if half_pixel else 0.0
    for roi, batch in zip(np.asarray(rois.array(), np.float64), ints(batches), strict=True):
        left, top, right, bottom = (float(v) * scale - offset for v in roi)
        wide, tall = right - left, bottom - top
        if not half_pixel:
            wide, tall = max(wide, 1.0), max(tall, 1.0)
        rows = ratio if ratio > 0 else max(math.ceil(tall / height), 1)
        columns = ratio if ratio > 0 else max(math.ceil(wide / width), 1)
        ys = _bin_places(top, tall / height, height, rows, x.shape[2])
        xs = _bin_places(left, wide / width, width, columns, x.shape[3])
        image, parts = x[batch], []
        for (py, wy), (px, wx) in itertools.product(ys, xs):
            taken = fz.take(fz.take(image, fz.asarray(py), axis=1), fz.asarray(px), axis=2)
            parts.append(taken * fz.asarray(wy[:, None] * wx[None, :], dtype=x.dtype))
        split = (x.shape[1], height, rows, width, columns)
        if mode == "avg":
            total = parts[0] + parts[1] + parts[2] + parts[3]
            results.append(fz.mean(total.reshape(split), axis=(2, 4)))
        else:
            best = fz.maximum(fz.maximum(parts[0], parts[1]), fz.maximum(parts[2], parts[3]))
            results.append(fz.max(best.reshape(split), axis=(2, 4)))
    return fz.stack(results)


@converts("RoiAlign", 10, host="rois batches")
def roi_align_output(
    x: Any, rois: Any, batches: Any, *, mode: str = "avg", output_height: int = 1,
    output_width: int = 1, sampling_ratio: int = 0, spatial_scale: float = 1.0,
) -> Any:  # fmt: skip
    options = output_height, output_width, sampling_ratio, spatial_scale
    return _roi_align(x, rois, batches, mode, *options, False)


@converts("RoiAlign", 16, host="rois batches")
def roi_align(
    x: Any, rois: Any, batches: Any, *, mode: str = "avg", output_height: int = 1,
    output_width: int = 1, sampling_ratio: int = 0, spatial_scale: float = 1.0,
    coordinate_transformation_mode: str = "half_pixel",
) -> Any:  # fmt: skip
    options = output_height, output_width, sampling_ratio, spatial_scale
    half = coordinate_transformation_mode == "half_pixel"
    return _roi_align(x, rois, batches, mode, *options, half)


def _corners(boxes: Any, center: int) -> Any:
    if center:
        x, y, w, h = boxes.T
        return np.stack([y - h / 2, x - w / 2, y + h / 2, x + w / 2], axis=1)
    first, second = boxes[:, :2], boxes[:, 2:]
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], axis=1)


def _overlapping(a: Any, b: Any, threshold: float) -> tuple[Any, Any]:
    """Pairs of boxes (rows: top, left, bottom, right, area) with a higher intersection over union:
    places in a, in order, and in b."""
    a, b = a[:, :, None], b[:, None, :]
    apart = (a[0] >= b[2]) | (b[0] >= a[2])
    apart |= a[1] >= b[3]
    apart |= b[1] >= a[3]
    i, j = np.divmod(np.flatnonzero(~apart), apart.shape[1])
    a, b = a[:, i, 0], b[:, 0, j]
    sides = np.minimum(a[2:4], b[2:4]) - np.maximum(a[:2], b[:2])
    common = np.maximum(sides[0], 0) * np.maximum(sides[1], 0)
    with np.errstate(all="ignore"):
        over = common / (b[4] + a[4] - common) > threshold
    return i[over], j[over]


def _kept(boxes: Any, threshold: float, limit: int) -> Any:
    """Which boxes (columns, best first) overlap no kept better one too much, at most `limit`.
    Blocks of candidates are compared with what is kept, then among themselves."""
    kept = np.empty(0, np.int64)
    if not threshold >= 0:  # then any two overlap too much
        limit = min(limit, 1)
    begin, end, most = 0, 0, boxes.shape[1]
    while begin < most and len(kept) < limit:
        end = begin + min(max(64, limit - len(kept)), 256)
        block = np.arange(begin, min(end, most))
        begin = end
        alive = np.ones(len(block), bool)
        alive[_overlapping(boxes[:, kept], boxes[:, block], threshold)[1]] = False
        block = block[alive]
        own, other = _overlapping(boxes[:, block], boxes[:, block], threshold)
        later = own < other
        left = bytearray(b"\1" * len(block))
        for i, k in zip(own[later].tolist(), other[later].tolist(), strict=True):
            if left[i]:
                left[k] = 0
        kept = np.concatenate([kept, block[np.frombuffer(left, bool)]])
    return kept[:limit]


def _best(score: Any, boxes: Any, threshold: float, limit: int, least: float | None) -> Any:
    """The kept boxes of a class. Those of the highest scores are looked at first."""
    shown = np.arange(len(score)) if least is None else np.flatnonzero(score > least)
    some, first = shown, 2 * limit + 64
    if least is not None and len(shown) > 2 * first:
        own = score[shown]
        some = shown[own >= np.partition(own, len(own) - first)[len(own) - first]]
    while True:
        order = some[np.argsort(-score[some], kind="stable")]
        best = order[_kept(boxes[:, order], threshold, limit)]
        if len(best) >= limit or len(some) == len(shown):
            return best
        some = shown


@converts("NonMaxSuppression", 10, raw="boxes scores", host="most iou least", data=True)
def non_max_suppression(
    boxes: Any, scores: Any, most: Any = None, iou: Any = None, least: Any = None, *,
    center_point_box: int = 0,
) -> Any:  # fmt: skip
    """The best boxes of each class, without those that overlap a better one too much."""
    limit = 0 if most is None else int(most)
    threshold = 0.0 if iou is None else float(iou)
    boxes, scores = array_of(boxes), array_of(scores)
    floor = None if least is None else float(least)
    chosen = [np.empty((0, 3), np.int64)]
    for batch, classes in enumerate(scores):
        corners = _corners(np.asarray(boxes[batch], np.float64), center_point_box).T
        sized = np.stack([*corners, (corners[2] - corners[0]) * (corners[3] - corners[1])])
        for c, score in enumerate(classes):
            best = _best(score, sized, threshold, limit, floor)
            chosen.append(
                np.stack([np.full(len(best), batch), np.full(len(best), c), best], axis=1)
            )
    return np.concatenate(chosen).astype(np.int64)


@converts("ImageDecoder", 20, host="stream")
def image_decoder(stream: Any, *, pixel_format: str = "RGB") -> Any:
    """By Pillow."""
    import io

    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("[onnx] ImageDecoder needs Pillow: pip install pillow.") from error
    image = Image.open(io.BytesIO(bytes(stream.flat)))
    if pixel_format == "Grayscale":
        return np.asarray(image.convert("L"))[:, :, None]
    pixels = np.asarray(image.convert("RGB"))
    return np.ascontiguousarray(pixels[:, :, ::-1]) if pixel_format == "BGR" else pixels
