"""Elementwise functions that are short compositions of others; integers compute as in NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _frazil as _fz
from frazil._dtypes import finfo as _finfo
from frazil._dtypes import result_type as _result_type
from frazil._named import flag as _flag
from frazil._named import floating as _floating
from frazil._named import number as _number
from frazil._named import public as _public
from frazil._named import tensor as _tensor

if TYPE_CHECKING:
    from frazil._frazil import Tensor
    from frazil._types import Operand

__all__ = [
    "allclose",
    "array_equal",
    "atan2",
    "copysign",
    "hypot",
    "isclose",
    "logaddexp",
    "nan_to_num",
]

_FLOAT64 = _fz.float64


def _pair(x1: Operand, x2: Operand) -> tuple[Tensor, Tensor]:
    """Both in their common floating-point dtype."""
    if not (hasattr(x1, "dtype") or hasattr(x2, "dtype")):
        x1 = _tensor(x1)
    dtype = _result_type(x1, x2)
    zero = _floating(_fz.zeros((), dtype=dtype))
    first, second = (_fz.astype(_fz.asarray(x, dtype=zero.dtype), zero.dtype) for x in (x1, x2))
    return first, second


def _wider(x):
    """In the float that rounds once more than needed, so that short formulas stay accurate."""
    return x if x.dtype == _FLOAT64 else x.astype(_FLOAT64)


def _sign(x):
    """-1 or 1, the sign of zero included: odd functions are even ones of x * sign, times sign."""
    return _fz.where(_fz.signbit(x.detach()), -1.0, 1.0)


@_public
def atan2(x1: Operand, x2: Operand, /) -> Tensor:
    """Angle of the point (x2, x1) in radians, elementwise, from -pi to pi; signs as in C."""
    x1, x2 = _pair(x1, x2)
    y, x = _wider(x1), _wider(x2)
    sign = _sign(y)
    up, right = y * sign, x * _sign(x)
    # inf/inf counts as 1 and 0/0 as 0.
    slope = _fz.where(_fz.isinf(up) & _fz.isinf(right), 1.0, up / right)
    slope = _fz.where(_fz.equal(up, 0.0) & _fz.equal(right, 0.0), 0.0, slope)
    angle = _fz.atan(slope)
    left = 3.141592653589793 - (angle - 1.2246467991473532e-16)
    return (_fz.where(_fz.signbit(x.detach()), left, angle) * sign).astype(x1.dtype)


@_public
def hypot(x1: Operand, x2: Operand, /) -> Tensor:
    """sqrt(x1**2 + x2**2), elementwise, without overflow; infinite if either is."""
    x1, x2 = _pair(x1, x2)
    a, b = _wider(x1), _wider(x2)
    if x1.dtype != _FLOAT64:  # squares of narrower floats fit
        value = _fz.sqrt(a * a + b * b)
    else:
        a, b = _fz.abs(a), _fz.abs(b)
        large = _fz.maximum(a, b)
        ratio = _fz.minimum(a, b) / _fz.where(large == 0.0, 1.0, large)
        value = large * _fz.sqrt(ratio * ratio + 1.0)
    infinite = _fz.logical_or(_fz.isinf(x1), _fz.isinf(x2))
    return _fz.where(infinite, float("inf"), value).astype(x1.dtype)


@_public
def logaddexp(x1: Operand, x2: Operand, /) -> Tensor:
    """log(exp(x1) + exp(x2)), elementwise, without overflow."""
    x1, x2 = _pair(x1, x2)
    dtype = x1.dtype
    if dtype.itemsize == 2:  # rounded once
        x1, x2 = x1.astype(_fz.float32), x2.astype(_fz.float32)
    apart = _fz.where(_fz.equal(x1, x2), 0.0, x1 - x2)  # equal infinities differ by nothing
    return (_fz.maximum(x1, x2) + _fz.log1p(_fz.exp(-_fz.abs(apart)))).astype(dtype)


@_public
def copysign(x1: Operand, x2: Operand, /) -> Tensor:
    """The size of x1 with the sign of x2, elementwise; also the sign of a NaN counts."""
    x1, x2 = _pair(x1, x2)
    size = _fz.abs(x1)
    return _fz.where(_fz.signbit(x2.detach()), -size, size)


@_public
def nan_to_num(
    x: Operand, /, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """NaN and infinities replaced by numbers: by 0 and the dtype's largest and smallest."""
    x = _tensor(x)
    if x.dtype.kind != "real floating":
        return +x
    limits = _finfo(x.dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    out = _fz.where(_fz.isnan(x), nan, x)
    out = _fz.where(_fz.equal(x, float("inf")), high, out)
    return _fz.where(_fz.equal(x, float("-inf")), low, out)


@_public
def isclose(
    x1: Operand,
    x2: Operand,
    /,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    *,
    equal_nan: bool = False,
) -> Tensor:
    """True where abs(x1 - x2) <= atol + rtol * abs(x2), or both are the same infinity."""
    rtol, atol = _number("[isclose] rtol", rtol), _number("[isclose] atol", atol)
    equal_nan = _flag("[isclose] equal_nan", equal_nan)
    x1, x2 = _pair(x1, x2)
    near = _fz.less_equal(_fz.abs(x1 - x2), atol + rtol * _fz.abs(x2))
    finite = _fz.isfinite(x2)
    out = _fz.logical_or(_fz.logical_and(near, finite), _fz.equal(x1, x2))
    if equal_nan:
        out = _fz.logical_or(out, _fz.logical_and(_fz.isnan(x1), _fz.isnan(x2)))
    return out


@_public
def allclose(
    x1: Operand,
    x2: Operand,
    /,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    *,
    equal_nan: bool = False,
) -> bool:
    """Whether isclose holds for all elements: a Python bool. Reads the data."""
    return bool(_fz.all(isclose(x1, x2, rtol, atol, equal_nan=equal_nan)))


@_public
def array_equal(x1: Operand, x2: Operand, /) -> bool:
    """Whether two arrays have the same shape and elements: a Python bool. Reads the data."""
    x1, x2 = _tensor(x1), _tensor(x2)
    return x1.shape == x2.shape and bool(_fz.all(_fz.equal(x1, x2)))
