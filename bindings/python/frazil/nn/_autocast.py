"""What autocast (frazil.amp) does to functions written in Python: the lists of core/autocast.def
have those of C++. Inside of a function that converted its operands autocast is off.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

from frazil._frazil import Tensor
from frazil._frazil import autograd as _autograd

if TYPE_CHECKING:
    from collections.abc import Callable

_F = TypeVar("_F", bound="Callable[..., Any]")

_get, _set = _autograd.get_autocast, _autograd.set_autocast
_lowered, _raised = _autograd.lowered, _autograd.raised
_CUDA = 2  # in the word: the list of "cuda"


def _converted(function, convert, args, kwargs):
    args = convert(*args)
    kwargs = {name: convert(value)[0] for name, value in kwargs.items()}
    before = _set(0)
    try:
        return function(*args, **kwargs)
    finally:
        _set(before)


def lowers(function: _F) -> _F:
    """A function that computes in the 16-bit dtype under autocast."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if _get():
            return _converted(function, _lowered, args, kwargs)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def raises(function: _F) -> _F:
    """A function that computes in float32 under autocast."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if _get():
            return _converted(function, _raised, args, kwargs)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def keeps(always: bool) -> Callable[[_F], _F]:
    """A function that computes in float32 under autocast and gives the dtype of its first operand;
    float32 by the list of "cuda" unless `always`.
    """

    def decorate(function: _F) -> _F:
        @functools.wraps(function)
        def call(*args, **kwargs):
            word = _get()
            if not word:
                return function(*args, **kwargs)
            first = args[0] if args else kwargs["input"]
            result = _converted(function, _raised, args, kwargs)
            if (word & _CUDA and not always) or not isinstance(first, Tensor):
                return result
            return result.astype(first.dtype)

        return call  # type: ignore[return-value]

    return decorate
