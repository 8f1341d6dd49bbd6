"""What functions written in Python share: errors by their own name, operands, axes."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._names import unexpected as _unexpected

if TYPE_CHECKING:
    from frazil._types import Operand

_F = TypeVar("_F", bound=Callable[..., Any])


def public(function: _F) -> _F:
    """Errors of the functions inside carry this function's name."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if len(error.args) == 1 and isinstance(error.args[0], str):
                message = re.sub(r"^\[[\w.]+\] ", f"[{name}] ", error.args[0])
                if type(error) is TypeError:
                    message = _unexpected(message, function)
                error.args = (message,)
            raise

    name = function.__name__
    return cast("_F", call)


def tensor(x: Any) -> Tensor:
    """A tensor from an operand."""
    return x if isinstance(x, Tensor) else _fz.asarray(x)


def floating(x: Operand) -> Tensor:
    """A floating-point tensor: integers become the float in which NumPy computes functions."""
    x = tensor(x)
    if x.dtype.kind == "real floating":
        return x
    return x.astype({1: _fz.float16, 2: _fz.float32}.get(x.itemsize, _fz.float64))


def inexact(x: Operand) -> Tensor:
    """A floating-point or complex tensor: integers and bools become float64, as in a quotient."""
    x = tensor(x)
    return x if x.dtype.kind in ("real floating", "complex floating") else x.astype(_fz.float64)


def flag(where: str, value: Any) -> bool:
    """A truth value that is one; `where` begins the message: "[mode] strict"."""
    if isinstance(value, bool) or (type(value) is int and value in (0, 1)):
        return bool(value)
    if type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise TypeError(f"{where} must be True or False, got {value!r}.")


def integer(where: str, value: Any, least: int | None = None) -> int:
    """A whole number, from `least` on; no bool."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{where} must be an integer, got {type(value).__name__}.")
    n = operator.index(value)
    if least is not None and n < least:
        raise ValueError(f"{where} must be at least {least}, got {n}.")
    return n


def is_count(value: Any) -> bool:
    """Whether it is one integer rather than a list: an array without axes is."""
    return hasattr(value, "__index__") and getattr(value, "ndim", 0) == 0


def number(where: str, value: Any, least: Any = None, below: Any = None) -> Any:
    """Checks a real number, at least `least` and below `below`; a tensor is taken as it is."""
    if isinstance(value, Tensor):
        return value
    truth = isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")
    if truth or isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise TypeError(f"{where} must be a number, got {type(value).__name__}.")
    if not (least is None or value >= least) or not (below is None or value < below):
        bounds = f"at least {least}" + ("" if below is None else f" and below {below}")
        raise ValueError(f"{where} must be {bounds}, got {value!r}.")
    return value


def fixed_axis(x: Tensor, axis: Any) -> int:
    """The axis counted from the front."""
    n = integer("[axis] axis", axis)
    if not -x.ndim <= n < x.ndim:
        raise IndexError(f"[axis] axis {n} is out of range for rank {x.ndim}.")
    return n % x.ndim
