"""Runs a program and writes down everything it lets anyone see, as plain text.

Programs (program.py) are written against this module; a shrunk one is printed together with it, so
that it stands alone. Two runs of one program are right only if their observations are equal.

With FUZZ_DEVICE all tensors that a program makes lie on that device.
"""

import dataclasses
import functools
import itertools
import math
import os
import re

import numpy as np

import frazil as fz
import frazil.random
from frazil import nn

HOME = os.environ.get("FUZZ_DEVICE")
USUAL = "exact" if HOME else "default"  # libraries of GPUs add up in orders of their own
if HOME:

    def at_home(make, *args, **options):
        if options.get("copy") is False:
            del options["copy"]  # memory of the host is not borrowed there
        return make(*args, **{"device": HOME, **options})

    for names, makers in (
        (fz, "arange asarray empty eye full linspace ones zeros"),
        (fz.random, "integers normal uniform"),
    ):
        for maker in makers.split():
            setattr(names, maker, functools.partial(at_home, getattr(names, maker)))
    for maker in ("integers", "normal", "uniform"):
        method = functools.partialmethod(getattr(frazil.random.Generator, maker), device=HOME)
        setattr(frazil.random.Generator, maker, method)


def data(seed, shape, dtype, layout="plain"):
    """A tensor of small numbers, made by NumPy, with a few special ones."""
    rng = np.random.default_rng(seed)
    full = tuple(2 * n for n in shape) if layout == "every-second" else shape
    full = full[::-1] if layout == "transposed" else full
    if dtype == "bool":
        a = rng.random(full) < 0.5
    elif "int" in dtype:
        a = rng.integers(0 if dtype[0] == "u" else -9, 10, full)
        if seed % 5 == 0:
            limits = np.iinfo(dtype)
            a = np.where(rng.random(full) < 0.2, rng.integers(limits.min, limits.max, full), a)
    else:
        a = np.round(rng.normal(size=full) * 2, 3)
        if seed % 5 == 0:
            a = np.where(rng.random(full) < 0.1, rng.choice([0.0, -0.0, np.inf, np.nan]), a)
    t = fz.astype(fz.asarray(a), getattr(fz, dtype))
    if layout == "every-second":
        return t[tuple(slice(None, None, 2) for _ in shape)]
    if layout == "reversed":
        return t[tuple(slice(None, None, -1) for _ in shape)]
    return t.T if layout == "transposed" else t


class Box(nn.Module):
    """An object with state: flag, k (a number), t (a tensor), items (a list)."""

    def __init__(self, **attributes):
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x):
        return x * self.k + self.t if self.flag else x - self.t


class Plain:
    """The same without frazil's help."""

    __init__, __call__ = Box.__init__, Box.forward


@dataclasses.dataclass
class Record:
    """The same as a dataclass."""

    flag: object
    k: object
    t: object
    items: object
    more: object = None

    __call__ = Box.forward


class Own:
    """What programs derive classes of their own from."""


def shaped(x, *shape):
    """An array of this shape that repeats the elements of x."""
    flat = fz.concat([fz.reshape(x, (-1,)), fz.ones((1,), dtype=x.dtype)])
    size = math.prod(shape)
    return fz.reshape(fz.tile(flat, (-(-size // flat.size),))[:size], shape)


def wide(x):
    """Two rows of as many numbers as make the sums of different matrix products differ."""
    return shaped(x, 2, 65)


def multiplied_by(blas, f, *args):
    with fz.precision("blas" if blas else USUAL):
        return f(*args)


def taking_turns(settings):
    return itertools.cycle(settings)


def under(turns, f, *args):
    """A call under the next of some settings, of which an argument tells nothing."""
    turn = next(turns)
    with fz.precision("blas" if turn == "blas" else USUAL):
        if turn != "no_grad":
            return f(*args)
        with fz.no_grad():
            return f(*args)


def scalar(result):
    """One float64 of a result: what is differentiated from outside a program."""
    parts = result if isinstance(result, (list, tuple)) else [result]
    floats = [p for p in parts if isinstance(p, fz.Tensor) and "float" in p.dtype.name]
    return sum((fz.sum(fz.astype(p, fz.float64)) for p in floats), fz.asarray(0.0, dtype="float64"))


def seen(x):
    """What can be seen of an object: bits, with every NaN like any other."""
    if isinstance(x, fz.Tensor):
        a = np.asarray(fz.astype(x.detach(), fz.float64) if "float" in x.dtype.name else x)
        grad = seen(x.grad) if x.is_leaf and x.requires_grad and x.grad is not None else None
        return ["tensor", x.dtype.name, seen(a), x.requires_grad, x.is_leaf, grad]
    if isinstance(x, np.ndarray):
        if x.dtype.kind == "f":
            x = np.where(np.isnan(x), x.dtype.type(np.nan), x)
        return [x.dtype.name, x.shape, x.tobytes()]
    if isinstance(x, (list, tuple)):
        return [type(x).__name__, *map(seen, x)]
    if isinstance(x, dict):
        return ["dict", *((k, seen(v)) for k, v in x.items())]
    if isinstance(x, fz.optim.Optimizer):
        return [type(x).__name__, seen(x.parameters), seen(x.state_dict())]
    if isinstance(x, (Box, Plain, Record, Own)):
        return [type(x).__name__, seen(vars(x))]
    if isinstance(x, str):
        x = re.sub(r", device='[^']*'", "", x)  # elsewhere a tensor's text tells where it is
    return type(x).__name__ if callable(x) else repr(x)


def attempt(f, *args):
    """The result of a call, or the exception's type and text."""
    try:
        return f(*args)
    except MemoryError:  # its text says what is free now
        return "raised", "MemoryError"
    except Exception as e:  # noqa: BLE001
        return "raised", type(e).__name__, str(e)


def large(x):
    """Whether a program's state has grown so much that further calls would take long."""
    if isinstance(x, (Box, Plain, Record, Own)):
        return large(vars(x))
    if isinstance(x, (list, tuple, dict)):
        return any(map(large, x.values() if isinstance(x, dict) else x))
    return getattr(x, "size", 0) > 15_000


def observe(program, wrap):
    """A list of (what, seen) for a program whose functions are passed through `wrap`."""
    with fz.precision(USUAL):
        return observed(program, wrap)


def observed(program, wrap):
    fz.random.seed(7)
    call, parts, calls = program(wrap)
    out, held = [], []
    for number, args in enumerate(calls):
        args = args()
        result = attempt(call, *args)
        out.append((f"result of call {number}", seen(result)))
        out.append((f"arguments after call {number}", seen(args)))
        out.append((f"state after call {number}", seen(parts())))
        if number % 3 < 2:
            held.append(result)
        if large(parts()):
            break
    out.append(("earlier results at the end", seen(held)))
    out.append(("random numbers at the end", seen(fz.random.uniform((3,)))))
    return out


def loaded(source):
    """The function that the text of a program defines."""
    names = {}
    exec(compile(source, "program", "exec"), names)
    return names["program"]


def difference(a, b):
    """The first observation in which two runs differ, as text; None if there is none."""
    for (what, x), (_, y) in zip(a, b, strict=False):
        if x != y:
            return f"{what}:\n  {x}\n  {y}"
    return "the number of observations" if len(a) != len(b) else None


__all__ = [
    *("Box", "Own", "Plain", "Record", "attempt", "data", "difference", "fz", "loaded", "nn", "np"),
    *("multiplied_by", "observe", "scalar", "seen", "shaped", "taking_turns", "under", "wide"),
]
