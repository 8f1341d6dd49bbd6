"""Quantised tensors: integers with a scale and a zero point, per tensor, axis or block."""

from __future__ import annotations

from typing import Any

import numpy as np

import frazil as fz
from frazil.onnx._table import converts
from frazil.onnx._values import DTYPES, NAMES, Host, array_of, dtype_of
from frazil.onnx.casts import cast_array, number_of

LIMITS = {
    "uint8": (0, 255), "int8": (-128, 127), "uint16": (0, 65535), "int16": (-32768, 32767),
    "uint4": (0, 15), "int4": (-8, 7), "uint2": (0, 3), "int2": (-2, 1),
}  # fmt: skip


def name_of(x: Any) -> str:
    return str(x.dtype if isinstance(x, Host) else x.dtype.name)


def _floats(x: Any, device: str | None, dtype: str = "float32") -> Any:
    """Whatever its dtype as a tensor of floats."""
    if isinstance(x, Host):
        return Host(x.array.astype(np.float32)).tensor(device).astype(dtype)
    return x.astype(dtype)


def _aligned(v: Any, x: Any, axis: int, block_size: int) -> Any:
    """A scale or zero point such that it broadcasts to x."""
    if v.ndim == 0 or (v.ndim == 1 and v.shape[0] == 1):
        return v.reshape(())
    axis %= x.ndim
    if block_size:
        n = v.shape[axis]
        shape = (*v.shape[: axis + 1], block_size, *v.shape[axis + 1 :])
        v = fz.broadcast_to(fz.expand_dims(v, axis=axis + 1), shape)
        v = v.reshape((*shape[:axis], n * block_size, *shape[axis + 2 :]))
        return v[(slice(None),) * axis + (slice(0, x.shape[axis]),)]
    along = [1] * x.ndim
    along[axis] = -1
    return v.reshape(tuple(along))


@converts("DequantizeLinear", 10, either="x scale zero")
def dequantize(
    x: Any, scale: Any, zero: Any = None, *, axis: int = 1, block_size: int = 0,
    output_dtype: int = 0, node: Any,
) -> Any:  # fmt: skip
    dtype = dtype_of(output_dtype) if output_dtype else name_of(scale)
    dtype = dtype if dtype in NAMES else "float32"
    wide = "float32" if name_of(x) != "int32" else "float64"
    y = _floats(x, node.device, wide)
    if zero is not None:
        y = y - _aligned(_floats(zero, node.device, wide), y, axis, block_size)
    y = y.astype("float32") * _aligned(_floats(scale, node.device), y, axis, block_size)
    return y.astype(dtype)


@converts("QuantizeLinear", 10, either="x scale zero")
def quantize(
    x: Any, scale: Any, zero: Any = None, *, axis: int = 1, block_size: int = 0,
    output_dtype: int = 0, precision: int = 0, saturate: int = 1, node: Any,
) -> Any:  # fmt: skip
    to = output_dtype or (2 if zero is None else number_of(name_of(zero)))
    compute = dtype_of(precision) if precision else name_of(scale)
    compute = compute if compute in NAMES and "int" not in compute else "float32"
    compute = compute if precision else name_of(x) if name_of(x) == "float64" else compute
    y = _floats(x, node.device, compute)
    y = y / _aligned(_floats(scale, node.device, compute), y, axis, block_size)
    name = DTYPES[to]
    if name not in LIMITS:
        if zero is not None:
            y = y + _aligned(_floats(zero, node.device, compute), y, axis, block_size)
        return cast_array(array_of(y), to, saturate)
    low, high = LIMITS[name]
    y = fz.round(y).astype("float32" if compute in ("float16", "bfloat16") else compute)
    if zero is not None:
        y = y + _aligned(_floats(zero, node.device, y.dtype.name), y, axis, block_size)
    y = fz.clip(y, low, high)
    return y.astype(name) if name in NAMES else cast_array(array_of(y), to)


@converts("DynamicQuantizeLinear", 11)
def dynamic_quantize(x: Any) -> Any:
    low = fz.minimum(fz.min(x), 0)
    high = fz.maximum(fz.max(x), 0)
    scale = (high - low) / 255
    scale = fz.where(scale == 0, fz.ones_like(scale), scale)  # of zeros alone
    zero = fz.clip(fz.round(-low / scale), 0, 255)
    y = fz.clip(fz.round(x / scale) + zero, 0, 255)
    return y.astype("uint8"), scale, zero.astype("uint8")
