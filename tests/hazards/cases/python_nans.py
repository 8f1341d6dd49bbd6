"""Objects that are told from equal ones: nans inside of containers, small ints that count."""

import math
import operator
from dataclasses import dataclass

from changes import Object, World, hazard

import frazil as fz

NAN = float("nan")


@dataclass
class Pair:
    a: float
    b: float = 1.0


def asks(t):
    """What a body can learn of nans without asking one for its value."""
    a, b = t.a, t.b
    table = {a: 2}
    found = [[a] == [b], (1.0, a) == (1.0, b), Pair(a) == Pair(b), [a, 1].count(b)]
    found += [table.get(b, 0), [1, b].index(a) if [b] == [a] else 9, operator.countOf([a], b)]
    found += [t.list == [a], t.tuple == (b,), {"k": a} == {"k": b}, [math.nan] == [a]]
    return sum(k * 2**i for i, k in enumerate(found))


@hazard("equal or not: containers of one nan, of two, and of none")
def nans_in_containers(trace):
    t = Object(a=NAN, b=NAN, list=[NAN], tuple=(NAN,))
    f = trace(lambda x: x * asks(t))
    return World(
        f,
        lambda: setattr(t, "a", float("nan")),
        lambda: setattr(t, "b", t.a),
        lambda: t.list.__setitem__(0, t.a),
        lambda: setattr(t, "tuple", (t.b,)),
        lambda: setattr(t, "a", math.nan),
        lambda: setattr(t, "b", 1.0),
    )


@hazard("a nan in a class, a default, a cell and a module")
def nans_elsewhere(trace):
    holder = Object(a=NAN)
    kind = type("Thing", (), {"k": NAN})
    cell = NAN

    def helper(x, default=NAN):
        return [[holder.a] == [y] for y in (kind.k, default, cell, NAN)]

    def swap():
        nonlocal cell
        cell = holder.a

    f = trace(lambda x: x * sum(k * 2**i for i, k in enumerate(helper(x))))
    return World(
        f,
        lambda: setattr(holder, "a", float("nan")),
        lambda: setattr(kind, "k", holder.a),
        lambda: setattr(helper, "__defaults__", (holder.a,)),
        swap,
    )


@hazard("a nan in a module of frazil's")
def nans_in_modules(trace):
    class Layer(fz.nn.Module):
        def __init__(self):
            super().__init__()
            self.best = NAN

        def forward(self, x):
            return x * 2 if [self.best] == [t.a] else x

    t, layer = Object(a=NAN), Layer()
    return World(
        trace(lambda x: layer(x)),
        lambda: setattr(t, "a", float("nan")),
        lambda: setattr(layer, "best", t.a),
    )


@hazard("the body hands a nan on, to two places, and makes one of its own")
def nans_written(trace):
    t = Object(a=NAN, b=NAN, c=1.0, d=1.0, n=0)

    def body(x):
        t.n += 1
        t.b = t.a
        t.c = t.d = math.inf - t.n * math.inf
        return x * ([t.a] == [t.b]) + ([t.c] == [t.d])

    def seen():
        return [t.a] == [t.b], [t.c] == [t.d], [t.c] == [t.a], t.n

    return World(trace(body), lambda: vars(t).update(a=float("nan"), n=50), state=seen)


@hazard("a nan that comes and goes among numbers that move")
def nans_among_numbers(trace):
    t = Object(n=0.5, m=0.5)

    def body(x):
        return x * t.n, [t.n] == [t.m], t.n

    def step():
        t.n = t.m = t.n + 1 if t.n == t.n else 1.5

    changes = [step] * 4 + [lambda: vars(t).update(n=NAN, m=NAN)]
    changes += [lambda: vars(t).update(m=float("nan")), *[step] * 3]
    return World(trace(body), *changes, state=lambda: [t.n] == [t.m])


def moving(start, ask):
    """A world whose number counts up, one object under two names, a call each."""
    t = Object(n=start, m=start, seen=[])

    def step():
        t.n += 1
        t.m = t.n

    return t, lambda x: (x * 2 if ask(t) else x * 3, t.seen.append(t.n)), step


QUESTIONS = {
    "is": lambda t: t.n is t.m,
    "is not": lambda t: t.n is not t.m,
    "is a small one": lambda t: t.n is SMALL,
    "sum is a small one": lambda t: t.n + 1 is SMALL,
    "operator.is_": lambda t: operator.is_(t.n, t.m),
    "id": lambda t: id(t.n) == id(t.m),
    "is behind print": lambda t: (print(end=""), t.n is t.m)[1],
}
SMALL = 11


def identities(question, ask):
    def case(trace):
        worlds = [moving(start, ask) for start in (3, 1000, 0.5)]
        fs = [trace(body) for _, body, _ in worlds]

        def step():
            for _, _, each in worlds:
                each()

        def state():
            t = worlds[0][0]
            return t.n is t.m, t.n is SMALL, [v is SMALL for v in t.seen[-3:]]

        def change():
            for t, _, _ in worlds:
                t.m = -1

        steps = [step] * 12
        return World(lambda x: [f(x) for f in fs], *steps, change, *steps[:3], state=state)

    case.__name__ = "identity_" + question.replace(" ", "_").replace(".", "_")
    case.__module__ = __name__
    hazard(f"a number that moves is asked for its identity: {question}", each=1)(case)


for question, ask in QUESTIONS.items():
    identities(question, ask)
