"""Convolutions of any number of axes, transposed, deformed and causal ones."""

from __future__ import annotations

import itertools
import math
from typing import Any

import frazil as fz
from frazil import nn
from frazil.nn.convolution import _by_phases, _last, _spread
from frazil.onnx._table import converts
from frazil.onnx.shapes import ints


def auto_pads(
    auto_pad: str, sizes: Any, kernel: Any, strides: Any, dilations: Any, pads: Any
) -> list[tuple[int, int]]:
    """(before, after) of each axis."""
    n = len(sizes)
    if auto_pad in ("NOTSET", ""):
        pads = [0] * (2 * n) if pads is None else pads
        return [(pads[i], pads[i + n]) for i in range(n)]
    if auto_pad == "VALID":
        return [(0, 0)] * n
    widths = []
    for size, k, s, d in zip(sizes, kernel, strides, dilations, strict=True):
        total = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
        less, more = total // 2, total - total // 2
        widths.append((less, more) if auto_pad == "SAME_UPPER" else (more, less))
    return widths


def convolved(x: Any, w: Any, strides: Any, widths: Any, dilations: Any, group: int) -> Any:
    """The convolution of (n, channels, ...places) without a bias."""
    n = w.ndim - 2
    if n > 3:
        return _of_many(x, w, strides, widths, dilations, group)
    x = fz.moveaxis(x, 1, -1)
    padding = tuple(a for a, _ in widths)
    if any(a != b for a, b in widths):
        x = fz.pad(x, [(0, 0), *widths, (0, 0)])
        padding = (0,) * n
    return fz.moveaxis(_last(x, w, tuple(strides), padding, tuple(dilations), group), -1, 1)


def _of_many(x: Any, w: Any, strides: Any, widths: Any, dilations: Any, group: int) -> Any:
    """More than three axes: a sum over the elements of the kernel's first axis."""
    before, after = widths[0]
    x = fz.pad(x, [(0, 0), (0, 0), (before, after)] + [(0, 0)] * (x.ndim - 3))
    s, d, k = strides[0], dilations[0], w.shape[2]
    count = (x.shape[2] - d * (k - 1) - 1) // s + 1
    total: Any = None
    for i in range(k):
        part = x[:, :, i * d : i * d + (count - 1) * s + 1 : s]
        part = fz.moveaxis(part, 2, 1)
        part = part.reshape((-1, *part.shape[2:]))
        y = convolved(part, w[:, :, i], strides[1:], widths[1:], dilations[1:], group)
        total = y if total is None else total + y
    total = total.reshape((-1, count, *total.shape[1:]))
    return fz.moveaxis(total, 1, 2)


def with_bias(y: Any, b: Any) -> Any:
    return y if b is None else y + b.reshape((-1,) + (1,) * (y.ndim - 2))


def conv_of(
    x: Any, w: Any, group: int, auto_pad: str, kernel: Any, pads: Any, strides: Any, dilations: Any
) -> Any:
    n = x.ndim - 2
    kernel = list(w.shape[2:]) if kernel is None else kernel
    if list(kernel) != list(w.shape[2:]) or n < 1:
        raise ValueError(
            f"[onnx] Conv of shape {x.shape} with weights of {w.shape}, kernel_shape {kernel}."
        )
    strides, dilations = strides or [1] * n, dilations or [1] * n
    widths = auto_pads(auto_pad, x.shape[2:], kernel, strides, dilations, pads)
    return convolved(x, w, strides, widths, dilations, group)


def channels_last(w: Any, **_: Any) -> Any:
    """Weights (out, in, ...kernel) whose memory is (...kernel, in, out)."""
    if w.ndim < 3:
        return w
    order = (*range(2, w.ndim), 1, 0)
    back = sorted(range(w.ndim), key=lambda i: order[i])
    return fz.permute_dims(fz.copy(fz.permute_dims(w, order)), tuple(back))


