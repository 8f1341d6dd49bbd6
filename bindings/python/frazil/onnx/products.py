"""Products and convolutions of 8-bit integers. Their sums are exact, of 32 bits: matrices of
weights go as int8 into the processor's integer products (jit/graph/passes/wide.cc), with zero
points taken out afterwards; what has another form is computed with floats that hold its sums.
"""

from __future__ import annotations

import itertools
from typing import Any

import frazil as fz
from frazil.onnx._table import OWN, converts
from frazil.onnx._values import NAMES, Host
from frazil.onnx.convolutions import auto_pads, channels_last, conv_of
from frazil.onnx.quantised import LIMITS, name_of
from frazil.onnx.recurrent import turned


def signed(x: Any) -> Any:
    """8 bits as int8: unsigned ones less 128."""
    return fz.bitwise_xor(x.astype("int8"), -128) if x.dtype.name == "uint8" else x


def _zero_of(zero: Any, dtype: str) -> Any:
    """The zero point of what `signed` gives, an int32; None if there is none."""
    if dtype == "uint8":
        return -128 if zero is None else zero.astype("int32") - 128
    return None if zero is None else zero.astype("int32")


def _is_zero(zero: Any, dtype: str) -> bool:
    """Whether a zero point is known to be 0 after `signed`."""
    centre = 128 if dtype == "uint8" else 0
    if zero is None:
        return centre == 0
    return isinstance(zero, Host) and zero.data == chr(centre) * len(zero.data)


