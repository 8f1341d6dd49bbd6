"""Numbers of Python that change at every call, alone or by what the world does to them."""

import decimal
import fractions
import itertools
import math

import numpy as np
from changes import Object, World, hazard, inside, setter

import frazil as fz

N = None


def counting(make, body, **start):
    """A hazard's World: body(t, x) over an object whose attributes change."""
    t = Object(**start)
    return t, make(lambda x: body(t, x))


@hazard("self.n += 1; return x * self.n")
def multiplied_by_a_counter(trace):
    def body(t, x):
        t.n += 1
        return x * t.n

    t, f = counting(trace, body, n=0)
    return World(f, setter(t, n=100), setter(t, n=0.5), setter(t, n=True), state=lambda: t.n)


@hazard("a counter as a method's, of two instances in turn")
def counters_of_two_instances(trace):
    class Model:
        def __init__(self, n):
            self.n = n

        @trace
        def step(self, x):
            self.n += 1
            return x * self.n

    turn = itertools.cycle([Model(0), Model(10)])
    return World(lambda x: next(turn).step(x), lambda: setattr(next(turn), "n", -5))


@hazard("nonlocal, global and globals() counters")
def counters_in_names(trace):
    n = 0

    def body(x):
        global N
        nonlocal n
        n += 1
        N = N + 2
        globals()["M"] = globals().get("M", 0) + 3
        return x * n + N - globals()["M"]

    f, names = inside(body, N=1)
    return World(
        trace(f), lambda: names.update(N=-4), lambda: names.pop("M"), state=lambda: names.get("M")
    )


@hazard("a counter of a tenth a call, and one that halves")
def float_counters(trace):
    def body(t, x):
        t.time += 0.1
        t.rate *= 0.5
        return x * t.rate + math.sin(t.time), t.time

    t, f = counting(trace, body, time=0.0, rate=1.0)
    return World(
        f, setter(t, time=1), setter(t, rate=-0.0), setter(t, rate=math.inf), state=lambda: vars(t)
    )


@hazard("a counter leaves 64 bits")
def counter_leaves_64_bits(trace):
    def body(t, x):
        t.n *= 1000
        return x * float(t.n % 1000003), t.n

    t, f = counting(trace, body, n=7)
    return World(f, setter(t, n=2**62), setter(t, n=-(2**63)), state=lambda: t.n)


@hazard("a tensor is multiplied by what leaves 64 bits, then by what no float holds")
def tensor_times_a_large_counter(trace):
    def body(t, x):
        t.n *= t.by
        return x * t.n

    t, f = counting(trace, body, n=1, by=10**4)
    return World(
        f,
        setter(t, n=2.0),
        setter(t, n=10**300, by=10**5),
        setter(t, n=1.0, by=1e200),
        state=lambda: t.n,
    )


@hazard("a branch at the seventh, the ninth and every fourth call")
def branch_on_a_counter(trace):
    def body(t, x):
        t.n += 1
        if t.n == 7:
            return x - 100
        if t.n % 4 == 0:
            t.hits += 1
            return x * t.hits
        return x + t.n if t.n > 9 else x

    t, f = counting(trace, body, n=0, hits=0)
    return World(f, setter(t, n=5), setter(t, n=-3), state=lambda: vars(t))


@hazard("an exception at the eighth call, before and behind effects")
def exception_at_a_count(trace):
    log = []

    def body(t, x):
        t.n += 1
        log.append(t.n)
        if t.n == 8:
            raise RuntimeError(f"call {t.n}")
        t.done += 1
        return x * t.done

    t, f = counting(trace, body, n=0, done=0)
    return World(f, setter(t, n=7), log.clear, state=lambda: (vars(t), log))


@hazard("a division by a countdown that reaches nought, caught with finally")
def division_by_a_countdown(trace):
    def body(t, x):
        try:
            t.left -= 1
            return x * (1 / t.left)
        except ZeroDivisionError:
            t.errors += 1
            return x * 0
        finally:
            t.seen += 1

    t, f = counting(trace, body, left=10, errors=0, seen=0)
    return World(f, setter(t, left=2), setter(t, left=1.0), state=lambda: vars(t))


