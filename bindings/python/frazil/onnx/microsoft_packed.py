"""Weights of few bits as onnxruntime (com.microsoft) packs them: products and rows of them.

Weights that are constants are unpacked once, when a plan is made.
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from typing import Any

import numpy as np

import frazil as fz
from frazil.onnx._table import MICROSOFT, OWN, converts
from frazil.onnx._values import NAMES, Host, to_tensor
from frazil.onnx.quantised import name_of
from frazil.onnx.recurrent import turned


def _unpacked(packed: Any, bits: int) -> Any:
    """The numbers in bytes, the lowest bits first, along the last axis. uint8"""
    if bits == 8:
        return packed
    parts = [(packed >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)]
    return fz.stack(parts, axis=-1).reshape((*packed.shape[:-1], -1))


def _of_blocks(v: Any, size: int, axis: int, extent: int) -> Any:
    """Each number of an axis `size` times, up to an extent."""
    if v.shape[axis] == extent or v.shape[axis] == 1:
        return v
    v = fz.moveaxis(v, axis, -1)
    shape = (*v.shape, size)
    v = fz.broadcast_to(v[..., None], shape).reshape((*shape[:-2], -1))
    return fz.moveaxis(v[..., :extent], -1, axis)


@converts("Blocks", domain=OWN)
def blocks(
    b: Any, scales: Any, zeros: Any = None, *, K: int, N: int, block_size: int, bits: int = 4,
    accuracy_level: int = 0,
) -> Any:  # fmt: skip
    """Of MatMulNBits: the matrix (K, N) of floats, what its columns are to be multiplied by, and an
    input that is not needed any more. Columns are stored in 16 bits where less is allowed."""
    count = -(-K // block_size)
    if 0 in b.shape:
        return fz.zeros((K, N), dtype=scales.dtype), None, None
    q = _unpacked(b.reshape((N, count, -1)), bits)[:, :, :block_size].astype("float32")
    if zeros is None:
        zero: Any = float(1 << (bits - 1))
    elif zeros.dtype.name == "uint8":
        zero = _unpacked(zeros.reshape((N, -1)), bits)[:, :count, None].astype("float32")
    else:
        zero = zeros.reshape((N, count, 1)).astype("float32")
    w = (q - zero) * scales.reshape((N, count, 1)).astype("float32")
    w = w.reshape((N, count * block_size))[:, :K]
    if accuracy_level < 2 or scales.dtype.name != "float32":
        return fz.matrix_transpose(w.astype(scales.dtype)), None, None
    # Of the largest in a column, so that none is too large or too small for 16 bits.
    most = fz.max(fz.abs(w), axis=1, keepdims=True)
    most = fz.where(most > 0, most, fz.ones_like(most))
    return fz.matrix_transpose((w / most).astype("float16")), most.reshape((N,)), None


@converts(
    "MatMulNBits", domain=MICROSOFT, laid={"b": turned},
    prepared={"Blocks": ("b scales zeros",)},
)  # fmt: skip
def matmul_bits(
    a: Any, b: Any, scales: Any = None, zeros: Any = None, groups: Any = None, bias: Any = None, *,
    accuracy_level: int = 0, weight_prepacked: int = 0,
) -> Any:  # fmt: skip
    """The product is computed in floats, whatever accuracy it may have; scales of its columns are
    given with weights in 16 bits, as `Blocks` made them."""
    if weight_prepacked:
        raise ValueError(
            f"[onnx] MatMulNBits with weights packed for a device ({weight_prepacked}) is not "
            "supported."
        )
    if groups is not None:
        raise ValueError("[onnx] MatMulNBits with g_idx, which is deprecated, is not supported.")
    if scales is None:
        y = a @ b
    else:  # widened in the order of its memory
        y = (a @ fz.matrix_transpose(fz.matrix_transpose(b).astype("float32"))) * scales
    return y if bias is None else y + bias


# What the 16 numbers of 4 bits stand for, by quant_type.
_FLOATS4 = (
    (0.0, 0.0052083333, 0.6666666667, 1.0, 0.3333333333, 0.5, 0.1666666667, 0.25,
     -0.0, -0.0052083333, -0.6666666667, -1.0, -0.3333333333, -0.5, -0.1666666667, -0.25),
    (-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
     -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
     0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
     0.7229568362236023, 1.0),
)  # fmt: skip


@converts("Floats4", domain=OWN)
def floats4(
    b: Any, absmax: Any, *, K: int, N: int, block_size: int, quant_type: int, transB: int = 1
) -> Any:
    """Of MatMulBnb4: the matrix (K, N), or with transB = 0 (N, K), of floats; the higher 4 bits of
    a byte come first."""
    at = fz.stack([b >> 4, b & 15], axis=-1).reshape((-1,))[: N * K]
    values = fz.take(fz.asarray(_FLOATS4[quant_type], dtype="float32"), at.astype("int32"), axis=0)
    values = values * _of_blocks(absmax.astype("float32"), block_size, 0, N * K)
    w = values.reshape((N, K)).astype(absmax.dtype)
    return fz.matrix_transpose(w) if transB else w, None


@converts(
    "MatMulBnb4", domain=MICROSOFT, laid={"b": turned}, prepared={"Floats4": ("b absmax",)}
)  # fmt: skip
def matmul_floats4(a: Any, b: Any, absmax: Any = None, *, training_mode: int = 0) -> Any:
    return a @ b


# Rows


@converts("Small", domain=OWN, raw="data zeros")
def small(data: Any, zeros: Any = None, *, bits: int = 4, node: Any) -> Any:
    """Numbers of less than 8 bits one in each byte."""

    def whole(x: Any) -> Any:
        if isinstance(x, Host) and x.dtype not in NAMES:
            wide = np.float32 if "float" in x.dtype else np.int8 if x.dtype[0] == "i" else np.uint8
            return to_tensor(x.array.astype(wide), node.device)
        x = node.deliver(x, 0)
        return x if x is None or name_of(x) != "uint8" else _unpacked(x, bits)

    own, zeros = whole(data), whole(zeros)
    if zeros is None and name_of(data) == "uint8":  # 4 bits of int4 and uint4 lie around 0
        zeros = fz.full((), 1 << (bits - 1), dtype="uint8")
    return own, zeros


@converts(
    "GatherBlockQuantized", domain=MICROSOFT, prepared={"Small": ("data zeros",)}
)  # fmt: skip
def gather_blocks(
    data: Any, indices: Any, scales: Any, zeros: Any = None, *, block_size: int = 128,
    gather_axis: int = 0, quantize_axis: int = 1,
) -> Any:  # fmt: skip
    """Rows that are not there are 0."""
    axis, along = gather_axis % data.ndim, quantize_axis % data.ndim
    size, n = block_size or data.shape[along], data.shape[axis]
    if along == axis:
        scales = _of_blocks(scales, size, along, n)
        zeros = zeros if zeros is None or not zeros.ndim else _of_blocks(zeros, size, along, n)
    there = (indices >= -n) & (indices < n)
    at = fz.where(there, fz.where(indices < 0, indices + n, indices), fz.zeros_like(indices))

    def taken(v: Any) -> Any:
        if v is None or not v.ndim:
            return v
        v = fz.take(v, at if v.shape[axis] == n else fz.zeros_like(at), axis=axis)
        if along == axis:
            return v
        place = along if along < axis else along + indices.ndim - 1
        return v if v.shape[place] == extent else _of_blocks(v, size, place, extent)

    extent = data.shape[along]
    y = taken(data).astype("float32")
    y = y if zeros is None else y - taken(zeros).astype("float32")
    y = (y * taken(scales).astype("float32")).astype(scales.dtype)
    shown = there.reshape((1,) * axis + there.shape + (1,) * (data.ndim - 1 - axis))
    return fz.where(shown, y, fz.zeros((), dtype=y.dtype))
