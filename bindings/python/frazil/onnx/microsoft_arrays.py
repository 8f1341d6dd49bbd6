"""Operators of onnxruntime (com.microsoft) of shapes, indices, images, spectra and whole numbers.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import frazil as fz
from frazil.onnx._table import MICROSOFT, converts
from frazil.onnx._values import Known
from frazil.onnx.convolutions import causal_conv, channels_last, conv, conv_transpose
from frazil.onnx.images import grid_sample
from frazil.onnx.indices import gather_nd
from frazil.onnx.microsoft import fused_conv
from frazil.onnx.pooling import max_pool
from frazil.onnx.products import qlinear_conv
from frazil.onnx.reductions import unique
from frazil.onnx.shapes import ints, pad, range_, trilu

converts("Trilu", domain=MICROSOFT, host="k")(trilu)
converts("GatherND", domain=MICROSOFT)(gather_nd)
converts("Inverse", domain=MICROSOFT)(lambda x: fz.linalg.inv(x))
converts("CausalConvWithState", domain=MICROSOFT)(causal_conv)

# Shapes and indices


@converts("ExpandDims", domain=MICROSOFT, host="axis")
def expand_dims(x: Any, axis: Any) -> Any:
    return fz.expand_dims(x, axis=int(axis))


@converts("Pad", domain=MICROSOFT, host="pads value")
def pad_all(x: Any, pads: Any, value: Any = None, *, mode: str = "constant") -> Any:
    return pad(x, pads, value, mode=mode)


@converts("Range", domain=MICROSOFT, host="start limit delta")
def range_of(start: Any, limit: Any, delta: Any = None) -> Any:
    if delta is None:
        delta = Known((1,), (), start.dtype)
    return range_(start, limit, delta)


@converts("Unique", domain=MICROSOFT, host="x")
def unique_in_order(x: Any) -> Any:
    values, _, inverse, counts = unique(x, sorted=0)
    return values, inverse, counts


@converts("TorchEmbedding", domain=MICROSOFT)
def torch_embedding(w: Any, ids: Any, padding: Any = None, by_frequency: Any = None) -> Any:
    return fz.take(w, ids, axis=0)


@converts("UnfoldTensor", domain=MICROSOFT)
def unfold(x: Any, *, size: int, dim: int = -1, step: int = 1) -> Any:
    axis = dim % x.ndim
    count = (x.shape[axis] - size) // step + 1
    at = step * fz.arange(count).reshape((count, 1)) + fz.arange(size)
    return fz.moveaxis(fz.take(x, at, axis=axis), axis + 1, -1)


@converts("NGramRepeatBlock", domain=MICROSOFT)
def block_repeated(ids: Any, scores: Any, *, ngram_size: int) -> Any:
    """Scores of what would end an n-gram that was there before are -infinity."""
    n, length = ids.shape
    if length < ngram_size:
        return scores
    last = ids[:, length - ngram_size + 1 :]
    hit = fz.zeros(scores.shape, dtype="bool")
    words = fz.arange(scores.shape[1]).reshape((1, -1))
    for i in range(length - ngram_size + 1):
        same = fz.all(ids[:, i : i + ngram_size - 1] == last, axis=1, keepdims=True)
        hit = hit | (same & (words == ids[:, i + ngram_size - 1, None]))
    return fz.where(hit, fz.full((), -math.inf, dtype=scores.dtype), scores)


@converts("RelativePositionBias", domain=MICROSOFT, host="queries keys")
def relative_positions(
    table: Any, queries: Any, keys: Any, *, max_distance: int, is_bidirectional: int = 0
) -> Any:
    """Of T5 (Raffel et al. 2020): near distances have a bucket each, far ones share them."""
    t, s, buckets = int(queries), int(keys), table.shape[0]
    far = np.arange(s)[None, :] - np.arange(t)[:, None]
    first = np.zeros(far.shape, np.int64)
    if is_bidirectional:
        buckets //= 2
        first, far = buckets * (far > 0), np.abs(far)
    else:
        far = np.maximum(-far, 0)
    exact = buckets // 2
    grown = np.log(np.maximum(far, 1).astype(np.float32) / exact)
    grown = grown / np.float32(math.log(max_distance / exact)) * (buckets - exact)
    shared = np.minimum(exact + grown.astype(np.int64), buckets - 1)
    at = first + np.where(far < exact, far, shared)
    return fz.moveaxis(fz.take(table, fz.asarray(at), axis=0), -1, 0)[None]


# Distances


@converts("CDist", domain=MICROSOFT)
def distances(a: Any, b: Any, *, metric: str = "sqeuclidean") -> Any:
    if metric not in ("sqeuclidean", "euclidean"):
        raise ValueError(f"[onnx] CDist of the metric {metric!r} is not supported.")
    apart = a[:, None] - b[None]
    total = fz.sum(apart * apart, axis=-1)
    return fz.sqrt(total) if metric == "euclidean" else total


# Whole numbers


@converts("MatMulInteger16", domain=MICROSOFT)
def matmul16(a: Any, b: Any) -> Any:
    """Sums of 32 bits: exact in float64, then cut."""
    signed = "int16" in (a.dtype.name, b.dtype.name)
    y = (a.astype("float64") @ b.astype("float64")).astype("int64")
    return y.astype("int32" if signed else "uint32")


def _hashed(data: bytes, seed: int) -> int:
    """MurmurHash3 for 32 bits (Appleby 2011)."""
    low = 0xFFFFFFFF

    def mixed(k: int) -> int:
        k = k * 0xCC9E2D51 & low
        return ((k << 15 | k >> 17) & low) * 0x1B873593 & low

    h, whole = seed & low, len(data) // 4 * 4
    for i in range(0, whole, 4):
        h ^= mixed(int.from_bytes(data[i : i + 4], "little"))
        h = ((h << 13 | h >> 19) & low) * 5 + 0xE6546B64 & low
    if whole < len(data):
        h ^= mixed(int.from_bytes(data[whole:], "little"))
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & low
    h = (h ^ h >> 13) * 0xC2B2AE35 & low
    return h ^ h >> 16


@converts("MurmurHash3", domain=MICROSOFT, host="x")
def murmur_hash(x: Any, *, seed: int = 0, positive: int = 1) -> Any:
    if x.dtype == "str":
        parts = [str(s).encode() for s in x]
    else:
        array = x.array()
        whole, size = np.ascontiguousarray(array).tobytes(), array.dtype.itemsize
        parts = [whole[i : i + size] for i in range(0, len(whole), size)]
    found = np.asarray([_hashed(p, seed) for p in parts], np.uint32).reshape(x.shape)
    return found if positive else found.view(np.int32)


@converts("IsAllFinite", domain=MICROSOFT)
def all_finite(*parts: Any, isinf_only: int = 0, isnan_only: int = 0) -> Any:
    test = fz.isinf if isinf_only else fz.isnan if isnan_only else None
    good = [fz.all(fz.isfinite(x) if test is None else ~test(x)) for x in parts]
    whole = good[0]
    for g in good[1:]:
        whole = whole & g
    return whole


# Spectra


def _signals(normalized: int, onesided: int, signal_ndim: int) -> None:
    if normalized or not onesided or signal_ndim != 1:
        raise ValueError(
            "[onnx] Rfft and Irfft are supported for normalized 0, onesided 1, signal_ndim 1: got "
            f"{normalized}, {onesided}, {signal_ndim}."
        )


@converts("Rfft", domain=MICROSOFT)
def rfft(x: Any, *, normalized: int = 0, onesided: int = 1, signal_ndim: int = 1) -> Any:
    _signals(normalized, onesided, signal_ndim)
    z = fz.fft.rfft(x, axis=-1)
    return fz.stack([fz.real(z), fz.imag(z)], axis=-1).astype(x.dtype)


@converts("Irfft", domain=MICROSOFT)
def irfft(x: Any, *, normalized: int = 0, onesided: int = 1, signal_ndim: int = 1) -> Any:
    """Of an even number, and with no factor: n times what numpy.fft gives."""
    _signals(normalized, onesided, signal_ndim)
    n = 2 * (x.shape[-2] - 1)
    return (fz.fft.irfft(fz.complex(x[..., 0], x[..., 1]), n=n, axis=-1) * n).astype(x.dtype)


def _complex_product(name: str, sign: int) -> None:
    @converts(name, domain=MICROSOFT)
    def times(a: Any, b: Any) -> Any:
        """Of real and imaginary parts along the last axis; of b the conjugate."""
        c, d = b[..., 0], sign * b[..., 1]
        real, imaginary = a[..., 0], a[..., 1]
        return fz.stack([real * c - imaginary * d, real * d + imaginary * c], axis=-1)


_complex_product("ComplexMul", 1)
_complex_product("ComplexMulConj", -1)

# Images


@converts("GridSample", domain=MICROSOFT)
def sampled(
    x: Any, grid: Any, *, align_corners: int = 0, mode: str = "bilinear",
    padding_mode: str = "zeros",
) -> Any:  # fmt: skip
    own = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    return grid_sample(x, grid, align_corners=align_corners, mode=own, padding_mode=padding_mode)


@converts("CropAndResize", domain=MICROSOFT, host="size")
def crop_and_resize(
    x: Any, boxes: Any, images: Any, size: Any, *, mode: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Any:  # fmt: skip
    """Corners lie on corners; what is outside of the image is the extrapolation value."""
    places, inside = [], []
    for axis, count in enumerate(ints(size)):
        n, low, high = x.shape[axis + 2], boxes[:, axis], boxes[:, axis + 2]
        if count > 1:
            steps = ((high - low) * (n - 1) / (count - 1))[:, None] * fz.arange(
                count, dtype=x.dtype
            )
            at = (low * (n - 1))[:, None] + steps
        else:
            at = (0.5 * (low + high) * (n - 1))[:, None]
        places.append(at)
        inside.append((at >= 0) & (at <= n - 1))
    ys, xs = places[0][:, :, None], places[1][:, None, :]
    which = images.reshape((-1, 1, 1))

    def pick(row: Any, column: Any) -> Any:
        limits = zip((row, column), x.shape[2:], strict=True)
        row, column = (fz.clip(v, 0, n - 1).astype("int64") for v, n in limits)
        return fz.moveaxis(fz.moveaxis(x, 1, -1)[which, row, column], -1, 1)

    if mode == "nearest":
        found = pick(fz.floor(ys + 0.5), fz.floor(xs + 0.5))
    else:
        top, left = fz.floor(ys), fz.floor(xs)
        down, right = (ys - top)[:, None], (xs - left)[:, None]
        upper = pick(top, left) + (pick(top, left + 1) - pick(top, left)) * right
        lower = pick(top + 1, left) + (pick(top + 1, left + 1) - pick(top + 1, left)) * right
        found = upper + (lower - upper) * down
    shown = (inside[0][:, :, None] & inside[1][:, None, :])[:, None]
    return fz.where(shown, found, fz.full((), extrapolation_value, dtype=x.dtype))


@converts("ConvTransposeWithDynamicPads", domain=MICROSOFT, host="pads")
def conv_transpose_pads(
    x: Any, w: Any, pads: Any = None, b: Any = None, *, group: int = 1, auto_pad: str = "NOTSET",
    kernel_shape: Any = None, strides: Any = None, dilations: Any = None,
    output_padding: Any = None,
) -> Any:  # fmt: skip
    return conv_transpose(
        x, w, b, group=group, auto_pad=auto_pad, kernel_shape=kernel_shape, strides=strides,
        pads=None if pads is None else ints(pads), dilations=dilations,
        output_padding=output_padding,
    )  # fmt: skip


def _last_axis(name: str, fn: Any) -> None:
    """An operator whose images have their channels behind."""

    @converts(name, domain=MICROSOFT)
    def turned(x: Any, w: Any, b: Any = None, z: Any = None, **options: Any) -> Any:
        more = () if z is None else (fz.moveaxis(z, -1, 1),)
        y = fn(fz.moveaxis(x, -1, 1), fz.moveaxis(w, -1, 1), b, *more, **options)
        return fz.moveaxis(y, 1, -1)


_last_axis("NhwcConv", conv)
_last_axis("NhwcFusedConv", fused_conv)


@converts("NhwcMaxPool", domain=MICROSOFT)
def max_pool_last(
    x: Any, *, kernel_shape: Any, auto_pad: str = "NOTSET", pads: Any = None, strides: Any = None,
    dilations: Any = None, ceil_mode: int = 0, node: Any,
) -> Any:  # fmt: skip
    y = max_pool(
        fz.moveaxis(x, -1, 1), kernel_shape=kernel_shape, auto_pad=auto_pad, pads=pads,
        strides=strides, dilations=dilations, ceil_mode=ceil_mode, node=node,
    )  # fmt: skip
    return fz.moveaxis(y, 1, -1)


@converts(
    "QLinearConv", domain=MICROSOFT, laid={"w": channels_last},
    prepared={"Kernels": ("w w_zero",)},
)  # fmt: skip
def qlinear_conv_last(
    x: Any, x_scale: Any, x_zero: Any, w: Any, w_scale: Any, w_zero: Any, y_scale: Any,
    y_zero: Any, b: Any = None, *, channels_last: int = 0, group: int = 1,
    auto_pad: str = "NOTSET", kernel_shape: Any = None, pads: Any = None, strides: Any = None,
    dilations: Any = None,
) -> Any:  # fmt: skip
    y = qlinear_conv(
        fz.moveaxis(x, -1, 1) if channels_last else x, x_scale, x_zero, w, w_scale, w_zero,
        y_scale, y_zero, b, group=group, auto_pad=auto_pad, kernel_shape=kernel_shape, pads=pads,
        strides=strides, dilations=dilations,
    )  # fmt: skip
    return fz.moveaxis(y, 1, -1) if channels_last else y
