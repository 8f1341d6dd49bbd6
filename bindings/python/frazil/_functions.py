"""NumPy's functions called with tensors: np.concatenate([t, u]). Called by array_interop.cc.

A function is the one of its name here, in its namespace (numpy, numpy.linalg, numpy.fft), or the
one that the table of other names gives; so it is recorded, differentiated and run like any call of
frazil. What only looks (np.shape), writes files or text, or fills an array, is NumPy's, of arrays.
Everything else is a TypeError: no tensor becomes an array unasked.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import frazil as fz
from frazil._frazil import Tensor
from frazil._names import MODULE
from frazil._ufuncs import write

_OF_ARRAYS = frozenset(
    "array2string array_repr array_str common_type iscomplexobj isfortran isrealobj "
    "may_share_memory "
    "min_scalar_type save savetxt savez savez_compressed shares_memory".split()
)
_LOOKS: dict[str, Callable[..., Any]] = {
    "ndim": lambda a: fz.asarray(a).ndim,
    "shape": lambda a: fz.asarray(a).shape,
    "size": lambda a, axis=None: _size(fz.asarray(a), axis),
}
_NAMED = {"a_min": "min", "a_max": "max", "obj": "indices", "reps": "repetitions"}
_ELSEWHERE = {"trace": ("linalg", "trace")}  # fz.trace is another thing
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "out": (None,), "where": (True,), "order": ("K", "A", "C", None), "subok": (True, False),
    "casting": ("same_kind", "unsafe"), "like": (None,), "mean": (None,), "dtype": (None,),
    "kind": (None, "quicksort", "mergesort", "heapsort", "stable"), "mode": ("raise",),
    "overwrite_input": (False,), "stable": (None,), "copy": (None,),
}  # fmt: skip
_OURS = (Tensor.__array_function__, np.ndarray.__array_function__)


class _Twin(NamedTuple):
    """What is called for a function of NumPy's."""

    function: Callable[..., Any]
    theirs: list[str]  # names of NumPy's parameters that may be given by position; none: unknown
    positional: int  # how many parameters of ours are given by position alone
    places: list[str]  # names of ours that may be given by position
    names: frozenset[str]  # of all of ours


def call(func, types, args, kwargs):
    """What func(*args, **kwargs) is, of tensors."""
    if any(t.__array_function__ not in _OURS for t in types):
        return NotImplemented  # it may know what to do with tensors
    where = _place(func)
    name = func.__name__
    if where == "np" and name in _LOOKS:
        return _LOOKS[name](*args, **kwargs)
    if where == "np" and (name in _OF_ARRAYS or _is_numpys(name, args)):
        return func(*_as_arrays(args), **_as_arrays(kwargs))
    twin = _twin(func)
    options = {k: v for k, v in kwargs.items() if not _asks_nothing(k, v)}
    out = options.pop("out", None)
    args = list(args)
    if twin.theirs:  # what NumPy takes by position may have a name alone here
        for at in range(len(args) - 1, -1, -1):
            if at < twin.positional or at >= len(twin.theirs):
                continue
            theirs = twin.theirs[at]
            if twin.places[at : at + 1] == [_NAMED.get(theirs, theirs)]:
                continue
            value = args.pop(at)
            if theirs == "out":
                out = value
            elif not _asks_nothing(theirs, value):
                options[theirs] = value
    options = {
        _NAMED.get(k, k) if _NAMED.get(k) in twin.names else k: v for k, v in options.items()
    }
    function, unknown = twin.function, options.keys() - twin.names
    if unknown and where == "np" and args and isinstance(args[0], Tensor):
        function = getattr(Tensor, name, function)  # mean(dtype=), round(decimals)
        unknown = options.keys() - inspect.signature(function).parameters.keys()
    if unknown:
        raise TypeError(f"[{where}.{name}] takes no {', '.join(sorted(unknown))}= with tensors.")
    result = function(*args, **options)
    if out is None:
        return result
    write(f"{where}.{name}", out, result, True)
    return out


def _size(x, axis):
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return math.prod(x.shape[a] for a in axes)


def _place(func):
    return {"numpy": "np", "numpy.linalg": "np.linalg", "numpy.fft": "np.fft"}.get(
        func.__module__, func.__module__
    )


def _is_numpys(name, args):
    """Whether a call is NumPy's for what it is given: an array to fill, or what is no number."""
    if name == "copyto":
        return bool(args) and isinstance(args[0], np.ndarray)
    return name == "broadcast_arrays" and any(x is None or isinstance(x, str) for x in args)


def _as_arrays(nest):
    if isinstance(nest, Tensor):
        return np.asarray(nest)
    if isinstance(nest, dict):
        return {k: _as_arrays(v) for k, v in nest.items()}
    return type(nest)(map(_as_arrays, nest)) if type(nest) in (list, tuple) else nest


def _asks_nothing(name, value):
    if value is np._NoValue:
        return True
    return any(value is v or (type(v) is str and v == value) for v in _NEUTRAL.get(name, ()))


_TWINS: dict[Any, _Twin] = {}


def _twin(func):
    if func not in _TWINS:
        _TWINS[func] = _look_for(func)
    return _TWINS[func]


def _look_for(func):
    where, name = _place(func), func.__name__
    home = {"np": "", "np.linalg": "linalg", "np.fft": "fft"}.get(where)
    found = None
    if home is not None and not name.startswith("_"):
        home, name = _ELSEWHERE.get(name, (home, name)) if where == "np" else (home, name)
        place = getattr(fz, home, None) if home else fz
        found = getattr(place, name if home else MODULE.get(name, name), None)
        name = func.__name__
    if found is None:
        raise TypeError(
            f"[{where}.{name}] frazil has no such function: use np.asarray(t) for an array."
        )
    kinds = inspect.Parameter
    by_place = (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(found).parameters
    several = any(p.kind is kinds.VAR_POSITIONAL for p in parameters.values())
    alone = sum(p.kind is kinds.POSITIONAL_ONLY for p in parameters.values())
    places = [n for n, p in parameters.items() if p.kind in by_place]
    try:
        theirs = [n for n, p in inspect.signature(func).parameters.items() if p.kind in by_place]
    except ValueError:
        theirs = []
    return _Twin(found, theirs, 1000 if several else alone, places, frozenset(parameters))
