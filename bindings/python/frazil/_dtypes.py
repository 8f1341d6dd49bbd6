"""Questions about dtypes: promotion, casting, limits."""

from __future__ import annotations

import functools
from types import SimpleNamespace as _Namespace
from typing import TYPE_CHECKING, Any

from frazil import _frazil
from frazil._frazil import Tensor

if TYPE_CHECKING:
    from frazil._frazil import DType
    from frazil._types import DTypeLike, Operand

_runtime = _frazil.runtime

__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "can_cast",
    "dtype",
    "finfo",
    "iinfo",
    "isdtype",
    "result_type",
]

__array_api_version__ = "2025.12"

dtype = _runtime.dtype

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("signed integer",),
    "unsigned integer": ("unsigned integer",),
    "integral": ("signed integer", "unsigned integer"),
    "real floating": ("real floating",),
    "complex floating": ("complex floating",),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}


def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[DTypeLike, ...]) -> bool:
    """Whether a dtype is of a kind: a dtype, an array API name such as "integral", or a tuple.

    >>> isdtype(_frazil.int8, "integral")
    True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"[isdtype] '{kind}' is no kind; there are: {', '.join(_KINDS)}.")
        return _runtime.dtype(dtype).kind in _KINDS[kind]
    return _runtime.dtype(dtype) == _runtime.dtype(kind)


def result_type(*arrays_and_dtypes: Operand | DTypeLike) -> DType:
    """The dtype in which an op of these tensors, dtypes and Python numbers computes.

    >>> result_type(_frazil.int32, _frazil.float32, 1.0)
    frazil.float64
    >>> result_type(1, 1.0)  # numbers alone: their default dtypes
    frazil.float32
    """
    numbers = [x for x in arrays_and_dtypes if isinstance(x, (bool, int, float, complex))]
    strong = [x for x in arrays_and_dtypes if not isinstance(x, (bool, int, float, complex))]
    if not strong:
        if not numbers:
            raise ValueError("[result_type] needs at least one argument.")
        return _frazil.asarray(max(numbers, key=_rank)).dtype
    dtypes = [x.dtype if isinstance(x, Tensor) else _runtime.dtype(_dtype_of(x)) for x in strong]
    out = functools.reduce(_runtime.promote, dtypes)
    return functools.reduce(_runtime.promote_scalar, numbers, out)


def _rank(x: complex) -> tuple[bool, ...]:
    """What bool < int < float < complex is sorted by."""
    return isinstance(x, complex), isinstance(x, float), not isinstance(x, bool)


def _dtype_of(x: Any) -> Any:
    """Of an array of another library; what has none is a dtype itself."""
    return getattr(x, "dtype", x)


def can_cast(from_: DTypeLike | Tensor, to: DTypeLike, /) -> bool:
    """Whether promotion of the two gives `to`: no value can be lost."""
    source = from_.dtype if isinstance(from_, Tensor) else _runtime.dtype(from_)
    target = _runtime.dtype(to)
    return _runtime.promote(source, target) == target


class finfo(_Namespace):  # noqa: N801
    """Limits of a floating-point dtype, or of the parts of a complex one.

    They are bits, eps, max, min, smallest_normal and dtype, that of the parts.
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType

    def __init__(self, dtype: DTypeLike | Tensor) -> None:
        t = dtype.dtype if isinstance(dtype, Tensor) else _runtime.dtype(dtype)
        if t.kind == "complex floating":
            t = {"complex64": _frazil.float32, "complex128": _frazil.float64}[t.name]
        if t.kind != "real floating":
            raise TypeError(f"[finfo] needs a floating-point dtype, got {t.name}.")
        mantissa = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[t.name]
        exponent = {"float16": 15, "float64": 1023}.get(t.name, 127)  # the largest
        top = (2.0 - 2.0**-mantissa) * 2.0**exponent
        super().__init__(
            bits=t.itemsize * 8,
            eps=2.0**-mantissa,
            max=top,
            min=-top,
            smallest_normal=2.0 ** (1 - exponent),
            dtype=t,
        )


class iinfo(_Namespace):  # noqa: N801
    """Limits of an integer dtype: bits, max, min, dtype."""

    bits: int
    max: int
    min: int
    dtype: DType

    def __init__(self, dtype: DTypeLike | Tensor) -> None:
        t = dtype.dtype if isinstance(dtype, Tensor) else _runtime.dtype(dtype)
        if not isdtype(t, "integral"):
            raise TypeError(f"[iinfo] needs an integer dtype, got {t.name}.")
        bits = t.itemsize * 8
        signed = t.kind == "signed integer"
        super().__init__(
            bits=bits,
            max=2 ** (bits - signed) - 1,
            min=-(2 ** (bits - 1)) if signed else 0,
            dtype=t,
        )


class _Info:
    """What the array API asks a namespace about itself."""

    def capabilities(self) -> dict[str, bool | int]:
        """What programs may rely on."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}

    def default_device(self) -> str:
        """The device of new tensors."""
        return "cpu"

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """The dtypes of Python numbers, by kind."""
        floats = _runtime.default_dtype()
        return {
            "real floating": floats,
            "complex floating": _runtime.promote(floats, _frazil.complex64),
            "integral": _frazil.int64,
            "indexing": _frazil.int64,
        }

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """The standard's dtypes (not float16, bfloat16) by name: all, or those of a kind."""
        every = {t.name: t for t in vars(_frazil).values() if type(t) is type(_frazil.bool)}
        every = {n: t for n, t in every.items() if n not in ("float16", "bfloat16")}
        return {n: t for n, t in every.items() if kind is None or isdtype(t, kind)}

    def devices(self) -> tuple[str, ...]:
        """The devices that hold tensors."""
        return ("cpu", "npu")


def __array_namespace_info__() -> _Info:
    """What this namespace offers: dtypes, devices, capabilities."""
    return _Info()
