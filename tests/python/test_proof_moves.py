"""Skipped bodies that move objects from one place of Python's state to another: what one change
takes the last reference from, a later one puts elsewhere."""

import collections

import pytest

import frazil as fz

MOVES = {
    "attributes swapped": "s.a, s.b = s.b, s.a",
    "history": "s.b = s.a; s.a = x * 1",
    "items swapped": "L[0], L[1] = L[1], L[0]",
    "list turned": "L.append(L.pop(0))",
    "list reversed": "L.reverse()",
    "last of a list": "L.append(x); s.l = L[-2:]; L[:] = s.l",
    "into a list": "L.append(s.a); s.a = x * 1; del L[0]",
    "another list": "L[0] = x; s.l = [x]",
    "lists swapped": "s.l, s.m = s.m, s.l; s.l.append(x); del s.l[0]",
    "dict items swapped": "D['a'], D['b'] = D['b'], D['a']",
    "dict items moved": "t = D.pop('a'); D['c'] = t; D['a'] = x * 1",
    "dicts swapped": "s.p, s.q = s.q, s.p; s.p['u'] = x * 2",
    "nonlocals turned": "global u, v; u, v = 2 * u - v - x, u",
    "objects swapped": "s.o, s.r = s.r, s.o; s.o.a = x * 3",
    "deque": "Q.append(Q.popleft()); Q[0] = Q[1]",
}
PROGRAM = """
import collections
import frazil as fz
class S: pass
s, s.o, s.r = S(), None, None
s.o, s.r = S(), S()
s.o.a, s.r.a = fz.ones(2), fz.zeros(2)
s.a, s.b, s.l, s.m = fz.zeros(2), fz.ones(2), [fz.ones(2)], [fz.zeros(2)]
s.p, s.q = {{"u": fz.ones(2)}}, {{"u": fz.zeros(2)}}
L = [fz.zeros(2), fz.ones(2)]
D = {{"a": fz.zeros(2), "b": fz.ones(2)}}
Q = collections.deque([fz.zeros(2), fz.ones(2)])
u, v = fz.ones(2), fz.ones(2)
def body(x):
    {}
    return x + 1
def shown(o):
    if isinstance(o, fz.Tensor): return o.tolist()
    if isinstance(o, S): return shown(vars(o))
    if isinstance(o, dict): return {{k: shown(x) for k, x in o.items()}}
    return [shown(x) for x in o]
def state(): return shown([s, L, D, Q, u, v])
"""


def states(move, trace):
    names = {}
    exec(PROGRAM.format(move), names)
    f = trace(names["body"])
    found, others = [], []
    for i in range(16):
        result = f(fz.ones(2) * (i % 5))
        others = [fz.ones(2) * 99 for _ in range(6)] + [[None] * k for k in range(8)]
        found.append((result.tolist(), names["state"]()))
    assert len(others) == 14
    return found, f


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_what_moves_stays_alive(move):
    want, _ = states(move, lambda f: f)
    got, f = states(move, fz.trace)
    assert got == want
    assert f.stats()["skipped"] > 0, f.explain()


Pair = collections.namedtuple("Pair", "a b")  # noqa: PYI024
TWICE = {
    "result": lambda o, w: [w, w],
    "attributes": lambda o, w: (setattr(o, "u", w), setattr(o, "v", w))[0],
    "items": lambda o, w: o.l.__setitem__(slice(None), [w, w]),
    "within another": lambda o, w: setattr(o, "u", ((w, 1), [w])),
}


@pytest.mark.parametrize("kept", TWICE)
@pytest.mark.parametrize(
    "make", [lambda x: (x, 1), lambda x: Pair(x, (x,)), lambda x: x.shape, lambda x: ((x,), [x])]
)
def test_a_tuple_in_two_places_stays_one(kept, make):
    class Holder:
        u = v = None

    def program(trace):
        o = Holder()
        o.l = [None, None]

        @trace
        def f(x):
            return TWICE[kept](o, make(x + 1))

        found = []
        for i in range(25):
            r = f(fz.ones(2) * i)
            if kept == "within another":
                pair = o.u[0][0], o.u[1][0]
            else:
                pair = {"result": r, "attributes": (o.u, o.v), "items": o.l}[kept]
            found.append((pair[0] is pair[1], str(pair)))
        return found

    assert program(fz.trace) == program(lambda f: f)
    assert all(one for one, _ in program(fz.trace))


def test_a_tuple_that_holds_itself():
    def f(x):
        t = (x * 2, [])
        t[1].append(t)
        return t

    traced = fz.trace(f)
    for i in range(15):
        t = traced(fz.ones(1) * i)
        assert t[1][0] is t and t[0].item() == 2 * i
