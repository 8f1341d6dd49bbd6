"""What functions written in Python share: errors by their own name, operands, axes."""

import functools
import operator
import re

from frazil import _frazil as _fz
from frazil._frazil import Tensor


def public(function):
    """Errors of the functions inside carry this function's name."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if len(error.args) == 1 and isinstance(error.args[0], str):
                error.args = (re.sub(r"^\[[\w.]+\] ", f"[{name}] ", error.args[0]),)
            raise

    name = function.__name__
    return call


def tensor(x):
    """A tensor from an operand."""
    return x if isinstance(x, Tensor) else _fz.asarray(x)


def floating(x):
    """A floating-point tensor: integers become the float in which NumPy computes functions."""
    x = tensor(x)
    if x.dtype.kind == "real floating":
        return x
    return x.astype({1: _fz.float16, 2: _fz.float32}.get(x.itemsize, _fz.float64))


def fixed_axis(x, axis):
    """The axis counted from the front."""
    n = operator.index(axis)
    if not -x.ndim <= n < x.ndim:
        raise IndexError(f"[axis] axis {n} is out of range for rank {x.ndim}.")
    return n % x.ndim
