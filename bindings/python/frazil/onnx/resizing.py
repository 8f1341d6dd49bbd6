"""Resizing: each axis by itself, as weighted sums of elements whose places and weights are computed
on the host."""

from __future__ import annotations

import math
from typing import Any

import frazil as fz
from frazil.nn._places import along, part
from frazil.onnx._table import converts

_ROUND: dict[str, Any] = {
    "round_prefer_floor": lambda x: math.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: math.floor(x + 0.5),
    "floor": math.floor,
    "ceil": math.ceil,
}


def _sources(mode: str, old: int, new: int, scale: float, roi: Any) -> list[float]:
    """Where in the input the elements of the result lie."""
    exact = scale * old  # what the new extent would be without rounding
    if mode == "align_corners":
        return [x * (old - 1) / (exact - 1) if exact != 1 else 0.0 for x in range(new)]
    if mode == "asymmetric":
        return [x / scale for x in range(new)]
    if mode == "tf_crop_and_resize":
        begin, end = roi
        if exact == 1:
            return [(end + begin) * (old - 1) / 2] * new
        return [x * (end - begin) * (old - 1) / (exact - 1) + begin * (old - 1) for x in range(new)]
    if mode == "pytorch_half_pixel":
        return [(x + 0.5) / scale - 0.5 if exact > 1 else -0.5 for x in range(new)]
    if mode == "half_pixel":
        return [(x + 0.5) / scale - 0.5 for x in range(new)]
    if mode == "half_pixel_symmetric":
        return [old / 2 * (1 - new / exact) + (x + 0.5) / scale - 0.5 for x in range(new)]
    if mode == "tf_half_pixel_for_nn":
        return [(x + 0.5) / scale for x in range(new)]
    raise ValueError(f"[onnx] Resize has no coordinate_transformation_mode {mode!r}.")


def _cubic(t: float, a: float) -> float:
    t = abs(t)
    if t <= 1:
        return ((a + 2) * t - (a + 3)) * t * t + 1
    return ((t - 5) * t + 8) * a * t - 4 * a if t < 2 else 0.0


def _taps(
    at: list[float], old: int, kind: str, a: float, outside: int, shrink: float
) -> list[tuple[list[int], list[float]]]:
    """(places, weights) of each tap: linear or cubic around each source; `shrink` below 1 widens
    the filter, so that all elements count when an image gets smaller."""
    reach = math.ceil((1 if kind == "linear" else 2) / shrink)
    whole = [math.floor(x) for x in at]
    taps = []
    for step in range(1 - reach, reach + 1):
        places = [w + step for w in whole]
        apart = [(p - x) * shrink for p, x in zip(places, at, strict=True)]
        if kind == "linear":
            weights = [max(1 - abs(t), 0.0) for t in apart]
        else:
            weights = [_cubic(t, a) for t in apart]
        if outside:
            inside = [0 <= p < old for p in places]
            weights = [w if i else 0.0 for w, i in zip(weights, inside, strict=True)]
        taps.append(([min(max(p, 0), old - 1) for p in places], weights))
    if outside or shrink < 1:
        totals = [0.0] * len(at)
        for _, weights in taps:
            totals = [t + w for t, w in zip(totals, weights, strict=True)]
        totals = [t or math.nan for t in totals]
        taps = [(p, [w / t for w, t in zip(ws, totals, strict=True)]) for p, ws in taps]
    return taps


def _axis(x: Any, axis: int, at: list[float], kind: str, nearest: str, a: float, outside: int,
          shrink: float) -> Any:  # fmt: skip
    old = x.shape[axis]
    if kind == "nearest":
        pick = _ROUND[nearest]
        return part(x, axis, [min(max(pick(p), 0), old - 1) for p in at])
    total = None
    for columns, weight in _taps(at, old, kind, a, outside, shrink):
        if not any(weight):
            continue
        weighted = part(x, axis, columns) * along(weight, axis, x.ndim, x)
        total = weighted if total is None else total + weighted
    return total


