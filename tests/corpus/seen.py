"""Everything that can be seen of Python objects, as plain nested lists that compare with ==.

Bits of numbers and arrays (every NaN like any other), types, and which objects are one: what was
met before is named by its number. Traced functions look like those that they wrap.
"""

import dataclasses
import enum
import functools
import io
import random
import types
from pathlib import Path

import numpy as np

import frazil as fz

PROGRAMS = str(Path(__file__).parent / "programs")
PLAIN = type(None) | bool | int | str | bytes | complex | range | slice | type(Ellipsis)
Traced = type(fz.trace(lambda: None))


class Wrapper:
    """A function under a decorator how(fn, *args, **keywords), seen as what it wraps."""

    def __init__(self, how, fn):
        self.how, self.__wrapped__ = how, fn

    def __call__(self, *args, **keywords):
        return self.how(self.__wrapped__, *args, **keywords)

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)


def seen(*objects):
    """What can be seen of some objects together."""
    return Walk().see(objects)


def raised(e):
    """What can be seen of an exception: also the lines of programs that it went through."""
    lines, at = [], e.__traceback__
    while at:
        if at.tb_frame.f_code.co_filename.startswith(PROGRAMS):
            lines.append(at.tb_lineno)
        at = at.tb_next
    return ["raised", type(e).__name__, str(e), lines]


class Walk:
    def __init__(self):
        self.met = {}  # id: (number, the object, kept alive)

    def see(self, x):
        kind = type(x).__name__
        if isinstance(x, enum.Enum | PLAIN):
            return [kind, repr(x)]
        if isinstance(x, float):
            return [kind, float.hex(x)]
        if isinstance(x, np.generic):
            return [kind, self.array(np.asarray(x))]
        if isinstance(x, tuple):  # which tuples are one is not the program's affair
            return [kind, *map(self.see, x)]
        if isinstance(x, types.ModuleType | types.BuiltinFunctionType | fz.DType):
            return [kind, getattr(x, "__qualname__", None) or str(x)]
        if isinstance(x, Traced | Wrapper):
            return self.see(x.__wrapped__)
        if id(x) in self.met:
            return ["object", self.met[id(x)][0]]
        self.met[id(x)] = len(self.met), x
        return [len(self.met) - 1, kind, *self.parts(x)]

    def array(self, a):
        if a.dtype.kind == "f":
            a = np.where(np.isnan(a), a.dtype.type(np.nan), a)
        return [a.dtype.name, a.shape, a.tobytes()]

    def parts(self, x):
        if isinstance(x, fz.Tensor):
            a = fz.astype(x.detach(), fz.float64) if "float" in x.dtype.name else x
            grad = x.grad if x.is_leaf and x.requires_grad else None
            learns = [x.requires_grad, x.is_leaf, self.see(grad)]
            return [x.dtype.name, self.array(np.asarray(a)), *learns]
        if isinstance(x, np.ndarray):
            return self.array(x)
        if isinstance(x, type):
            return self.of_class(x)
        if isinstance(x, types.FunctionType):
            return self.of_function(x)
        if isinstance(x, types.MethodType):
            return [self.see(x.__func__), self.see(x.__self__)]
        if isinstance(x, functools.partial):
            return [self.see(x.func), self.see(x.args), self.see(x.keywords)]
        return self.items(x) + self.attributes(x)

    def items(self, x):
        if isinstance(x, dict):
            return [[self.see(k), self.see(v)] for k, v in x.items()]
        if isinstance(x, set | frozenset):
            return sorted(map(repr, x))
        if isinstance(x, list) or type(x).__name__ == "deque":
            return list(map(self.see, x))
        if isinstance(x, io.StringIO):
            return [x.getvalue()]
        if isinstance(x, random.Random):
            return [x.getstate()]
        if isinstance(x, fz.random.Generator):
            return [repr(x.state)]
        if isinstance(x, types.CellType):
            try:
                return [self.see(x.cell_contents)]
            except ValueError:
                return ["empty"]
        text = repr(x)
        return [] if " at 0x" in text or dataclasses.is_dataclass(x) else [text]

    def attributes(self, x):
        slots = {n for c in type(x).__mro__ for n in getattr(c, "__slots__", ())} - {"__dict__"}
        found = {n: getattr(x, n) for n in sorted(slots) if hasattr(x, n)}
        found |= getattr(x, "__dict__", {})
        return [[name, self.see(value)] for name, value in found.items()]

    def own(self, x):
        return getattr(x, "__module__", "").startswith("corpus_")

    def of_class(self, c):
        if not self.own(c):
            return [c.__qualname__]
        hidden = ("__dict__", "__weakref__", "__doc__", "__module__")
        shown = [(n, v) for n, v in vars(c).items() if n not in hidden]
        return [c.__qualname__, *([n, self.see(v)] for n, v in shown)]

    def of_function(self, f):
        if not self.own(f):
            return [f.__qualname__]
        state = f.__defaults__, f.__kwdefaults__, f.__closure__, f.__dict__
        return [f.__qualname__, f.__code__.co_firstlineno, *map(self.see, state)]
