"""Resizing: each axis by itself, as weighted sums of elements whose places and weights are computed
on the host."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import frazil as fz
from frazil.nn._places import along, part
from frazil.onnx._table import converts

_ROUND: dict[str, Any] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _sources(mode: str, old: int, new: int, scale: float, roi: Any) -> Any:
    """Where in the input the elements of the result lie."""
    x = np.arange(new, dtype=np.float64)
    exact = scale * old  # what the new extent would be without rounding
    if mode == "align_corners":
        return x * (old - 1) / (exact - 1) if exact != 1 else np.zeros(new)
    if mode == "asymmetric":
        return x / scale
    if mode == "tf_crop_and_resize":
        begin, end = roi
        if exact == 1:
            return np.full(new, (end + begin) * (old - 1) / 2)
        return x * (end - begin) * (old - 1) / (exact - 1) + begin * (old - 1)
    if mode == "pytorch_half_pixel":
        return (x + 0.5) / scale - 0.5 if exact > 1 else np.full(new, -0.5)
    if mode == "half_pixel":
        return (x + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        return old / 2 * (1 - new / exact) + (x + 0.5) / scale - 0.5
    if mode == "tf_half_pixel_for_nn":
        return (x + 0.5) / scale
    raise ValueError(f"[onnx] Resize has no coordinate_transformation_mode {mode!r}.")


def _cubic(t: Any, a: float) -> Any:
    t = np.abs(t)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((t - 5) * t + 8) * a * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


def _taps(at: Any, old: int, kind: str, a: float, outside: int, shrink: float) -> Any:
    """(places, weights), both (taps, elements): linear or cubic around each source; `shrink` below
    1 widens the filter, so that all elements count when an image gets smaller."""
    reach = math.ceil((1 if kind == "linear" else 2) / shrink)
    whole = np.floor(at)
    places = whole + np.arange(1 - reach, reach + 1)[:, None]
    apart = (places - at) * shrink
    weights = np.maximum(1 - np.abs(apart), 0) if kind == "linear" else _cubic(apart, a)
    if outside:
        weights = np.where((places < 0) | (places >= old), 0.0, weights)
    if outside or shrink < 1:
        weights = weights / weights.sum(axis=0)
    return np.clip(places, 0, old - 1).astype(np.int64), weights


def _axis(x: Any, axis: int, at: Any, kind: str, nearest: str, a: float, outside: int,
          shrink: float) -> Any:  # fmt: skip
    old = x.shape[axis]
    if kind == "nearest":
        columns = np.clip(_ROUND[nearest](at), 0, old - 1).astype(np.int64)
        return part(x, axis, columns.tolist())
    places, weights = _taps(at, old, kind, a, outside, shrink)
    total = None
    for columns, weight in zip(places.tolist(), weights.tolist(), strict=True):
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
            out = ((at < 0) | (at > old - 1)).tolist()
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
