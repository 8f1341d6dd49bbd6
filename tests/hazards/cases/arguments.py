"""How a function is called: positions, names, defaults, structures, kinds of callables."""

import collections
import dataclasses
import enum
import functools
import math

import numpy as np
from hz import V, exact, told

import frazil as fz

Pair = collections.namedtuple("Pair", "x y")


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass
class State:
    position: object
    speed: float
    name: str = "s"


@exact("keywords, positions and defaults in every mixture", pure=True)
def keywords_and_positions(F, compile):
    def f(a, b=2.0, *, c=3, d=None):
        return a * b + c if d is None else (a - b) * d + c

    g, x, y = compile(f), V(F, 1, 2), V(F, 5, 7)
    for _ in range(4):
        yield g(x), g(x, 2.0), g(x, b=2.0), g(b=2.0, a=x), g(x, y), g(y, b=x), g(b=y, a=x)
        yield g(x, c=4), g(x, d=y), g(x, y, d=x, c=1.5), g(a=x, d=2, c=1, b=3)


@exact("a mutable default remembers", pure=True)
def mutable_default(F, compile):
    def f(x, seen=[], counts={"n": 0}):  # noqa: B006
        seen.append(x * 2)
        counts["n"] += 1
        return x * len(seen) + seen[0], counts["n"]

    g = compile(f)
    for i in range(6):
        yield g(V(F, i, 1))


@exact("defaults of a function are replaced between calls", pure=True)
def replaced_defaults(F, compile):
    def f(x, k=2.0):
        return x * k

    g = compile(f)
    for k in (2.0, 2.0, 2.0, 3.0, 3.0, 2.0):
        f.__defaults__ = (k,)
        yield g(V(F, 1, 2))


@exact("a tensor as a default, written by the body", pure=True)
def tensor_default(F, compile):
    total = V(F, 0, 0)

    def f(x, acc=total):
        acc += x
        return acc * 1

    g = compile(f)
    for i in range(6):
        yield g(V(F, i, 1))
    yield total


@exact("*args and **kwargs of changing number, names and order", pure=True)
def variadic(F, compile):
    def f(*args, **kwargs):
        out = V(F, 0, 0)
        for i, a in enumerate(args):
            out = out * 2 + a * (i + 1)
        for k, v in kwargs.items():
            out = out * 3 + v * len(k)
        return out, list(kwargs)

    g, a, b, c = compile(f), V(F, 1, 2), V(F, 3, 5), V(F, 7, 11)
    for _ in range(3):
        yield g(a), g(a, b), g(b, a), g(a, a), g(a, b, c), g()
        yield g(a, p=b, qq=c), g(a, qq=c, p=b), g(p=b), g(qq=b), g(*[a] * 5, **{"z": c})


@exact("dict arguments: order, keys like 1, True, 1.0", pure=True)
def dict_order(F, compile):
    def f(d):
        out = V(F, 0, 0)
        for k, v in d.items():
            out = out * 2 + v
            if k is True:
                out = out + 100
        return {k: v * 2 for k, v in d.items()}, out, [repr(k) for k in d]

    g, a, b = compile(f), V(F, 1, 2), V(F, 3, 5)
    for _ in range(4):
        yield g({"a": a, "b": b}), g({"b": b, "a": a}), g({"a": b, "b": a})
        yield g({1: a, 2: b}), g({True: a, 2: b}), g({1.0: a, 2: b}), g({2: a, 1: b})
        yield g({0.0: a}), g({-0.0: a}), g({(1, "x"): a, None: b}), g({(True, "x"): a, None: b})


@exact("numbers that compare equal or not to themselves", pure=True)
def numbers_that_compare_equal(F, compile):
    def f(x, s):
        return x * s, repr(s), type(s).__name__

    g, x = compile(f), F.array([1, 2, 3], "int32")
    nan = float("nan")
    values = (1, True, 1.0, 0, False, 0.0, -0.0, nan, -nan, math.nan, math.inf, 2**31, -(2**31))
    for s in values * 4:
        yield told(F, lambda s=s: g(x, s))