@converts("Conv", laid={"w": channels_last})
def conv(
    x: Any, w: Any, b: Any = None, *, group: int = 1, auto_pad: str = "NOTSET",
    kernel_shape: Any = None, pads: Any = None, strides: Any = None, dilations: Any = None,
) -> Any:  # fmt: skip
    y = conv_of(x, w, group, auto_pad, kernel_shape, pads, strides, dilations)
    return with_bias(y, b)


def outputs_last(w: Any, **_: Any) -> Any:
    """Weights (in, out, ...kernel) whose memory is (in, ...kernel, out)."""
    return w if w.ndim < 3 else fz.moveaxis(fz.copy(fz.moveaxis(w, 1, -1)), -1, 1)


@converts("ConvTranspose", laid={"w": outputs_last})
def conv_transpose(
    x: Any, w: Any, b: Any = None, *, group: int = 1, auto_pad: str = "NOTSET",
    kernel_shape: Any = None, pads: Any = None, strides: Any = None, dilations: Any = None,
    output_padding: Any = None, output_shape: Any = None,
) -> Any:  # fmt: skip
    n = x.ndim - 2
    strides, dilations = strides or [1] * n, dilations or [1] * n
    more = output_padding or [0] * n
    reach = [d * (k - 1) for d, k in zip(dilations, w.shape[2:], strict=True)]
    widths = []
    for i in range(n):
        whole = (x.shape[2 + i] - 1) * strides[i] + reach[i] + 1 + more[i]
        if output_shape is not None or auto_pad.startswith("SAME"):
            wanted = (
                output_shape[-n:][i] if output_shape is not None else x.shape[2 + i] * strides[i]
            )
            total = whole - wanted
            less = max(total, 0) // 2
            first = auto_pad == "SAME_UPPER" or total < 0
            widths.append((less, total - less) if first else (total - less, less))
        else:
            widths.append((pads[i], pads[i + n]) if pads and auto_pad == "NOTSET" else (0, 0))
    x = fz.moveaxis(x, 1, -1)
    edges = [(before, after - m) for (before, after), m in zip(widths, more, strict=True)]
    y = _by_phases(x, w, strides, dilations, group, edges)
    if y is not None:
        return with_bias(fz.moveaxis(y, -1, 1), b)
    pad, cut = [(0, 0)], [slice(None)]
    for i in range(n):
        x = _spread(x, i + 1, strides[i])
        before, after = reach[i] - widths[i][0], reach[i] - widths[i][1] + more[i]
        pad.append((max(before, 0), max(after, 0)))
        cut.append(slice(max(-before, 0), x.shape[i + 1] - max(-after, 0)))
    x = fz.pad(x[tuple(cut)], [*pad, (0, 0)])
    n_in, n_out = w.shape[:2]
    w = fz.flip(w, axis=tuple(range(2, n + 2))).reshape((group, n_in // group, n_out, *w.shape[2:]))
    w = fz.swapaxes(w, 1, 2).reshape((group * n_out, n_in // group, *w.shape[3:]))
    y = _last(x, w, (1,) * n, (0,) * n, tuple(dilations), group)
    return with_bias(fz.moveaxis(y, -1, 1), b)


def bilinear(x: Any, at: list[Any]) -> Any:
    """x (n, c, ...places) between its elements, 0 beyond them: places `at` (n, m) of each axis
    (elements) give (n, c, m)."""
    n, c, *sizes = x.shape
    flat = x.reshape((n, c, -1))
    total: Any = None
    low = [fz.floor(a) for a in at]
    for corner in itertools.product((0, 1), repeat=len(sizes)):
        weight: Any = 1.0
        place: Any = 0
        for axis, (step, size) in enumerate(zip(corner, sizes, strict=True)):
            where = low[axis] + step
            rest = at[axis] - low[axis]
            inside = (where >= 0) & (where <= size - 1)
            weight = weight * fz.where(inside, rest if step else 1 - rest, fz.zeros_like(rest))
            place = place * size + fz.clip(where, 0, size - 1).astype("int64")
        taken = fz.take_along_axis(
            flat, fz.broadcast_to(place[:, None], (n, c, place.shape[-1])), axis=2
        )
        part = taken * weight[:, None]
        total = part if total is None else total + part
    return total


@converts("DeformConv", 19)
def deform_conv(
    x: Any, w: Any, offset: Any, b: Any = None, mask: Any = None, *, group: int = 1,
    offset_group: int = 1, kernel_shape: Any = None, pads: Any = None, strides: Any = None,
    dilations: Any = None,
) -> Any:  # fmt: skip
    """Each element of a kernel looks at a place of its own (Dai et al. 2017, Zhu et al. 2019)."""
    n, c, *sizes = x.shape
    r = len(sizes)
    kernel = list(w.shape[2:])
    strides, dilations = strides or [1] * r, dilations or [1] * r
    pads = pads or [0] * (2 * r)
    out = list(offset.shape[2:])
    taps, places, m = math.prod(kernel), math.prod(out), offset_group
    offset = offset.reshape((n, m, taps, r, *out))
    columns = []
    for j, place in enumerate(itertools.product(*(range(k) for k in kernel))):
        at = []
        for axis in range(r):
            shape = [1] * r
            shape[axis] = -1
            base = fz.arange(out[axis]).reshape(shape) * strides[axis]
            begin = place[axis] * dilations[axis] - pads[axis]
            base = (base + begin).astype(x.dtype)
            at.append((offset[:, :, j, axis] + base).reshape((n * m, places)))
        part = bilinear(x.reshape((n * m, c // m, *sizes)), at)
        if mask is not None:
            part = part * mask.reshape((n * m, 1, taps, places))[:, :, j]
        columns.append(part.reshape((n, c, places)))
    column = fz.stack(columns, axis=2).reshape((n, group, c // group * taps, places))
    weights = w.reshape((group, w.shape[0] // group, -1))
    y = fz.matmul(weights, column).reshape((n, w.shape[0], *out))
    return with_bias(y, b)


@converts("CausalConvWithState", 27)
def causal_conv(
    x: Any, w: Any, b: Any = None, state: Any = None, *, activation: str = "none"
) -> Any:
    """A convolution of each channel that sees the past alone, whose last inputs are handed on."""
    reach = w.shape[-1] - 1
    if state is None:
        state = fz.zeros((*x.shape[:2], reach), dtype=x.dtype)
    whole = fz.concat([state.astype(x.dtype), x], axis=-1)
    y = with_bias(convolved(whole, w, [1], [(0, 0)], [1], x.shape[1]), b)
    if activation in ("silu", "swish"):
        y = y * nn.sigmoid(y)
    return y, whole[..., whole.shape[-1] - reach :]


@converts("Col2Im", 18, host="image_shape block_shape")
def col2im(
    x: Any, image_shape: Any, block_shape: Any, *, dilations: Any = None, pads: Any = None,
    strides: Any = None,
) -> Any:  # fmt: skip
    """Adds blocks that overlap at their places in an image."""
    image, block = ints(image_shape), ints(block_shape)
    r = len(image)
    dilations, strides, pads = dilations or [1] * r, strides or [1] * r, pads or [0] * (2 * r)
    n, taps = x.shape[0], math.prod(block)
    c = x.shape[1] // taps
    wide = [i + pads[j] + pads[j + r] for j, i in enumerate(image)]
    counts = [(wide[j] - dilations[j] * (block[j] - 1) - 1) // strides[j] + 1 for j in range(r)]
    parts = x.reshape((n, c, taps, *counts))
    total: Any = None
    for j, place in enumerate(itertools.product(*(range(k) for k in block))):
        part, widths = parts[:, :, j], [(0, 0), (0, 0)]
        for axis in range(r):
            part = _spread(part, axis + 2, strides[axis])
            begin = place[axis] * dilations[axis]
            widths.append((begin, wide[axis] - begin - part.shape[axis + 2]))
        part = fz.pad(part, widths)
        total = part if total is None else total + part
    cut = tuple(slice(pads[j], pads[j] + image[j]) for j in range(r))
    return total[(slice(None), slice(None), *cut)]
