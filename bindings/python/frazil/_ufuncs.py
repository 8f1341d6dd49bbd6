"""NumPy's ufuncs called with tensors: np.exp(t), np.add.reduce(t). Called by array_interop.cc.

A ufunc is the function of its name here, or of the name that the table of other names gives; so it
is recorded, differentiated and run like any call of frazil.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import frazil as fz
from frazil._frazil import Tensor
from frazil._names import MODULE

_REDUCE = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
    "logaddexp": "logsumexp",
}
_ACCUMULATE = {
    "add": "cumulative_sum",
    "multiply": "cumulative_prod",
    "maximum": "cummax",
    "minimum": "cummin",
}
_SEVERAL = {"divmod": lambda x1, x2: (fz.floor_divide(x1, x2), fz.remainder(x1, x2))}
DIRECT: dict[
    Any, Callable[..., Any]
] = {}  # {ufunc: function}: what was called before, which C then calls at once
NDARRAY = np.ndarray
_OURS = (None, Tensor.__array_ufunc__, np.ndarray.__array_ufunc__)


def call(ufunc, method, *inputs, out=(), where=True, **options):
    """What ufunc.method(*inputs, ...) is, as a tensor; `out` if it is given, filled with it."""
    if any(getattr(type(x), "__array_ufunc__", None) not in _OURS for x in (*inputs, *out)):
        return NotImplemented  # it may know what to do with tensors
    result = _METHODS.get(method, _refuse)(ufunc, method, inputs, options)
    out = tuple(o for o in out if o is not None)
    if where is not True and method != "__call__":
        raise TypeError(
            f"[np.{ufunc.__name__}.{method}] takes no where=: replace what it leaves out, as in "
            "fz.where(mask, t, 0), before."
        )
    if not out:
        if where is not True:
            raise TypeError(
                f"[np.{ufunc.__name__}] where= needs out=: what to leave where the mask is false."
            )
        return result
    results = result if isinstance(result, tuple) else (result,)
    if len(out) != len(results):
        raise TypeError(f"[np.{ufunc.__name__}] needs all of its {len(results)} arrays in out=.")
    for to, value in zip(out, results, strict=True):
        write(f"np.{ufunc.__name__}", to, value, where)
    return out if isinstance(result, tuple) else out[0]


def _function(ufunc):
    name = ufunc.__name__
    own = getattr(np, name, None) is ufunc
    found = _SEVERAL.get(name) or getattr(fz, MODULE.get(name, name), None) if own else None
    if found is None:
        raise TypeError(f"[np.{name}] frazil has no such function: use np.asarray(t) for an array.")
    DIRECT[ufunc] = found
    return found


def _call(ufunc, method, inputs, options):
    function = _function(ufunc)
    inputs = [fz.asarray(x) if isinstance(x, (list, tuple)) else x for x in inputs]
    dtype = _dtype(options)
    if dtype is not None:
        inputs = [fz.asarray(x).astype(dtype) for x in inputs]
    return function(*inputs, **_checked(ufunc, options, ("axis",) if ufunc.signature else ()))


def _dtype(options):
    """dtype=, also by NumPy's short names."""
    dtype = options.pop("dtype", None)
    return np.dtype(dtype) if isinstance(dtype, str) and dtype not in _OWN else dtype


def _reduce(ufunc, method, inputs, options):
    names = _REDUCE if method == "reduce" else _ACCUMULATE
    if ufunc.__name__ not in names:
        _refuse(ufunc, method, inputs, options)
    axis, dtype = options.pop("axis", 0), _dtype(options)
    x = fz.asarray(inputs[0])
    x = x if dtype is None else x.astype(dtype)
    options = _checked(ufunc, options, ("keepdims",))
    out = getattr(fz, names[ufunc.__name__])(x, axis=axis, **options)
    return out if dtype is None else out.astype(dtype)


def _outer(ufunc, method, inputs, options):
    first, second = (fz.asarray(x) for x in inputs)
    first = first.reshape(first.shape + (1,) * second.ndim)
    return _call(ufunc, method, (first, second), options)


_OWN = ("bfloat16",)  # which NumPy has not


def _refuse(ufunc, method, inputs, options):
    raise TypeError(
        f"[np.{ufunc.__name__}] frazil has no {method} of it: use np.asarray(t) for an array."
    )


_METHODS = {"__call__": _call, "reduce": _reduce, "accumulate": _reduce, "outer": _outer}


def _checked(ufunc, options, allowed):
    """The options that are allowed, without those that ask for nothing; TypeError for others."""
    neutral = {"casting": ("same_kind", "unsafe"), "order": ("K", "A", "C"), "subok": (True, False)}
    kept = {}
    for name, value in options.items():
        if value is np._NoValue or value in neutral.get(name, ()):
            continue
        if name not in allowed:
            raise TypeError(f"[np.{ufunc.__name__}] takes no {name}={value!r} with tensors.")
        kept[name] = value
    return kept


def write(name, to, value, where):
    """Puts the value into a tensor's cell or into an array, where the mask is true."""
    if not isinstance(to, Tensor):
        mask = where if where is True else np.asarray(where)
        np.copyto(to, np.asarray(value), casting="same_kind", where=mask)
        return
    if not np.can_cast(np.asarray(value).dtype, np.asarray(to).dtype, "same_kind"):
        raise TypeError(
            f"[{name}] the result is {value.dtype.name}, which does not go into "
            f"out= of {to.dtype.name}; use astype."
        )
    to[...] = value if where is True else fz.where(where, value, to)
