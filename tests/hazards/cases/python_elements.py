"""Numbers that move from call to call and become elements of arrays, or are summed up."""

import math

from changes import Object, World, hazard, setter

import frazil as fz


def moving(trace, body, **start):
    """A hazard's World: body(t, x) with t.i and t.v that grow by t.by at each call."""
    t = Object(**({"i": 0, "v": 0.25, "by": 1, "dtype": None} | start))

    def step(x):
        t.i += t.by
        t.v += 0.5 * t.by
        return body(t, x)

    return t, trace(step)


@hazard("asarray of a number, of lists and of nests of numbers")
def arrays_of_numbers(trace):
    def body(t, x):
        i, v = t.i, t.v
        return (
            fz.asarray(v), fz.asarray(i), fz.asarray([v, 1.0, v]), fz.asarray([i, 2]) * i,
            fz.asarray([[v, i], [1, 0.5]]).T, fz.asarray((v, x[0], i)), fz.asarray([v]).reshape(()),
            fz.asarray(v).reshape((1,)) + x, fz.asarray(i) + fz.asarray([i]), x * fz.asarray(v),
        )  # fmt: skip

    t, f = moving(trace, body)
    return World(
        f, setter(t, by=-3), setter(t, v=-0.0, by=0), setter(t, v=math.nan), setter(t, v=math.inf),
        setter(t, i=2**60, v=3), setter(t, i=2**63 - 2, by=1), setter(t, i=True), setter(t, i=1e30),
    )  # fmt: skip


@hazard("asarray with a dtype, a device, a gradient, a copy")
def arrays_with_options(trace):
    def body(t, x):
        i, v, dtype = t.i, t.v, t.dtype
        out = [
            fz.asarray(v, dtype=dtype), fz.asarray([i, i + 1], dtype=dtype),
            fz.asarray(v, dtype="float64") / 3, fz.asarray([v], dtype="int32"),
            fz.asarray(i, dtype="float16"), fz.asarray([v, 2.5], device="cpu"),
        ]  # fmt: skip
        return out, fz.asarray([v, v], requires_grad=True)

    t, f = moving(trace, body)
    return World(
        f, setter(t, dtype="float64"), setter(t, dtype="int8"), setter(t, i=200), setter(t, dtype="bool"),
        setter(t, dtype="bfloat16"), setter(t, dtype="no"),
    )  # fmt: skip


@hazard("what cannot be an array, with a number that moves in it")
def no_arrays(trace):
    def body(t, x):
        return fz.asarray([[t.i, 1], [t.v]] if t.i % 3 == 0 else [t.i, "a"] if t.by < 0 else [t.i])

    t, f = moving(trace, body)
    return World(f, setter(t, by=-1), setter(t, by=3))


@hazard("sum of numbers, of numbers before tensors, behind them, between them, with a start")
def sums(trace):
    def body(t, x):
        i, v = t.i, t.v
        return (
            sum([i, v, 1]), sum([v, 0.1, x, x]), sum((i, x)), sum([i, v, v]) * x,
            sum([]), sum([1, 2, x]), sum([-0.0, v, x]),
        )  # fmt: skip

    t, f = moving(trace, body)
    return World(
        f, setter(t, by=-1), setter(t, v=1e16), setter(t, v=math.inf), setter(t, i=0.5), setter(t, v=1),
        setter(t, i=2**62, by=2**61), setter(t, v=-0.0, by=0),
    )  # fmt: skip


@hazard("sums whose values are asked for")
def sums_asked_for(trace):
    def body(t, x):
        i, v = t.i % 3, t.v % 1
        return (
            sum([x, v]), sum([x, i, x]), sum([v, v], 10), sum([i, i], x), sum([v, i, fz.asarray(2)]),
            sum(k * i for k in range(3)), sum([[i], [v]], []), x * 2 if sum([i, 1]) > 2 else x,
        )  # fmt: skip

    t, f = moving(trace, body)
    return World(f, setter(t, by=-1), setter(t, v=1e16), setter(t, i=0.5), setter(t, v=1))


@hazard("sum and asarray are replaced, and given what adds in its own way")
def other_sums(trace):
    class Added:
        def __radd__(self, other):
            return other * 2

    held = {"sum": sum, "asarray": fz.asarray, "more": []}

    def body(t, x):
        return held["sum"]([t.i, t.v, *held["more"]]), held["asarray"](
            [t.v, *held["more"][:0], 1.0]
        ) * x

    t, f = moving(trace, body)
    return World(
        f,
        lambda: held["more"].append(Added()),
        lambda: held.update(sum=lambda items: items[0]),
        lambda: held.update(asarray=lambda items: fz.asarray(items[::-1])),
        lambda: held.update(sum=math.fsum, more=[1.5]),
        lambda: held.update(sum=max),
    )


@hazard("the rate of an optimizer follows a counter")
def moving_rates(trace):
    w = fz.asarray([1.0, -2.0], requires_grad=True)
    opt = fz.optim.SGD([w], lr=0.1)

    def body(t, x):
        opt.lr = 1 / (1 + t.i) if t.by else t.v
        (w * x).sum().backward()
        opt.step()
        opt.zero_grad()
        return w * 1

    t, f = moving(trace, body)
    return World(
        f, setter(t, by=0), setter(t, v=0), setter(t, v=-1.0), setter(t, v="a"), setter(t, v=0.5, i=9),
        lambda: setattr(opt, "lr", 0.25), state=lambda: (opt.lr, w.numpy().tolist()),
    )  # fmt: skip