def _corrections(b: Any, zero: Any, zero_known: bool, axis: int) -> Any:
    """What zero points change in products with int8 `b`, of which `axis` counts the products: the
    sums of columns less their zero points, and these if they are not known to be 0. (1 or 2, n)"""
    axes = tuple(i for i in range(b.ndim) if i != axis)
    sums = fz.sum(b, axis=axes, dtype="int32")
    if zero_known or zero is None:
        return sums[None]
    zero = fz.broadcast_to(zero.reshape((-1,)) if zero.ndim else zero, sums.shape)
    return fz.stack([sums - (b.size // sums.size) * zero, zero])


def _delivered(b: Any, zero: Any, node: Any) -> tuple[Any, Any, bool]:
    """Weights as int8, their zero point, and whether that is known to be 0."""
    own = name_of(b)
    known = _is_zero(zero, own)
    b, zero = node.deliver(b, 0), _zero_of(node.deliver(zero, 0), own)
    return signed(b), fz.full((), zero, dtype="int32") if isinstance(zero, int) else zero, known


@converts("Weights", domain=OWN, raw="b zero")
def weights(b: Any, zero: Any = None, *, node: Any) -> Any:
    """Of a matrix (in, out): int8, and its corrections. Other weights stay."""
    if len(b.shape) != 2 or name_of(b) not in ("int8", "uint8"):
        return b, zero
    b, zero, known = _delivered(b, zero, node)
    return b, _corrections(b, zero, known, 1)


@converts("Directions", domain=OWN, raw="b zero")
def directions(b: Any, zero: Any = None, *, node: Any) -> Any:
    """Of a matrix (in, out) for each direction: int8, and their corrections."""
    b, zero, known = _delivered(b, zero, node)
    zeros = [zero if zero is None or zero.ndim == 0 else zero[d] for d in range(b.shape[0])]
    parts = [_corrections(b[d], zeros[d], known, 1) for d in range(b.shape[0])]
    return b, fz.stack(parts)


@converts("Kernels", domain=OWN, raw="w zero")
def kernels(w: Any, zero: Any = None, *, group: int = 1, node: Any) -> Any:
    """Of a convolution (out, in, ...kernel) over one or two axes: int8, and its corrections."""
    if group != 1 or len(w.shape) not in (3, 4) or name_of(w) not in ("int8", "uint8"):
        return w, zero
    w, zero, known = _delivered(w, zero, node)
    return w, _corrections(w, zero, known, 0)


def _prepared(corrections: Any) -> bool:
    return corrections is not None and corrections.ndim == 2


def _rows_product(rows: Any, zero: Any, b: Any, corrections: Any) -> Any:
    """int32 sums of (rows - zero) * (b less its zero points), of int8 rows (m, in)."""
    y = rows.astype("int32") @ b.astype("int32")
    if zero is not None:
        y = y - zero * corrections[0]
    if corrections.shape[0] > 1:
        y = y - fz.sum(rows, axis=1, keepdims=True, dtype="int32") * corrections[1]
    return y


def _floats_for(count: int) -> str:
    """Floats in which sums of `count` products of 9-bit integers are exact."""
    return "float32" if count * 255 * 255 < 1 << 24 else "float64"


def _centred(x: Any, zero: Any, axis: int, dtype: str) -> Any:
    """x less its zero point, which may differ along an axis."""
    x = x.astype(dtype)
    if zero is None:
        return x
    zero = zero.astype(dtype)
    if zero.ndim == 1 and zero.shape[0] > 1:
        shape = [1] * x.ndim
        shape[axis] = -1
        zero = zero.reshape(tuple(shape))
    elif zero.ndim <= 1:
        zero = zero.reshape(())
    return x - zero


def product(a: Any, a_zero: Any, b: Any, b_zero: Any) -> Any:
    """int32 (..., out) of 8-bit a and b less their zero points; b as `Weights` gave it."""
    own = a.dtype.name
    if _prepared(b_zero) and (a_zero is None or a_zero.size == 1):
        zero = _zero_of(None if a_zero is None else a_zero.reshape(()), own)
        rows = signed(a).reshape((-1, a.shape[-1]))
        return _rows_product(rows, zero, b, b_zero).reshape((*a.shape[:-1], b.shape[1]))
    if _prepared(b_zero):  # a zero point for each row
        b, b_zero = b.astype("int32"), b_zero[1] if b_zero.shape[0] > 1 else None
    dtype = _floats_for(a.shape[-1])
    y = _centred(a, a_zero, -2, dtype) @ _centred(b, b_zero, -1, dtype)
    return y.astype("int32")


def _image(x: Any, zero: Any, widths: Any) -> Any:
    """int8 (n, ...places, channels), the zero point around it."""
    x = fz.moveaxis(signed(x), 1, -1)
    if not any(map(any, widths)):
        return x
    widths = [(0, 0), *widths, (0, 0)]
    padded = fz.pad(x, widths)
    if zero is None:
        return padded
    inside = fz.pad(fz.ones((1, *x.shape[1:-1], 1), dtype="int8"), [(0, 0), *widths[1:-1], (0, 0)])
    return fz.where(inside.astype("bool"), padded, fz.asarray(zero).astype("int8"))


def convolution(
    x: Any, x_zero: Any, w: Any, w_zero: Any, *, group: int, auto_pad: str, kernel_shape: Any,
    pads: Any, strides: Any, dilations: Any,
) -> Any:  # fmt: skip
    """int32 sums over windows; w as `Kernels` gave it."""
    x_zero = None if x_zero is None else x_zero.reshape(())
    if not _prepared(w_zero):
        dtype = _floats_for(w[0].size)
        x, w = _centred(x, x_zero, 1, dtype), _centred(w, w_zero, 0, dtype)
        y = conv_of(x, w, group, auto_pad, kernel_shape, pads, strides, dilations)
        return y.astype("int32")
    n, kernel = w.ndim - 2, w.shape[2:]
    strides, dilations = strides or [1] * n, dilations or [1] * n
    widths = auto_pads(auto_pad, x.shape[2:], kernel, strides, dilations, pads)
    zero = _zero_of(x_zero, x.dtype.name)
    x, parts = _image(x, zero, widths), []
    reach = [d * (k - 1) for d, k in zip(dilations, kernel, strict=True)]
    for place in itertools.product(*[range(k) for k in kernel]):
        index: list[Any] = [slice(None)]
        for j, size, r, s, d in zip(place, x.shape[1:-1], reach, strides, dilations, strict=True):
            index.append(slice(j * d, size - r + j * d, s))
        parts.append(x[tuple(index)])
    windows = parts[0] if len(parts) == 1 else fz.concat(parts, axis=-1)
    order = (*range(2, w.ndim), 1, 0)
    matrix = fz.permute_dims(w, order).reshape((-1, w.shape[0]))
    y = _rows_product(windows.reshape((-1, windows.shape[-1])), zero, matrix, w_zero)
    return fz.moveaxis(y.reshape((*windows.shape[:-1], w.shape[0])), -1, 1)


@converts("MatMulInteger", 10, laid={"b": turned}, prepared={"Weights": ("b b_zero",)})
def matmul_integer(a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Any:
    return product(a, a_zero, b, b_zero)


@converts("ConvInteger", 10, laid={"w": channels_last}, prepared={"Kernels": ("w w_zero",)})
def conv_integer(
    x: Any, w: Any, x_zero: Any = None, w_zero: Any = None, *, group: int = 1,
    auto_pad: str = "NOTSET", kernel_shape: Any = None, pads: Any = None, strides: Any = None,
    dilations: Any = None,
) -> Any:  # fmt: skip
    return convolution(
        x, x_zero, w, w_zero, group=group, auto_pad=auto_pad, kernel_shape=kernel_shape, pads=pads,
        strides=strides, dilations=dilations,
    )  # fmt: skip


def requantised(y: Any, factor: Any, zero: Any, name: str) -> Any:
    low, high = LIMITS[name]
    y = fz.round(y * factor) + zero.astype(y.dtype)
    return fz.clip(y, low, high).astype(name)


@converts(
    "QLinearMatMul", 10, either="a a_zero b b_zero y_zero", laid={"b": turned},
    prepared={"Weights": ("b b_zero",)},
)  # fmt: skip
def qlinear_matmul(
    a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any,
    y_zero: Any,
) -> Any:  # fmt: skip
    if name_of(y_zero) not in NAMES:
        raise TypeError(f"[onnx] QLinearMatMul of {name_of(y_zero)} is not supported.")
    y = product(a, a_zero, b, b_zero).astype("float64")
    wide = [s.astype("float64") for s in (a_scale, b_scale, y_scale)]
    wide[0] = wide[0].reshape((-1, 1)) if wide[0].ndim == 1 and wide[0].size > 1 else wide[0]
    factor = wide[0] * wide[1] / wide[2]
    return requantised(y, factor, y_zero, y_zero.dtype.name)


@converts("QLinearConv", 10, laid={"w": channels_last}, prepared={"Kernels": ("w w_zero",)})
def qlinear_conv(
    x: Any, x_scale: Any, x_zero: Any, w: Any, w_scale: Any, w_zero: Any, y_scale: Any,
    y_zero: Any, b: Any = None, *, group: int = 1, auto_pad: str = "NOTSET",
    kernel_shape: Any = None, pads: Any = None, strides: Any = None, dilations: Any = None,
) -> Any:  # fmt: skip
    y = convolution(
        x, x_zero, w, w_zero, group=group, auto_pad=auto_pad, kernel_shape=kernel_shape, pads=pads,
        strides=strides, dilations=dilations,
    )  # fmt: skip
    channels = (-1,) + (1,) * (x.ndim - 2)
    y = y if b is None else y + b.astype(y.dtype).reshape(channels)
    factor = x_scale.astype("float64") * w_scale.astype("float64") / y_scale.astype("float64")
    factor = factor.reshape(channels) if factor.size > 1 else factor.reshape(())
    return requantised(y.astype("float64"), factor, y_zero, y_zero.dtype.name)