@hazard("a learning rate from a counter: warm-up, cosine, steps, plateaus")
def schedules(trace):
    def rate(step, base, warm=3, total=20):
        if step < warm:
            return base * (step + 1) / warm
        if step > total:
            return 0
        share = (step - warm) / (total - warm)
        return base * (0.5 * (1 + math.cos(math.pi * share))) ** 2 / (1 + step // 5)

    def body(t, x):
        y = x - rate(t.step, t.base) * x
        t.step += 1
        return y

    t, f = counting(trace, body, step=0, base=0.3)
    return World(
        f,
        setter(t, step=1),
        setter(rate, __defaults__=(3, 5)),
        setter(t, base=1),
        state=lambda: t.step,
    )


@hazard("powers and logarithms of a counter, as in Adam")
def bias_corrections(trace):
    def body(t, x):
        t.step += 1
        t.m = 0.9 * t.m + 0.1 * x
        fix = 1 - 0.9**t.step
        return t.m / fix * math.sqrt(1 - 0.999**t.step) / math.log(1 + t.step)

    t, f = counting(trace, body, step=0, m=fz.zeros(2))
    return World(
        f, setter(t, step=0), setter(t, m=fz.ones(2)), setter(t, step=-1), state=lambda: t.step
    )


@hazard("a list indexed by a counter, until it ends")
def list_indexed_by_a_counter(trace):
    rates = [1.0, 0.5, 2, -1.0, 3.0, 0.25, 7, 8, 9]

    def body(t, x):
        value = rates[t.n]
        t.n += 1
        return x * value

    t, f = counting(trace, body, n=0)
    return World(
        f,
        setter(t, n=-2),
        lambda: rates.__setitem__(0, 100),
        lambda: rates.append(4),
        state=lambda: t.n,
    )


@hazard("a dict keyed by a counter, a ring buffer by its remainder")
def tables_by_counter(trace):
    table, ring = {0: 1.0, 5: 2.0, 9: 3}, [fz.zeros(2)] * 3

    def body(t, x):
        t.n += 1
        ring[t.n % 3] = x * table.get(t.n, 1)
        return ring[(t.n + 1) % 3] + ring[t.n % 3]

    t, f = counting(trace, body, n=0)
    return World(
        f,
        setter(t, n=3),
        lambda: table.update({5: 7.0}),
        lambda: ring.reverse(),
        state=lambda: ring,
    )


@hazard("Fibonacci: two counters swapped in one assignment")
def swapped_counters(trace):
    def body(t, x):
        t.a, t.b = t.b, t.a + t.b
        return x * t.a + t.b

    t, f = counting(trace, body, a=0, b=1)
    return World(f, setter(t, a=1.5), setter(t, a=10**18, b=10**19), state=lambda: vars(t))


@hazard("the number of turns of a loop is a counter")
def loop_of_a_counter(trace):
    def body(t, x):
        for k in range(t.n):
            x = x * 0.5 + k
        while t.n > 5:
            t.n -= 2
        t.n += 1
        return x

    t, f = counting(trace, body, n=0)
    return World(f, setter(t, n=30), setter(t, n=-3), state=lambda: t.n)


@hazard("shapes and slices by a counter")
def shapes_by_a_counter(trace):
    def body(t, x):
        t.n += 1
        grown = fz.zeros(t.n) + x[0]
        return grown[: t.n // 2], fz.arange(t.n) * x[1], x[t.n % 2]

    t, f = counting(trace, body, n=0)
    return World(f, setter(t, n=2), setter(t, n=-1), state=lambda: t.n)


@hazard("an axis, a power, a shift by a counter: numbers that become attributes")
def attributes_by_a_counter(trace):
    def body(t, x):
        t.n += 1
        y = fz.roll(fz.stack([x, x * 2]), t.n, axis=t.n % 2)
        return fz.sum(y, axis=-(t.n % 2)), x**t.n, fz.astype(x, fz.int32) << (t.n % 5)

    t, f = counting(trace, body, n=0)
    return World(f, setter(t, n=7), setter(t, n=2.0), state=lambda: t.n)


@hazard("text, tuples and booleans that count")
def other_counters(trace):
    def body(t, x):
        t.text += "ab"[len(t.text) % 2]
        t.pair = (t.pair[1], t.pair[0] + 1)
        t.on = not t.on
        return x * len(t.text) + t.pair[0] if t.on else x - t.pair[1], t.text

    t, f = counting(trace, body, text="", pair=(0, 5), on=False)
    return World(
        f, setter(t, text="zz"), setter(t, pair=(1.5, 2)), setter(t, on=3), state=lambda: vars(t)
    )


@hazard("fractions, decimals and complex numbers that count")
def exact_numbers(trace):
    def body(t, x):
        t.f += fractions.Fraction(1, 3)
        t.d *= 2
        t.c *= 1j
        return x * float(t.f) + float(t.d) * t.c.real

    t, f = counting(trace, body, f=fractions.Fraction(1, 2), d=decimal.Decimal("0.1"), c=1 + 1j)
    return World(
        f, setter(t, f=fractions.Fraction(7)), setter(t, c=2 + 0j), state=lambda: repr(vars(t))
    )


@hazard("counters that are numbers of NumPy's and wrap")
def numpy_counters(trace):
    def body(t, x):
        with np.errstate(over="ignore"):
            t.small += np.int8(50)
        t.single *= np.float32(1.1)
        return x * float(t.single) + int(t.small), t.small, t.single

    t, f = counting(trace, body, small=np.int8(0), single=np.float32(1))
    return World(
        f, setter(t, small=np.int8(-100)), setter(t, single=np.float64(1)), state=lambda: vars(t)
    )


@hazard("rounding, floor division and remainders of negative counters")
def divided_counters(trace):
    def body(t, x):
        t.n -= 3
        numbers = (
            t.n // 4,
            t.n % 4,
            -t.n // 2,
            divmod(t.n, 5)[1],
            round(t.n / 4),
            int(t.n / 4),
            t.n >> 1,
        )
        return x * sum(numbers) + (t.n & 6) - (t.n | 1) + (t.n ^ 3), numbers

    t, f = counting(trace, body, n=5)
    return World(f, setter(t, n=10**20), setter(t, n=0), state=lambda: t.n)


@hazard("float remainders and powers with signs")
def signed_float_counters(trace):
    def body(t, x):
        t.v = -t.v * 1.5
        return (
            x * (t.v % 1.0) + (t.v // 0.7),
            math.copysign(1.0, t.v % -1.0),
            abs(t.v) ** 0.5,
            t.v**3,
        )

    t, f = counting(trace, body, v=0.3)
    return World(
        f,
        setter(t, v=0.0),
        setter(t, v=-0.0),
        setter(t, v=math.nan),
        setter(t, v=1e308),
        state=lambda: t.v,
    )


@hazard("comparisons of counters: chained, with min and max, with nan")
def compared_counters(trace):
    def body(t, x):
        t.v += 0.75
        if 2 < t.v <= 5:
            return x * min(t.v, 4, t.limit)
        return x + max(t.v, t.limit) if t.v == t.v else x * 0

    t, f = counting(trace, body, v=0.0, limit=3.0)
    return World(
        f, setter(t, limit=1), setter(t, v=1.25), setter(t, limit=math.nan), setter(t, v=math.nan)
    )


@hazard("a counter in a default list, in a class and in a function's attribute")
def counters_in_odd_places(trace):
    class Model:
        calls = 0

    def body(x, box=[0]):  # noqa: B006
        box[0] += 1
        Model.calls += 2
        body.calls = getattr(body, "calls", 0) + 3
        return x * box[0] + Model.calls - body.calls

    box = body.__defaults__[0]
    return World(
        trace(body),
        lambda: box.__setitem__(0, 50),
        setter(Model, calls=0),
        lambda: delattr(body, "calls"),
        state=lambda: (box, Model.calls, body.calls),
    )


@hazard("a counter deep in lists, dicts and objects")
def deep_counter(trace):
    def body(t, x):
        t.a["list"][1].n += 1
        t.a["list"][0] *= 2
        return x * t.a["list"][1].n + t.a["list"][0]

    t, f = counting(trace, body, a={"list": [1, Object(n=0)]})

    def replaced():
        t.a["list"][1] = Object(n=9)

    return World(
        f, replaced, lambda: t.a.update(list=[0.5, Object(n=1.0)]), state=lambda: t.a["list"][0]
    )


@hazard("an epoch number in the caller's loop, an argument that counts")
def counting_arguments(trace):
    f = trace(lambda x, epoch, *, lr: x - lr / (1 + epoch) * x)
    epochs, held = itertools.count(), {"lr": 0.5}
    return World(
        lambda x: f(x, next(epochs), lr=held["lr"]),
        lambda: held.update(lr=1),
        lambda: held.update(lr=np.float32(0.1)),
    )


@hazard("random numbers drawn beside a counter, and a seed by it")
def counter_and_random_numbers(trace):
    def body(t, x):
        t.n += 1
        if t.n % 5 == 0:
            fz.random.seed(t.n)
        return x + fz.random.uniform((2,)) * t.n

    t, f = counting(trace, body, n=0)
    return World(f, setter(t, n=4), lambda: fz.random.seed(1), state=lambda: t.n)


@hazard("gradients with a rate that counts, tensors written at the same time")
def gradients_with_a_counter(trace):
    def body(t, x):
        loss, grad = fz.value_and_grad(lambda w: fz.sum((w * x - t.n) ** 2))(t.w)
        t.n += 1
        t.w -= 0.1 / t.n * grad
        t.losses.append(loss)
        del t.losses[:-2]
        return loss

    t, f = counting(trace, body, n=0, w=fz.ones(2), losses=[])
    return World(
        f,
        setter(t, n=0),
        setter(t, w=fz.zeros(2)),
        t.losses.clear,
        state=lambda: (t.n, t.w, t.losses),
    )


@hazard("a number in a cell moves while arguments of two kinds take turns")
def cell_and_kinds_of_arguments(trace):
    rate = 1.5

    def pieces(x, n=2):
        for i in range(n):
            yield x * (i + rate)

    def body(x, y):
        nonlocal rate
        t = sum(pieces(x))
        rate = -rate
        return t

    def unused(x, y):
        nonlocal rate
        sum(pieces(x))
        rate = -rate

    def change(value):
        nonlocal rate
        rate = value

    f, g, turn = trace(body), trace(unused), itertools.count()

    def call(x):
        y = fz.ones((2, 2), dtype=fz.float64) if next(turn) % 3 else fz.ones(3)
        return f(x, y), g(x, y)

    return World(call, lambda: change(0.25), lambda: change(2), state=lambda: rate)
