"""Integers that move from call to call and index tensors, alone, with others, out of range."""

import itertools

import numpy as np
from changes import Object, World, hazard, setter

import frazil as fz

ROWS = fz.asarray(np.arange(24, dtype=np.float32).reshape(4, 3, 2) - 7)


def walking(trace, body, **start):
    """A hazard's World: body(t, x) with t.i that grows by t.by at each call."""
    t = Object(**({"i": 0, "by": 1, "n": 4} | start))

    def step(x):
        t.i += t.by
        return body(t, x)

    return t, trace(step)


@hazard("x[i % n]; the step, the sign, the limit change")
def rows_in_turn(trace):
    t, f = walking(trace, lambda t, x: x.sum() * ROWS[t.i % t.n])
    return World(f, setter(t, by=-1), setter(t, n=-3), setter(t, by=10**12), setter(t, n=9))


@hazard("x[i] leaves the range, comes back, leaves it on the other side")
def row_out_of_range(trace):
    t, f = walking(trace, lambda t, x: x.sum() + ROWS[t.i], i=-5)
    return World(
        f, setter(t, i=-4, by=0), setter(t, i=4), setter(t, i=-5, by=1), setter(t, i=2**70)
    )


@hazard("an index that is caught when it is out of range")
def caught_index(trace):
    def body(t, x):
        try:
            return x.sum() * ROWS[t.i % t.n]
        except IndexError as e:
            return str(e)

    t, f = walking(trace, body, n=6)
    return World(f, setter(t, n=4), setter(t, n=5), setter(t, n=-5))


@hazard("several indices, beside slices, new axes, an ellipsis, arrays, numbers that stay")
def indices_among_others(trace):
    def body(t, x):
        i, j = t.i % 4, t.i % 2
        return [
            ROWS[i, j], ROWS[i, :, j], ROWS[..., j], ROWS[:, i % 3], ROWS[1, i % 3], ROWS[i, None, j],
            ROWS[i, 1:, -1], ROWS[-1 - i, ..., ::-1], ROWS[i, fz.asarray([0, 2])], ROWS[i][j][j],
            ROWS[[0, 2], i % 3], ROWS[:, fz.asarray([True, False, True]), j], x.sum() * i,
        ]  # fmt: skip

    t, f = walking(trace, body)
    return World(f, setter(t, by=3), setter(t, by=-1), setter(t, i=True), setter(t, i=1.0))


@hazard("bounds of slices that move, alone and beside an index")
def moving_bounds(trace):
    def body(t, x):
        i = t.i % 3
        return ROWS[i : i + 2], ROWS[: 4 - i, i], ROWS[i, i:], x[i:]

    t, f = walking(trace, body)
    return World(f, setter(t, by=2), setter(t, i=-1), setter(t, by=0))


@hazard("lists and tuples with indices that move")
def lists_of_indices(trace):
    def body(t, x):
        i = t.i % 3
        return ROWS[[i, i + 1]], ROWS[[[0, i]]], [x.sum(), ROWS.sum(), i][i], (i, t.i)[i % 2]

    t, f = walking(trace, body)
    return World(f, setter(t, by=2), setter(t, i=-1), setter(t, i=0.0))


@hazard("x[i] = v and x[i, j] += v, also of views and out of range")
def assigned_at_an_index(trace):
    held = {"a": fz.zeros((4, 3)), "b": fz.zeros(5)}

    def body(t, x):
        i = t.i % t.n
        held["a"][i, i % 3] += x[0]
        held["b"][-1 - i] = x[1] * t.i
        held["a"][i][:] = 0 if t.i % 5 == 0 else held["a"][i]
        return held["a"] * 1, held["b"] * 1

    t, f = walking(trace, body)
    return World(
        f, setter(t, by=-1), lambda: held.update(b=fz.zeros(3)), setter(t, n=9), setter(t, n=-2),
        state=lambda: [v.numpy().tolist() for v in held.values()],
    )  # fmt: skip


@hazard("gradients through x[i], with negative zeros")
def gradients_at_an_index(trace):
    w = fz.asarray([[1.0, -2.0], [0.5, 3.0], [0.0, -0.0]], requires_grad=True)

    def body(t, x):
        row = w[t.i % t.n]
        (row * fz.asarray([-0.0, 2.0]) + row[t.i % 2] * x).sum().backward()
        grad, w.grad = w.grad, None
        return grad, fz.grad(lambda v: (v[t.i % t.n] * v[-1]).sum())(w.detach())

    t, f = walking(trace, body, n=3)
    return World(f, setter(t, n=2), setter(t, by=2), setter(t, n=-3), setter(t, n=4))


@hazard("indices of other tensors: of another rank, extent, dtype; without axes")
def indices_of_others(trace):
    held = {"a": ROWS}
    t, f = walking(trace, lambda t, x: held["a"][t.i % 3] * 2)
    return World(
        f,
        lambda: held.update(a=ROWS[:2]),
        lambda: held.update(a=fz.arange(3)),
        lambda: held.update(a=fz.asarray(1.0)),
        lambda: held.update(a=ROWS > 0),
        lambda: held.update(a=fz.zeros((0, 2))),
    )


@hazard("an object's __getitem__ and __len__ in between, patched")
def indexed_objects(trace):
    class Table:
        def __init__(self, rows, length):
            self.rows, self.length = rows, length

        def __len__(self):
            return self.length

        def __getitem__(self, i):
            return self.rows[i % len(self)]

    table = Table(ROWS, 4)
    t, f = walking(trace, lambda t, x: (table[t.i] * x[0], len(table), t.i in [2, 5]))
    return World(
        f,
        setter(table, length=3),
        lambda: setattr(Table, "__getitem__", lambda self, i: self.rows[-1 - i % 2]),
        lambda: setattr(Table, "__len__", lambda self: t.i % 3 + 1),
        lambda: setattr(Table, "__getitem__", lambda self, i: self.rows[i % len(self)]),
    )


@hazard("iterators, sorting and built-in functions that ask Python code for a number")
def numbers_asked_by_c(trace):
    class Sized:
        def __len__(self):
            return abs(t.i) % 3

        def __index__(self):
            return t.i % 3

        def __contains__(self, x):
            return t.i % 2

        def __bool__(self):
            return t.i % 2 == 0

        def __next__(self):
            return t.i

        def __iter__(self):
            return itertools.islice(iter(lambda: t.i % 4, 3), 5)

    sized = Sized()

    def body(t, x):
        order = sorted([1, 2, 3], key=lambda k: (k * t.i) % 4)
        most = max([1, 2, 3], key=lambda k: (k + t.i) % 3)
        named = [n for n in (1, 2, 3, 4) if n in sized]
        kept = list(filter(lambda k: (k + t.i) % 2, [1, 2, 3]))
        return order, most, named, kept, [7, 8, 9][sized], x[sized], len(sized), list(sized)[:2]

    t, f = walking(trace, body)
    return World(f, setter(t, by=2), setter(t, by=-1), setter(t, i=0.5))
