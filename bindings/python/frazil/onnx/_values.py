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

__all__ = ["DTYPES", "Host", "Known", "array_of", "dtype_of", "host_dtype", "known_of", "to_tensor"]

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


def dtype_of(number: int) -> str:
    """The dtype of tensors for a number of onnx.TensorProto.DataType, "" if there is none."""
    name = DTYPES.get(number, "")
    return name if name in NAMES else ""


@functools.cache
def _numpy_dtype(name: str) -> np.dtype[Any]:
    if name in NAMES and name != "bfloat16":
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))


class Known:
    """An array of the host as Python numbers, row by row: what conversions get for inputs that they
    want on the host. It answers as an array does where they ask, and makes one for whoever needs
    it; traced calls, which follow what is read, do not meet NumPy in here."""

    def __init__(self, flat: tuple[Any, ...], shape: tuple[int, ...], dtype: str) -> None:
        self.flat, self.shape, self.dtype = flat, shape, dtype

    @property
    def size(self) -> int:
        return len(self.flat)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return len(self.flat)

    def __iter__(self) -> Any:
        return iter(self.flat)

    def __int__(self) -> int:
        return int(self.flat[0])

    def __float__(self) -> float:
        return float(self.flat[0])

    def any(self) -> bool:
        return any(self.flat)

    def array(self) -> np.ndarray[Any, Any]:
        if self.dtype == "str":
            array = np.empty(len(self.flat), dtype=object)
            array[:] = self.flat
            return array.reshape(self.shape)
        return np.asarray(self.flat, dtype=_numpy_dtype(self.dtype)).reshape(self.shape)


class Host:
    """Content of an array of the host. `static`: it is the same at every call with these shapes."""

    data: Any  # bytes as Latin-1 text, which traced calls compare; of strings a tuple

    def __init__(self, array: Any, static: bool = True) -> None:
        self.static = static
        self._tensors: dict[str | None, Tensor] = {}
        array = np.asarray(array)
        self.shape: tuple[int, ...] = tuple(array.shape)
        if array.dtype.kind in "OU":
            self.dtype, self.data = "str", tuple(array.ravel().tolist())
        else:
            self.dtype, self.data = array.dtype.name, array.tobytes().decode("latin-1")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tensors": {}}

    @classmethod
    def number(cls, value: Any, dtype: str, static: bool = True) -> Host:
        """Of an integer or bool, without NumPy."""
        made = cls.__new__(cls)
        size = 1 if dtype == "bool" else int(dtype.lstrip("uint")) // 8
        made.data = int(value).to_bytes(size, "little", signed=dtype[0] == "i").decode("latin-1")
        made.dtype, made.shape, made.static, made._tensors = dtype, (), static, {}
        return made

    @property
    def whole(self) -> int:
        """The integer or bool that it is, without NumPy."""
        signed = self.dtype[0] == "i"
        return int.from_bytes(self.data.encode("latin-1"), "little", signed=signed)

    def again(self, static: bool) -> Host:
        """The same content."""
        made = Host.__new__(Host)
        made.data, made.dtype, made.shape = self.data, self.dtype, self.shape
        made.static, made._tensors = static, self._tensors
        return made

    @property
    def array(self) -> np.ndarray[Any, Any]:
        if self.dtype == "str":
            array = np.empty(len(self.data), dtype=object)
            array[:] = self.data
            return array.reshape(self.shape)
        return np.frombuffer(self.data.encode("latin-1"), _numpy_dtype(self.dtype)).reshape(
            self.shape
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return self.array if dtype is None else self.array.astype(dtype)

    def known(self) -> Known:
        """It as Python numbers."""
        return Known(tuple(self.array.ravel().tolist()), self.shape, self.dtype)

    def tensor(self, device: str | None) -> Tensor:
        """It as a tensor, made once."""
        made = self._tensors.get(device)
        if made is None:
            made = self._tensors[device] = to_tensor(self.array, device)
        return made

    def forget(self) -> None:
        """Gives up its tensors; who wants one gets a new one."""
        self._tensors.clear()

    @property
    def key(self) -> Any:
        """What two of the same content have in common."""
        return self.dtype, self.shape, self.data


class Counter(Host):
    """The number of an iteration: known to the host, and a tensor that is counted up, so that
    traced loops are alike."""

    counted: Any

    @classmethod
    def of(cls, i: int, counted: Any) -> Any:
        made: Any = cls.number(i, "int64", static=False)
        made.counted = counted
        return made

    def tensor(self, device: str | None) -> Any:
        return self.counted


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
    if isinstance(value, Known):
        return value.array()
    if isinstance(value, Tensor):
        if value.dtype.name == "bfloat16":
            import ml_dtypes

            return np.asarray(value.astype("float32")).astype(ml_dtypes.bfloat16)
        return np.asarray(value.detach())
    return np.asarray(value)


def known_of(value: Any) -> Known:
    """A value as Python numbers; reads a tensor."""
    return value.known() if isinstance(value, Host) else Host(array_of(value)).known()