def _resized(
    x: Any, scales: list[float], sizes: list[int], roi: Any, *, kind: str, mode: str, nearest: str,
    a: float, outside: int, antialias: int, extrapolation: float, axes: list[int],
) -> Any:  # fmt: skip
    kind = {"linear": "linear", "bilinear": "linear", "cubic": "cubic", "bicubic": "cubic"}.get(
        kind, kind
    )
    dtype = x.dtype
    if kind != "nearest" and (dtype.kind != "real floating" or dtype.itemsize < 4):
        x = x.astype("float32")
    beyond = None
    for i, axis in enumerate(axes):
        own = None if roi is None or len(roi) == 0 else (roi[i], roi[i + len(axes)])
        crops = mode == "tf_crop_and_resize"
        old, new, scale = x.shape[axis], sizes[i], scales[i]
        if new == old and scale == 1 and not crops:
            continue
        at = _sources(mode, old, new, scale, own)
        shrink = min(scale, 1.0) if antialias else 1.0
        x = _axis(x, axis, at, kind, nearest, a, outside, shrink)
        if crops:
            out = [p < 0 or p > old - 1 for p in at]
            hidden = along(out, axis, x.ndim, x, "bool")
            beyond = hidden if beyond is None else beyond | hidden
    if beyond is not None:
        x = fz.where(beyond, fz.full((), extrapolation, dtype=x.dtype), x)
    if x.dtype != dtype and dtype.kind != "real floating":
        info = fz.iinfo(dtype)
        x = fz.clip(fz.round(x), info.min, info.max)
    return x.astype(dtype)


def _floats(x: Any) -> list[float]:
    return [] if x is None else [float(v) for v in x]


@converts("Upsample")
def upsample_images(
    x: Any, *, height_scale: float, width_scale: float, mode: str = "nearest"
) -> Any:
    return _upsampled(x, [1.0, 1.0, height_scale, width_scale], mode)


@converts("Upsample", 7)
def upsample_attribute(x: Any, *, scales: Any, mode: str = "nearest") -> Any:
    return _upsampled(x, [float(s) for s in scales], mode)


@converts("Upsample", 9, host="scales")
def upsample(x: Any, scales: Any, *, mode: str = "nearest") -> Any:
    return _upsampled(x, _floats(scales), mode)


@converts("Resize", 10, host="scales")
def resize_scales(x: Any, scales: Any, *, mode: str = "nearest") -> Any:
    return _upsampled(x, _floats(scales), mode)


def _upsampled(x: Any, scales: list[float], mode: str) -> Any:
    sizes = [math.floor(n * s) for n, s in zip(x.shape, scales, strict=True)]
    return _resized(
        x, scales, sizes, None, kind=mode, mode="asymmetric", nearest="floor", a=-0.75, outside=0,
        antialias=0, extrapolation=0.0, axes=list(range(x.ndim)),
    )  # fmt: skip


@converts("Resize", 11, host="roi scales sizes")
def resize(
    x: Any, roi: Any = None, scales: Any = None, sizes: Any = None, *, antialias: int = 0,
    axes: Any = None, coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75, exclude_outside: int = 0, extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch", mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Any:  # fmt: skip
    own = list(range(x.ndim)) if axes is None else [a % x.ndim for a in axes]
    old = [x.shape[a] for a in own]
    factors = _floats(scales)
    if factors:
        new = [math.floor(n * s) for n, s in zip(old, factors, strict=True)]
    else:
        new = [int(v) for v in _floats(sizes)]
        factors = [n / o for n, o in zip(new, old, strict=True)]
        if keep_aspect_ratio_policy != "stretch":
            pick = min if keep_aspect_ratio_policy == "not_larger" else max
            factors = [pick(factors)] * len(own)
            new = [math.floor(factors[0] * o + 0.5) for o in old]
    return _resized(
        x, factors, new, _floats(roi), kind=mode, mode=coordinate_transformation_mode,
        nearest=nearest_mode, a=cubic_coeff_a, outside=exclude_outside, antialias=antialias,
        extrapolation=extrapolation_value, axes=own,
    )  # fmt: skip
