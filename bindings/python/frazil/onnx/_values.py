"""Values while a model runs: tensors, arrays of the host, lists (sequences) and None (nothing).

What is computed from shapes and constants stays on the host, as NumPy arrays (`Host`), and so does
what frazil has no dtype for: strings, and floats and integers of less than 16 and 8 bits.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from frazil import _frazil as _fz
from frazil._frazil import Tensor

__all__ = ["DTYPES", "Host", "array_of", "dtype_of", "host_dtype", "to_tensor"]

# onnx.TensorProto.DataType: number -> NumPy's or ml_dtypes' name.
DTYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64",
    8: "str", 9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64",
    14: "complex64", 15: "complex128", 16: "bfloat16", 17: "float8_e4m3fn",
    18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz", 21: "uint4", 22: "int4",
    23: "float4_e2m1fn", 24: "float8_e8m0fnu", 25: "uint2", 26: "int2",
}  # fmt: skip

# The dtypes of tensors.
NAMES = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
    "complex64 complex128".split()
)


@functools.cache
def host_dtype(number: int) -> np.dtype[Any]:
    """NumPy's dtype of a number of onnx.TensorProto.DataType. ValueError if there is none."""
    if number not in DTYPES:
        raise ValueError(f"[onnx] there is no data type {number}.")
    name = DTYPES[number]
    if name == "str":
        return np.dtype(object)
    if name in NAMES and name != "bfloat16":
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))


@functools.cache
def dtype_of(number: int) -> str:
    """The dtype of tensors for a number of onnx.TensorProto.DataType, "" if there is none."""
    name = DTYPES.get(number, "")
    return name if name in NAMES else ""


class Host:
    """An array of the host. `static`: it is the same at every call with these shapes."""

    __slots__ = ("_key", "_tensors", "array", "static")

    def __init__(self, array: Any, static: bool = True) -> None:
        self.array = np.asarray(array)
        self.static = static
        self._key: Any = None
        self._tensors: dict[str | None, Tensor] = {}

    def tensor(self, device: str | None) -> Tensor:
        """It as a tensor, made once."""
        made = self._tensors.get(device)
        if made is None:
            made = self._tensors[device] = to_tensor(self.array, device)
        return made

    @property
    def key(self) -> Any:
        """What two of the same content have in common."""
        if self._key is None:
            a = self.array
            content = tuple(a.ravel().tolist()) if a.dtype == object else a.tobytes()
            self._key = (a.dtype.name, a.shape, content)
        return self._key


def to_tensor(array: Any, device: str | None) -> Tensor:
    """A tensor of an array. TypeError for dtypes that tensors do not have."""
    if array.dtype.name not in NAMES:
        kind = "strings" if array.dtype.kind in "OU" else array.dtype.name
        raise TypeError(
            f"[onnx] there are no tensors of {kind}, and this operator is not converted for arrays "
            "of the host: cast them first."
        )
    array = np.ascontiguousarray(array).reshape(array.shape)
    if array.dtype.name == "bfloat16":  # exact in either direction
        return _fz.asarray(array.astype(np.float32), device=device).astype("bfloat16")
    return _fz.asarray(array, device=device)


def array_of(value: Any) -> np.ndarray[Any, Any]:
    """The array of a value; reads a tensor."""
    if isinstance(value, Host):
        return value.array
    if isinstance(value, Tensor):
        if value.dtype.name == "bfloat16":
            import ml_dtypes

            return np.asarray(value.astype("float32")).astype(ml_dtypes.bfloat16)
        return np.asarray(value.detach())
    return np.asarray(value)