@exact("large Python ints and NumPy scalars", pure=True)
def big_numbers(F, compile):
    def f(x, s):
        return x + s, x > s

    g = compile(f)
    values = (2**62, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30, 1e300, 1e-320)
    values += (np.float32(2), np.float64(2), np.int8(2), np.bool_(True), np.uint64(2**63))
    for _ in range(3):
        for x in (F.array([1, 2], "int64"), F.array([1, 2], "float32"), F.array([1], "uint8")):
            for s in values:
                yield told(F, lambda x=x, s=s: g(x, s))


@exact("named tuples, dataclasses, enums, None and nests of them", pure=True)
def structures(F, compile):
    def f(state, pair, color, more):
        x = state.position * state.speed + pair.x
        if color is Color.RED:
            x = x + 1
        if more is not None:
            x = x - more[0]["deep"][1]
        return State(x, state.speed * 2, state.name), Pair(x, pair), color.name, (x, [more, {}])

    g = compile(f)
    for i in range(9):
        state, pair = State(V(F, i, 1), 1.0 + i % 2), Pair(V(F, 2, i), i % 3)
        more = None if i % 2 else ({"deep": [1, V(F, i, i)]},)
        yield g(state, pair, Color.RED if i % 4 else Color.BLUE, more)


@exact("a dataclass changed by the body", pure=True)
def written_dataclass(F, compile):
    def f(state, x):
        state.position = state.position + x
        state.speed += 1
        return state.position * state.speed

    g, state = compile(f), State(V(F, 0, 0), 1.0)
    for i in range(8):
        yield g(state, V(F, i, 1))
        yield state


@exact("containers changed by the body", pure=True)
def written_containers(F, compile):
    def f(items, table, x):
        items.append(x * 2)
        table[f"k{len(items)}"] = x
        table.pop("k2", None)
        return sum(items[1:], items[0])

    g, items, table = compile(f), [], {}
    for i in range(7):
        yield g(items, table, V(F, i, 1))
        yield items, table
    for i in range(5):
        yield g([], {"k2": 1}, V(F, i, 1))


@exact("which results are which", pure=True)
def identities(F, compile):
    def f(a, b, items):
        c = a + b
        return a, b, [c, c, a], {"l": items, "t": (c,)}, items

    g = compile(f)
    for i in range(6):
        a, b, items = V(F, i, 1), V(F, 2, i), [1, V(F, 3)]
        for other in (a, b):
            r = g(a, other, items)
            yield [r[0] is a, r[1] is other, r[0] is r[1], r[2][0] is r[2][1], r[2][2] is a]
            yield [r[3]["l"] is items, r[4] is items, r[3]["t"][0] is r[2][0], type(r).__name__]


@exact("partials whose arguments change, and partials of partials", pure=True)
def partials(F, compile):
    def f(k, x, *, c):
        return x * k + c

    x, keywords = V(F, 1, 2), {"c": 1.0}
    p = functools.partial(f, 2.0, **keywords)
    g = compile(p)
    for k in (1.0, 1.0, 1.0, 5.0, 5.0, 1.0):
        p.keywords["c"] = k
        yield g(x), g(x, c=7), compile(functools.partial(p, x))()


@exact("callable objects, their attributes and their class change", pure=True)
def callable_objects(F, compile):
    class A:
        def __init__(self, k):
            self.k = k

        def __call__(self, x):
            return x * self.k

    class B(A):
        def __call__(self, x):
            return x - self.k

    a = A(2.0)
    g, x = compile(a), V(F, 1, 2)
    for k, kind in ((2.0, A),) * 3 + ((3.0, A), (3.0, B), (2.0, B), (2.0, A)):
        a.k, a.__class__ = k, kind
        yield g(x)
    A.__call__ = lambda self, x: x + 100
    yield g(x)


@exact("static, class and property methods; many instances that die")
def kinds_of_methods(F, compile):
    class M:
        factor = 2.0

        def __init__(self, k):
            self.k = k

        @staticmethod
        @compile
        def s(x):
            return x + 1

        @classmethod
        @compile
        def c(cls, x):
            return x * cls.factor

        @property
        @compile
        def p(self):
            return fz.asarray([1.0, 2.0]) * self.k

        @compile
        def m(self, x, *rest):
            return x * self.k + len(rest)

    for i in range(12):
        m, x = M(float(i)), V(F, 1, 2)
        M.factor = 2.0 + i // 4
        yield M.s(x), m.s(x), M.c(x), m.c(x), m.p, m.m(x), m.m(x, 1), M.m(m, x, 1, 2)
