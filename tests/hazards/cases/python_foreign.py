"""Special methods that are no functions written in Python: no line shows what they read."""

import functools
import operator
import sys

from changes import Object, World, hazard

BODIES = {
    "__len__": lambda t, x: x * len(t),
    "__call__": lambda t, x: x * t(),
    "__index__": lambda t, x: x * [1, 2, 3, 4, 5, 6, 7, 8][t],
    "__getitem__": lambda t, x: x * t[0],
    "__getattr__": lambda t, x: x * t.missing,
    "__mul__": lambda t, x: x * (t * 3),
    "__eq__": lambda t, x: x * (t == 7),
    "__next__": lambda t, x: x * next(t),
    "__enter__": lambda t, x: entered(t, x),
}


def entered(t, x):
    with t as k:
        return x * k


class Number:
    """Its n is read by whatever way it is asked."""

    def __init__(self):
        self.n = 2

    def read(self, *args, **options):
        return self.n

    def give(self, owner):
        return self.read


class Called(Number):
    __call__ = Number.read


class Described(Number):
    def __get__(self, owner, kind):
        return self.read


def bound(n):
    return n.read


def partial(n):
    return functools.partial(Number.read, n)


def listed(n):
    """A method of a list as long as n says."""
    n.items = [0] * n.n
    return n.items.__len__


def cached(n):
    n.cached = functools.lru_cache(lambda *args: n.n)
    return n.cached


def got(n):
    return functools.partial(operator.attrgetter("n"), n)


WAYS = {
    "a bound method": (Number, bound),
    "an object with __call__": (Called, lambda n: n),
    "a descriptor": (Described, lambda n: n),
    "a partial": (Number, partial),
    "a static partial": (Number, lambda n: staticmethod(partial(n))),
    "a property of a bound method": (Number, lambda n: property(n.give)),
    "a cache": (Number, cached),
    "a getter": (Number, got),
    "a method of a list": (Number, listed),
}


def foreign(way, make, value, names):
    """A case: classes whose special methods are found in this way, before and after n changes."""

    def case(trace):
        n = make()

        def rebind(k):
            n.n = k
            if hasattr(n, "items"):
                n.items.append(0)
            if hasattr(n, "cached"):
                n.cached.cache_clear()

        bodies = []
        for name in names:
            kind = type("Thing", (), {"__exit__": lambda self, *e: None, name: value(n)})
            bodies.append(trace(functools.partial(BODIES[name], kind())))
        return World(
            lambda x: [f(x) for f in bodies],
            lambda: rebind(3),
            lambda: rebind(4),
            state=lambda: n.n,
        )

    case.__name__ = "foreign_" + way.replace(" ", "_").replace("__call__", "call")
    case.__module__ = __name__
    hazard(f"special methods that are {way}")(case)


for way, (make, value) in WAYS.items():
    few = ("__len__", "__call__", "__index__")  # a list's __len__ takes no arguments
    foreign(way, make, value, few if way == "a method of a list" else BODIES)


@hazard("special methods that are functions of C and read the interpreter's state")
def foreign_functions(trace):
    kind = type("Thing", (), {"__len__": staticmethod(sys.getrecursionlimit)})
    kind.__call__ = sys.getrecursionlimit
    t, limit = kind(), sys.getrecursionlimit()
    f = trace(lambda x: x * len(t) + t() - limit)
    yield World(f, lambda: sys.setrecursionlimit(limit + 7), lambda: sys.setrecursionlimit(limit))
    sys.setrecursionlimit(limit)


@hazard("a special method of a metaclass, and of a base of a base, is a bound one")
def foreign_above(trace):
    n = Number()
    meta = type("Meta", (type,), {"__len__": n.read, "__contains__": n.read})
    kind = meta("Thing", (), {"__len__": n.read})
    below = type("Below", (type("Between", (kind,), {}),), {})()
    f = trace(lambda x: x * len(kind) + len(below) + (1 in kind))
    return World(f, lambda: setattr(n, "n", 3), lambda: setattr(n, "n", 0))


@hazard("a special method becomes a bound one, and a function again")
def foreign_later(trace):
    n = Number()
    kind = type("Thing", (), {"__len__": lambda self: 1})
    t = Object(t=kind())
    f = trace(lambda x: x * len(t.t))
    return World(
        f,
        lambda: setattr(kind, "__len__", n.read),
        lambda: setattr(n, "n", 5),
        lambda: setattr(kind, "__len__", lambda self: 4),
    )
