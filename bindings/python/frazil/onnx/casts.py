"""Casts between dtypes. What tensors have no dtype for is cast on the host, by ml_dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from frazil.onnx._reading import package
from frazil.onnx._table import converts
from frazil.onnx._values import DTYPES, Counter, Host, array_of, dtype_of, host_dtype


def _numbers_of_strings(array: Any, dtype: Any) -> Any:
    return (
        np.asarray([float(s) for s in array.reshape(-1)], np.float64)
        .astype(dtype)
        .reshape(array.shape)
    )


def _strings(array: Any) -> Any:
    out = np.empty(array.shape, dtype=object)
    for i, v in np.ndenumerate(array):
        whole = array.dtype.kind in "iub"
        out[i] = (
            str(v)
            if whole
            else np.format_float_positional(v, trim="-")
            if (np.isfinite(v) and 1e-5 <= abs(v) < 1e16)
            else str(v)
        )
    return out


def cast_array(array: Any, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    """An array in another dtype, which may be one of ml_dtypes or strings."""
    dtype, name = host_dtype(to), DTYPES[to]
    if array.dtype.kind in "OU":
        return array if name == "str" else _numbers_of_strings(array, dtype)
    if name == "str":
        return _strings(array)
    helper = package().numpy_helper
    if name == "float8_e8m0fnu":
        wide = array.astype(np.float32)
        return helper.to_float8e8m0(wide, saturate=bool(saturate), round_mode=round_mode)
    if name.startswith("float8"):
        wide = array if array.dtype.kind == "f" else array.astype(np.float32)
        return helper.saturate_cast(wide, dtype) if saturate else wide.astype(dtype)
    if name.startswith("float4") and array.dtype.kind != "V":
        return array.astype(np.float32).astype(dtype)
    if name in ("int4", "uint4", "int2", "uint2") and array.dtype.kind in "iuf":
        bits, signed = int(name[-1]), name[0] == "i"
        wide = np.trunc(array.astype(np.float64)).astype(np.int64) & ((1 << bits) - 1)
        if signed:
            wide = np.where(wide >= 1 << (bits - 1), wide - (1 << bits), wide)
        return wide.astype(np.int8).astype(dtype)
    if array.dtype.kind == "V" and dtype.kind not in "fV":  # through the dtype that holds all
        return array.astype(np.float32).astype(dtype)
    with np.errstate(invalid="ignore", over="ignore"):  # not finite, or too large
        return array.astype(dtype)


def cast_value(x: Any, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    own = dtype_of(to)
    if isinstance(x, Host):
        return cast_array(x.array, to, saturate, round_mode)
    if own:
        return x.astype(own)
    return cast_array(array_of(x), to, saturate, round_mode)


@converts("Cast", raw="x")
def cast(x: Any, *, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    return cast_value(x.tensor(None) if isinstance(x, Counter) else x, to, saturate, round_mode)


@converts("CastLike", 15, raw="x like")
def cast_like(x: Any, like: Any, *, saturate: int = 1, round_mode: str = "up") -> Any:
    if not isinstance(like, Host):
        if isinstance(x, Host) and x.dtype not in DTYPES.values():
            x = Host(cast_array(x.array, number_of(like.dtype.name)))
        return (
            cast_value(x, number_of(like.dtype.name))
            if isinstance(x, Host)
            else x.astype(like.dtype)
        )
    return cast_value(x, number_of(like.dtype), saturate, round_mode)


def number_of(name: str) -> int:
    """The number of onnx.TensorProto.DataType of a dtype's name."""
    name = "str" if name == "object" else name
    return next(n for n, own in DTYPES.items() if own == name)


@converts("BitCast", 26, raw="x")
def bit_cast(x: Any, *, to: int) -> Any:
    own = dtype_of(to)
    if not isinstance(x, Host) and own and own != "bool" and x.dtype.name != "bool" and x.ndim:
        return x.view(own)
    array, dtype = array_of(x), host_dtype(to)
    return np.ascontiguousarray(array).view(dtype).reshape(array.shape)
