"""Loops that test a condition: those that are one piece of a plan, and those that only look like it."""

import collections
import functools

import numpy as np
from hz import effect, exact

import frazil as fz

TOLS = (0.5, 0.1, 0.02, 0.3, 0.004, 0.02, 8.0, 0.001, 0.05)


def loop(title, pure=True):
    """A hazard f(F, x, tol): many calls with loops of other lengths."""

    def deco(fn):
        def case(F, compile):
            g = compile(functools.wraps(fn)(lambda x, tol: fn(F, x, tol)))
            rng = np.random.default_rng(0)
            for _ in range(60):
                x = F.array(np.array([rng.uniform(0.5, 3), 2.0, -0.5], np.float32))
                yield g(x, F.array(np.array(10 ** rng.uniform(-4, 0.5), np.float32)))
                yield x

        case.__name__ = "loop_" + fn.__name__
        return exact(title, pure=pure)(case)

    return deco


def size(F, x):
    return F.max(fz.abs(x))


@loop("a Python counter that is returned")
def counted(F, x, tol):
    n = 0
    while size(F, x) > tol:
        x = x * 0.5
        n += 1
    return x, n


@loop("a Python number that the body takes")
def halved_step(F, x, tol):
    h = 1.0
    while size(F, x) > tol:
        x = x * (0.5 + 0.25 * h)
        h *= 0.5
    return x


@loop("at most seven iterations, by a range")
def bounded_by_range(F, x, tol):
    for _ in range(7):
        x = x * 0.5
        if size(F, x) < tol:
            break
    else:
        x = x + 100
    return x


@loop("at most seven iterations, by the condition")
def bounded_by_counter(F, x, tol):
    n = 0
    while size(F, x) > tol and n < 7:
        x = x * 0.5
        n = n + 1
    return x


@loop("at most as many iterations as a list has items, all alike")
def bounded_by_list(F, x, tol):
    for half in [0.5] * 6:
        x = x * half
        if size(F, x) < tol:
            break
    return x


@loop("at most as many iterations as a generator gives")
def bounded_by_generator(F, x, tol):
    for half in (0.5 for _ in range(5)):
        x = x * half
        if size(F, x) < tol:
            break
    return x


@loop("at most as many iterations as enumerate and zip give")
def bounded_by_zip(F, x, tol):
    for half, (_, more) in zip([0.5] * 6, enumerate([0.5] * 9)):
        x = x * half + 0.0 * more
        if size(F, x) < tol:
            break
    return x


