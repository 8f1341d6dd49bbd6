"""Traced calls whose body is proved to depend on what is compared skip it: in which languages."""

import pytest
from proofs import Program, both, cases

import frazil as fz

PROVED = cases("""
## helpers
def twice(x): return x * 2
def more(x, by=1.0): return twice(x) + by
@trace
def f(x): return more(x) - more(x, by=0.5) + more(x, 0.25)

## closures
def make(scale):
    def inner(x): return x * scale
    return inner
inner = make(3.0)
@trace
def f(x):
    def local(y): return inner(y) + x
    return local(x * 2)

## methods
class Layer:
    def __init__(self, w): self.w = w
    def __call__(self, x): return self.scale(x) + self.shift
    def scale(self, x): return x * self.w
    shift = 1.0
layer = Layer(2.0)
@trace
def f(x): return layer(x) + Layer(3.0)(x)

## class and static methods
class C:
    k = 2.0
    @classmethod
    def make(cls, v):
        c = cls()
        c.v = v
        return c
    @staticmethod
    def add(x, y): return x + y
@trace
def f(x): return C.add(x * C.make(3.0).v, x * C.k)

## super
class A:
    bias = 1.0
    def __init__(self, w): self.w = w
    def apply(self, x): return x * self.w + self.bias
class B(A):
    bias = 2.0
    def __init__(self): super().__init__(4.0)
    def apply(self, x): return super().apply(x) + super().bias
@trace
def f(x): return B().apply(x)

## dataclasses
from dataclasses import dataclass, field, replace
@dataclass
class P:
    a: float = 2.0
    b: list = field(default_factory=lambda: [1.0, 2.0])
@dataclass(frozen=True)
class Q:
    a: float
@trace
def f(x):
    p = replace(P(), a=3.0)
    return x * p.a + p.b[1] * Q(2.0).a, P() == P()

## named tuples
from typing import NamedTuple
class S(NamedTuple):
    x: object
    t: float = 0.5
@trace
def f(x):
    s = S(x)
    s = s._replace(t=s.t * 2)
    a, b = s
    return s, a * b

## properties
class C:
    def __init__(self): self._v = 2.0
    @property
    def v(self): return self._v * 2
    @v.setter
    def v(self, new): self._v = new
@trace
def f(x):
    c = C()
    c.v = 5.0
    return x * c.v

## __getattr__
class Table:
    def __init__(self, **rows): self.rows = rows
    def __getattr__(self, name): return self.rows[name]
t = Table(a=2.0, b=3.0)
@trace
def f(x): return x * t.a + t.b

## operators of classes
class V:
    def __init__(self, x): self.x = x
    def __add__(self, o): return V(self.x + o.x)
    def __mul__(self, k): return V(self.x * k)
    def __getitem__(self, i): return self.x[i]
    def __len__(self): return 2
    def __eq__(self, o): return isinstance(o, V)
    def __hash__(self): return 3
    def __bool__(self): return True
    def __contains__(self, v): return v == 1
@trace
def f(x):
    v = V(x) * 2 + V(x)
    return v[0] * len(v) if v == V(x) and v and 1 in v and {v: 1}[V(x)] else x

## generators
def numbers(n):
    k = 1.0
    for _ in range(n):
        yield k
        k *= 2
def chained():
    yield from numbers(2)
    yield 0.5
@trace
def f(x):
    for k in chained(): x = x * k
    return x + sum(i * i for i in range(4)) + sum(numbers(3))

## comprehensions
@trace
def f(x):
    a = [x * i for i in range(3) if i]
    b = {k: x + v for k, v in {"a": 1.0, "b": 2.0}.items()}
    c = {i % 2 for i in range(5)}
    return a, b, sorted(c), [[i * j for i in range(2)] for j in range(2)]

## context managers
from contextlib import contextmanager
class Scaled:
    def __init__(self, k): self.k = k
    def __enter__(self): return self.k
    def __exit__(self, *what): return True
@contextmanager
def more():
    yield 1.5
@trace
def f(x):
    with Scaled(2.0) as k, more() as m: x = x * k + m
    with Scaled(3.0): raise ValueError
    with fz.no_grad(): return x * 2

## exceptions
class Stop(Exception):
    def __init__(self, at):
        super().__init__(at)
        self.at = at
def check(i):
    if i > 2: raise Stop(i)
    return i
@trace
def f(x):
    for i in range(5):
        try:
            x = x * check(i + 1)
        except (KeyError, Stop) as stop:
            return x + stop.at, str(stop)
        else:
            x = x + 0.5
        finally:
            x = x - 0.25

## arguments
def h(a, /, b, *rest, c=1.0, **more): return a * b + sum(rest) * c + more.get("d", 0.0)
@trace
def f(x):
    args, named = (x, 2.0, 3.0), {"c": 0.5, "d": 4.0}
    return h(x, 1.0), h(*args, **named), h(x, b=2.0, **{"e": 1}), h(*[x, 1.0], 2.0, c=3.0)

## recursion
def power(x, n): return x if n == 1 else power(x, n // 2) * power(x, n - n // 2)
@trace
def f(x): return power(x, 5)

## lambdas and higher functions
from functools import partial, reduce
add = lambda a, b: a + b
half = partial(add, 0.5)
@trace
def f(x):
    xs = list(map(lambda i: x * i, range(3))) + [x * k for k in filter(None, [0, 1.0, 2.0])]
    return reduce(add, xs), half(x), sorted([3, 1, 2], key=lambda i: -i), list(map(float, "12"))

## imports inside
@trace
def f(x):
    import math
    from math import pi
    import os.path
    return x * math.sqrt(4.0) + pi + len(os.path.sep)

## nested traced functions
@trace
def g(x): return x * 2 + 1
@trace
def f(x): return g(x) + g(g(x))

## callbacks as arguments
def g(x): return x * 3
@trace
def f(x, act, also): return also(act(x))
call = lambda: f(X, g, fz.exp)

## data in modules of containers
config = {"rate": 0.5, "sizes": [2, 3], "inner": {"on": True}, "pair": (1.0, "a")}
@trace
def f(x):
    if config["inner"]["on"]: x = x * config["rate"]
    return x + len(config["sizes"]) + config["pair"][0]

## enumerations and matching
import enum
class Mode(enum.Enum):
    A = "a"
    B = "b"
mode = Mode.A
class P:
    __match_args__ = ("u", "v")
    def __init__(self, u, v): self.u, self.v = u, v
@trace
def f(x):
    match P(2.0, mode):
        case P(u, Mode.B): return x - u
        case P(u, v=Mode.A): x = x * u
    match {"k": [1, 2]}:
        case {"k": [a, *rest]}: x = x + a + len(rest)
    return x

## text
@trace
def f(x):
    name = f"{x.shape[0]:>4}|{2.5:.2f}" + "%d" % 3 + "{}".format("a")
    return x * len(name.strip().split("|")), repr([1, "a"])

## tensors of modules
w = fz.asarray([2.0, 3.0])
ws = [fz.asarray([1.0, 1.0]), w]
@trace
def f(x):
    w[0] = w[0] + x[0]
    return [x * v for v in ws]

## loops and walrus
@trace
def f(x):
    n = 0
    while (n := n + 1) < 10:
        if n == 2: continue
        if n == 5: break
        x = x + n
    else:
        x = x * 0
    a, (b, *c) = 1, (2, 3, 4)
    return x + a + b + c[1], x.sum() > 3.0

## slots and class attributes
class S:
    __slots__ = ("a", "b")
    table = {"k": 2.0}
    def __init__(self): self.a, self.b = 1.0, 2.0
s = S()
@trace
def f(x): return x * s.a + S().b * s.table["k"]

## searches
@trace
def f(x):
    grid = fz.asarray([0.25, 1.0, 2.0])
    return [
        fz.searchsorted(grid, x), fz.searchsorted(grid, x, side="right") + 1,
        fz.digitize(x, grid), fz.interp(x, grid, grid * 2), fz.searchsorted(x, grid),
    ]

## counts
@trace
def f(x):
    whole = (x * 3).astype(fz.int64)
    counts, edges = fz.histogram(x, fz.asarray([0.0, 1.0, 2.0]))
    return [
        fz.bincount(whole), fz.bincount(whole, x, minlength=9), counts, edges,
        fz.histogram(x, 4, range=(0.0, 2.0))[0], fz.unique_values(x),
    ]
""")


