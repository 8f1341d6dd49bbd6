"""Functions inside functions: traced in traced, recursion, generators, coroutines, decorators."""

import asyncio
import contextlib
import functools
import itertools

import numpy as np
from hz import V, effect, exact, told

import frazil as fz


@exact("traced inside traced, at several depths, sharing a helper", pure=True)
def traced_inside_traced(F, compile):
    @compile
    def low(x, k):
        return x * k + 1

    @compile
    def middle(x, k):
        return low(x, k) - low(x, k + 1) if bool(x.sum() > 3) else low(x, 2.0)

    def top(x, k):
        y = middle(x, k)
        return low(y, k) + middle(y, k), y

    g = compile(top)
    for i in range(9):
        x = V(F, i, i % 3)
        yield g(x, 1.0 + i % 2), middle(x, 2.0), low(x, 3)


@exact("a traced function passed to a traced function", pure=True)
def functions_as_arguments(F, compile):
    def apply(f, x, n):
        for _ in range(n):
            x = f(x)
        return x

    g, x = compile(apply), V(F, 1, 2)
    double, plus = compile(lambda t: t * 2), lambda t: t + 1
    for n in (2, 2, 2, 3, 1):
        yield g(double, x, n), g(plus, x, n), g(double, x, n), g(fz.exp, x, 1), g(fz.tanh, x, n)


@exact("a lambda made anew in every call captures another value")
def new_lambdas(F, compile):
    def f(g, x):
        return g(x) + 1

    g = compile(f)
    for i in range(8):
        w = V(F, i, i + 1)
        yield g(lambda t, w=w, i=i: t * w + i, V(F, 1, 2))
        yield g(lambda t, w=w: t - w, V(F, 1, 2))


@exact("recursion on numbers and on data", pure=True)
def recursion(F, compile):
    def f(x, n):
        if n == 0 or bool(x.sum() > 50):
            return x
        return f(x * 2, n - 1) + (f(x + 1, n - 2) if n > 1 else 0)

    f = compile(f)
    for n in (3, 3, 3, 5, 0, 1, 4, 3):
        yield f(V(F, 1, n), n)


@exact("mutual recursion of traced functions")
def mutual_recursion(F, compile):
    @compile
    def even(x, n):
        return x if n == 0 else odd(x * 2, n - 1)

    @compile
    def odd(x, n):
        return x - 1 if n == 0 else even(x + 1, n - 1)

    for n in (4, 4, 4, 5, 0, 3):
        yield even(V(F, 1, 2), n), odd(V(F, 1, 2), n)


@exact("a generator consumed inside, made inside or outside")
def generators_inside(F, compile):
    def rows(x):
        for i in range(3):
            got = yield x * i + 1
            x = x if got is None else x + got

    def f(x, outside):
        made = rows(x + 1)
        a = next(made)
        b = made.send(a)
        c = sum(made, x)
        return a, b, c + next(outside)

    g = compile(f)
    outside = rows(V(F, 5, 5))
    for i in range(6):
        if i % 3 == 0:
            outside = rows(V(F, i, 5))
        yield g(V(F, i, 1), outside)


@exact("a traced generator function", refused="is a generator function")
def generator_function(F, compile):
    def f(x, n):
        total = x * 0
        for i in range(n):
            total = total + x * i
            got = yield total, i
            if got is not None:
                x = got + total
        return total

    g = compile(f)
    for n in (3, 3, 3, 4, 2):
        it = g(V(F, n, 1), n)
        out = [next(it)]
        out.append(it.send(V(F, 9, n)))
        yield out
        yield [pair for pair in it]


@exact(
    "two traced generators interleaved, and one that is abandoned",
    refused="is a generator function",
)
def interleaved_generators(F, compile):
    log = []

    def f(x, k):
        try:
            while True:
                x = x * k + 1
                yield x
        finally:
            log.append((x + 0).tolist())

    g = compile(f)
    for _ in range(4):
        a, b = g(V(F, 1, 2), 2), g(V(F, 3, 4), 3)
        yield [t for pair in itertools.islice(zip(a, b, strict=False), 3) for t in pair]
        a.close()
        del b
        yield effect(log)