@loop("values kept in a list")
def kept(F, x, tol):
    every = [x]
    while size(F, x) > tol:
        x = x * 0.5
        every.append(x)
    return every[-1], len(every), every[len(every) // 2]


@loop("a list of fixed length as a window of the last values")
def window(F, x, tol):
    last = [x, x * 2, x * 3]
    while size(F, last[0]) > tol:
        last = [last[0] * 0.5, last[0], last[1]]
    return last[0], last[1], last[2]


@loop("a deque of fixed length")
def deque(F, x, tol):
    last = collections.deque([x, x * 2], maxlen=2)
    while size(F, last[-1]) > tol:
        last.append(last[-1] * 0.5 + last[0] * 0.125)
    return last[0], last[1]


@loop("two values that change places")
def swapped(F, x, tol):
    y = x * 0.25
    while size(F, x) > tol:
        x, y = y * 0.5, x
    return x, y


@loop("values handed on late")
def delayed(F, x, tol):
    a = b = c = x
    while size(F, c) > tol:
        a, b, c = a * 0.5, a, b
    return a, b, c


@loop("names for one value at the start, for several later")
def aliased(F, x, tol):
    first = best = y = x
    while size(F, y) > tol:
        y = y * 0.5
        best = y if False else best + 0
    return first, best, y


@loop("a value that is replaced in few iterations")
def seldom(F, x, tol):
    best = first = x
    while size(F, x) > tol:
        x = x * 0.6
        if F.sum(x) < 0.3:
            best = x
    return best, first, x


@loop("branches that leave others for the next iteration")
def accepted(F, x, tol):
    t, h = F.sum(x) * 0, F.sum(x) * 0 + 0.5
    while t < 2.0:
        y = x - h * x
        if size(F, y - x) < tol + 0.2:
            t = t + h
            x = y
            h = h * 1.5
        else:
            h = h * 0.5
    return x, t, h


@loop("three branches, and one within another")
def three_ways(F, x, tol):
    n = F.sum(x) * 0
    while size(F, x) > tol:
        if F.sum(x) > 1.0:
            x = x * 0.5
        elif F.sum(x) > 0.1:
            if F.sum(n) > 4:  # noqa: SIM108
                x = x * 0.25
            else:
                x = x * 0.75
        else:
            x = x * 0.125
        n = n + 1
    return x, n


@loop("continue")
def continued(F, x, tol):
    n = F.sum(x) * 0
    while size(F, x) > tol:
        n = n + 1
        x = x * 0.7
        if F.sum(x) > 0.6:
            continue
        x = x - 0.0625 * x
    return x, n


@loop("two ways out")
def two_exits(F, x, tol):
    while size(F, x) > tol:
        x = x * 0.5
        if F.sum(x) < 0.05:
            break
        x = x + 0.001
    return x


@loop("two loops, one after the other")
def two_loops(F, x, tol):
    while size(F, x) > tol:
        x = x * 0.5
    y = x + 1
    while size(F, y) > 0.3 + tol:
        y = y * 0.75
    return x, y


@loop("a loop within a loop")
def nested(F, x, tol):
    y = x
    while size(F, x) > tol:
        x = x * 0.4
        y = x + 1
        while size(F, y) > 0.3:
            y = y * 0.75 - 0.01
    return x, y


@loop("a loop within a range")
def within_range(F, x, tol):
    for k in range(3):
        while size(F, x) > tol * (k + 1):
            x = x * 0.5
        x = x + 0.25
    return x


@loop("and, or, not")
def several_conditions(F, x, tol):
    y = x * 2
    while (size(F, x) > tol and F.sum(y) > 0.1) or not size(F, y) < 4:
        x, y = x * 0.5, y * 0.75
    return x, y


@loop("an array that grows")
def grows(F, x, tol):
    y = x
    while size(F, x) > tol:
        x = x * 0.4
        y = F.concat([y, x])
    return F.sum(y), y.shape[0]


@loop("a dtype that changes once")
def dtype_changes(F, x, tol):
    n = F.astype(F.sum(x) * 0, "int32")
    while size(F, x) > tol:
        x = x * 0.5
        n = n + 1.5
    return x, n


@loop("an argument is written")
def argument_written(F, x, tol):
    while size(F, x) > tol:
        x *= 0.5
    return x * 2


@loop("elements are written, of an array that another name shows too")
def shared_name(F, x, tol):
    y = x + 0
    z = y
    while size(F, y) > tol:
        y[0] = y[1] * 0.5
        y[1:] = y[:2] * 0.5
    return z, y is z


@loop("a name that only later code reads")
def left_behind(F, x, tol):
    y = x * 3
    while size(F, x) > tol:
        y = x + 1
        x = x * 0.5
    return y


@loop("a name that is deleted")
def deleted(F, x, tol):
    while size(F, x) > tol:
        y = x * 0.5
        x = y
        del y
    return x, "y" in locals()


@loop("locals() shows what is dead")
def shown(F, x, tol):
    while size(F, x) > tol:
        dead = x
        x = x * 0.5
    return x, locals().get("dead", x)


@loop("functions made in the body")
def closures(F, x, tol):
    f = None
    while size(F, x) > tol:
        y = x * 0.5
        f = lambda z, y=y: z + y  # noqa: E731
        x = y
    return f(x) if f else x


@loop("a function made before, whose names change")
def closed_over(F, x, tol):
    def step():
        nonlocal x, n
        x = x * 0.5
        n = n + 1

    n = 0
    while size(F, x) > tol:
        step()
    return x, n


@loop("the test stands in a function of its own")
def tested_elsewhere(F, x, tol):
    def goes_on(y):
        if size(F, y) > tol:  # noqa: SIM103
            return True
        return False

    while goes_on(x):
        x = x * 0.5
    return x


@loop("recursion in place of a loop")
def recursive(F, x, tol):
    return recursive.__wrapped__(F, x * 0.5, tol) if size(F, x) > tol else x


recursive.__wrapped__ = lambda F, x, tol: (
    recursive.__wrapped__(F, x * 0.5, tol) if size(F, x) > tol else x
)


class State:
    def __init__(self, x):
        self.x, self.n, self.log = x, 0, []


@loop("an object's attribute")
def attribute(F, x, tol):
    state = State(x)
    while size(F, state.x) > tol:
        state.x = state.x * 0.5
    return state.x


@loop("an object's counter")
def attribute_counter(F, x, tol):
    state = State(x)
    while size(F, state.x) > tol:
        state.x = state.x * 0.5
        state.n += 1
    return state.x, state.n


@loop("a dict and a named tuple")
def dict_state(F, x, tol):
    Pair = collections.namedtuple("Pair", "a b")
    state = {"p": Pair(x, x * 2)}
    while size(F, state["p"].a) > tol:
        p = state["p"]
        state = {"p": Pair(p.b * 0.25, p.a)}
    return state["p"].a, state["p"].b


@loop("a dict that gets new keys")
def dict_grows(F, x, tol):
    seen = {}
    while size(F, x) > tol:
        x = x * 0.5
        seen[len(seen)] = x
    return x, len(seen)


@loop("numbers read from data within the body")
def reads_numbers(F, x, tol):
    n = F.astype(F.sum(x) * 0, "int32")
    while int(n) < 4:
        n = n + 1
        x = x * 0.5
    while size(F, x) > tol:
        x = x * 0.5 + 0.0 * int(n)
    return x, n


@loop("rows by an index of the data")
def index_of_data(F, x, tol):
    i = F.astype(F.sum(x) * 0, "int32")
    while size(F, x) > tol:
        x = x * 0.5 + 0.0 * x[i]
        i = (i + 1) % 3
    return x, i


@loop("not a number ends it")
def not_a_number(F, x, tol):
    while size(F, x) < 1e30:
        x = x * x * x * 64 + tol
    y = x - x
    while y[0] < 1:
        y = y + 1
    return x, y


@loop("random numbers", pure=False)
def random_steps(F, x, tol):
    while size(F, x) > tol:
        x = x * (0.25 + 0.5 * fz.random.uniform(shape=(3,)))
    return x


@loop("with statements and try")
def with_try(F, x, tol):
    while size(F, x) > tol:
        with fz.no_grad():
            x = x * 0.5
        try:
            y = x + 1
        finally:
            x = y - 1
    return x


@loop("gradients within the body")
def gradients(F, x, tol):
    n = F.sum(x) * 0
    while size(F, x) > tol and n < 40:
        x = x - 0.25 * fz.grad(lambda z: F.sum(z * z))(x)
        n = n + 1
    return x


COUNT = 0


@exact("a global counter")
def loop_global_counter(F, compile):
    def f(x, tol):
        global COUNT
        while size(F, x) > tol:
            x = x * 0.5
            COUNT += 1
        return x

    g = compile(f)
    global COUNT
    for tol in TOLS * 3:
        COUNT = 0
        yield g(F.array(np.array([1.0, 2.0], np.float32)), F.array(np.array(tol, np.float32)))
        yield effect(COUNT)


@exact("a list outside that grows")
def loop_list_outside(F, compile):
    log = []

    def f(x, tol):
        while size(F, x) > tol:
            x = x * 0.5
            log.append(1)
        return x

    g = compile(f)
    for tol in TOLS * 3:
        yield g(F.array(np.array([1.0, 2.0], np.float32)), F.array(np.array(tol, np.float32)))
        yield effect(len(log))


@exact("attributes of an argument")
def loop_argument_attributes(F, compile):
    def f(state, tol):
        while size(F, state.x) > tol:
            state.x = state.x * 0.5
            state.n += 1
        return state.x * 2

    g = compile(f)
    for tol in TOLS * 3:
        state = State(F.array(np.array([1.0, 2.0], np.float32)))
        yield g(state, F.array(np.array(tol, np.float32)))
        yield state.x
        yield effect(state.n)


@exact("a helper's attribute counts")
def loop_function_attribute(F, compile):
    def helper(x):
        helper.calls += 1
        return x * 0.5

    def f(x, tol):
        while size(F, x) > tol:
            x = helper(x)
        return x

    g = compile(f)
    for tol in TOLS * 3:
        helper.calls = 0
        yield g(F.array(np.array([1.0, 2.0], np.float32)), F.array(np.array(tol, np.float32)))
        yield effect(helper.calls)


SCRATCH = 0


@loop("a global name that counts within a call, and decides")
def global_scratch(F, x, tol):
    global SCRATCH
    SCRATCH = 0
    while size(F, x) > tol:
        SCRATCH += 1
        x = x * 0.5 if SCRATCH < 4 else x * 0.75
    return x