@pytest.mark.parametrize("name", PROVED)
def test_skipped(name):
    (source,) = PROVED[name]
    traced, skipped = both(source, calls=12)
    assert skipped > 3, traced.f.explain()
    assert "skipped by proof since call" in traced.f.explain()
    strict, _ = both(source, calls=12, strict=True)
    assert strict.skipped > 3


def test_the_body_runs_no_more():
    program = Program("""
@trace
def f(x): return x * rate + len(table)
rate, table = 2.0, [1]
""")
    program.calls(10)
    text = program.f.explain()
    assert "  skipped by proof since call " in text
    assert "    program.py:3: 'rate'\n" in text and "program.py:3: 'table', by content" in text
    stats = program.f.stats()
    assert stats["calls"] == 10 == stats["recorded"] + stats["replayed"] + stats["skipped"]
    assert 3 <= stats["skipped"] < 8


def test_without_proof_the_body_always_runs():
    program = Program("f = trace(lambda x: x + 1)", proof=False)
    program.calls(20)
    assert program.skipped == 0 and "not proved" not in program.f.explain()


def test_calls_of_lists_that_nobody_else_holds():
    program = Program("""
def one(x, *, sign=1):
    if x.sum() > 0: return x * sign
    return -x
class One:
    def __call__(self, x, *, sign=1):
        return one(x, sign=sign)
class Named(dict):
    pass
made = One()
@trace
def f(x):
    y = one(*[x * 2])
    y = made(*[y + 1]) + made(*[y], **Named(sign=2))
    if bool(*[y.sum() > 0]): y = y + 1
    return one(*[y + 1], **Named(sign=2))
""")
    program.calls(20)
    assert program.skipped > 0


def test_what_may_be_asked_for():
    with pytest.raises(ValueError, match="strict=True asks for a proof"):
        fz.trace(lambda x: x, strict=True, proof=False)
    with pytest.raises(ValueError, match="strict=True asks for a proof"):
        fz.trace(lambda x: x, strict=True, pure=True)
    with pytest.raises(TypeError, match="proof"):
        fz.trace(lambda x: x, proof="yes")
    assert fz.trace(strict=True)(lambda x: x)(fz.ones(1)).tolist() == [1.0]


def test_every_so_many_calls_are_compared():
    f = fz.trace(lambda x: x + 1, check_every=5)
    for _ in range(50):
        f(fz.ones(2))
    stats = f.stats()
    assert 30 < stats["skipped"] < 42
    assert stats["causes"]["unguarded"] == 0