@exact("coroutines: a traced async function, and await inside", refused="is a coroutine function")
def coroutines(F, compile):
    async def part(x, k):
        await asyncio.sleep(0)
        return x * k

    async def f(x, n):
        y = x + 1
        parts = await asyncio.gather(*(part(y, k) for k in range(n)))
        z = y * 2
        await asyncio.sleep(0)
        return sum(parts, z)

    g = compile(f)

    async def both(n):
        return await asyncio.gather(g(V(F, 1, 2), n), g(V(F, 3, n), 2))

    for n in (2, 2, 2, 3, 1):
        yield asyncio.run(both(n))


@exact("an event loop run inside the body")
def loop_inside(F, compile):
    async def part(x, k):
        y = x * k
        await asyncio.sleep(0)
        return y + x

    def f(x, n):
        async def all_parts():
            return await asyncio.gather(*(part(x + 1, k) for k in range(n)))

        return sum(asyncio.run(all_parts()), x)

    g = compile(f)
    for n in (2, 2, 2, 3, 1):
        yield g(V(F, 1, 2), n)


@exact("an async generator", refused="is a coroutine function")
def async_generator(F, compile):
    async def f(x, n):
        for i in range(n):
            x = x * 2 + i
            await asyncio.sleep(0)
            yield x

    g = compile(f)

    async def collect(n):
        return [t async for t in g(V(F, 1, 2), n)]

    for n in (2, 2, 2, 4):
        yield asyncio.run(collect(n))


@exact("decorators and wrappers around and inside")
def decorators(F, compile):
    calls = []

    def counted(f):
        @functools.wraps(f)
        def wrapper(*args):
            calls.append(f.__name__)
            return f(*args) * len(calls)

        return wrapper

    @counted
    @compile
    @counted
    def f(x):
        return x + 1

    @functools.lru_cache
    def cached(n):
        return fz.asarray([1.0 * n, 2.0])

    @compile
    @contextlib.contextmanager
    def scaled(x, k):
        yield x * k

    for i in range(6):
        yield f(V(F, i, 1)), compile(lambda x, i=i: x * cached(i % 2))(V(F, 1, 1))
        with scaled(V(F, i, 1), 3) as t:
            yield t + 1
    yield effect(calls)


@exact("comprehensions, map, sorted, reduce, zip, match and walrus")
def python_around(F, compile):
    def f(xs, kind):
        ys = [y for x in xs if (y := x * 2).sum() > 2]
        z = functools.reduce(lambda a, b: a * 0.5 + b, ys, xs[0])
        z = z + sum(map(lambda t: t.max(), sorted(xs, key=lambda t: float(t[0]))))
        match kind:
            case {"op": "add", "k": k}:
                return z + k
            case [a, *rest]:
                return z * a + len(rest)
            case _:
                return z, {k: v for k, v in zip("ab", ys, strict=False)}

    g = compile(f)
    kinds = [{"op": "add", "k": 2}] * 3 + [[2, 3], None, [0.5], {"op": "add", "k": V(F, 1, 2)}]
    for i, kind in enumerate(kinds * 2):
        yield g([V(F, i, 1), V(F, 2 - i, 0), V(F, 1, i)], kind)


@exact("deep nesting of calls, containers and blocks")
def deep_nesting(F, compile):
    def nest(x, n):
        return [nest(x + 1, n - 1), {"x": x}] if n else x

    def call(x, n):
        return call(x * 1.5, n - 1) - 1 if n else x

    def f(x, n):
        with contextlib.ExitStack() as stack:
            for _ in range(n):
                stack.enter_context(fz.no_grad())
            y = call(x, n)
        return nest(y, n)

    g = compile(f)
    for n in (30, 30, 30, 60, 5):
        yield g(V(F, 1, 2), n)


@exact("another call of the same function while it runs, through a callback and a sort")
def reentered(F, compile):
    def f(x, n, callback):
        y = x * 2
        if n:
            y = y + callback(y + 1, n - 1, callback)
        return sorted([y, y - 1], key=lambda t: float(t.sum()))[0]

    g = compile(f)
    for n in (2, 2, 2, 4, 0, 2):
        yield g(V(F, 1, n), n, g)


@exact("errors of misuse")
def misuse(F, compile):
    yield told(F, lambda: compile(lambda x: x)())
    yield told(F, lambda: compile(lambda x: np.asarray(x) @ [1])(V(F, 1, 2)))
    yield told(F, lambda: compile(lambda: 3)()), told(F, lambda: compile(lambda: None)())
