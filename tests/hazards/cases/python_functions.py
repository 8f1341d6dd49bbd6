"""Code, defaults, closures and callables of all kinds change between calls."""

import contextlib
import functools
import itertools
import types

from changes import Object, World, hazard, inside, setter

import frazil as fz

helper = None


@hazard("the code of a helper is replaced")
def helper_code(trace):
    def part(x, k=2):
        return x * k

    first = part.__code__
    return World(
        trace(lambda x: part(x) + 1),
        setter(part, __code__=(lambda x, k: x - k).__code__),
        setter(part, __code__=first),
    )


@hazard("the code of the traced function itself is replaced")
def own_code(trace):
    def body(x):
        return x * 2

    first = body.__code__
    return World(
        trace(body),
        setter(body, __code__=(lambda x: x + 7).__code__),
        setter(body, __code__=first),
        setter(body, __code__=first.replace(co_consts=(None, 5))),
    )


@hazard("defaults of a helper and of the function itself")
def defaults_replaced(trace):
    def part(x, k=2.0):
        return x * k

    def body(x, offset=1.0):
        return part(x) + offset

    return World(
        trace(body),
        setter(part, __defaults__=(3.0,)),
        setter(body, __defaults__=(5.0,)),
        setter(part, __defaults__=None),
        setter(part, __defaults__=(1,)),
    )


@hazard("keyword defaults are replaced, mutated, taken away")
def keyword_defaults(trace):
    def part(x, *, k=2.0):
        return x * k

    return World(
        trace(lambda x: part(x)),
        lambda: part.__kwdefaults__.update(k=3.0),
        setter(part, __kwdefaults__={"k": 4.0}),
        setter(part, __kwdefaults__=None),
    )


@hazard("a default that is a list grows, inside and outside")
def mutable_default(trace):
    def body(x, seen=[]):  # noqa: B006
        seen.append(len(seen) + 1)
        return x * sum(seen)

    seen = body.__defaults__[0]
    return World(trace(body), seen.clear, lambda: seen.append(100), state=lambda: seen)


@hazard("a default that is a dict of a helper changes")
def dict_default(trace):
    def part(x, table={"k": 2.0}):  # noqa: B006
        return x * table["k"]

    table = part.__defaults__[0]
    return World(trace(lambda x: part(x)), lambda: table.update(k=3.0), lambda: table.pop("k"))


@hazard("nonlocal writes a cell that the body reads")
def cell_by_nonlocal(trace):
    k = 2.0

    def change():
        nonlocal k
        k = k + 1

    return World(trace(lambda x: x * k), change, change)


@hazard("cell_contents is written and deleted")
def cell_contents(trace):
    k = 2.0
    f = lambda x: x * k  # noqa: E731
    (cell,) = f.__closure__
    return World(
        trace(f),
        lambda: setattr(cell, "cell_contents", 3.0),
        lambda: delattr(cell, "cell_contents"),
        lambda: setattr(cell, "cell_contents", True),
    )


@hazard("a cell two functions deep")
def deep_cell(trace):
    def outer():
        k = 2.0

        def middle():
            def inner(x):
                return x * k

            return inner

        def change(v):
            nonlocal k
            k = v

        return middle(), change

    inner, change = outer()
    return World(trace(lambda x: inner(x)), lambda: change(3.0), lambda: change(4))


@hazard("the body writes the cell that it reads")
def cell_written_inside(trace):
    k = 1.0

    def body(x):
        nonlocal k
        k = k * 1.5
        return x * k

    def change():
        nonlocal k
        k = -1

    return World(trace(body), change, state=lambda: k)


@hazard("two functions share a cell, one writes and the other reads")
def shared_cell(trace):
    k = 0

    def write(x):
        nonlocal k
        k += 1
        return x + k

    def read(x):
        return x * k

    write, read = trace(write), trace(read)
    return World(lambda x: (read(x), write(x), read(x)), lambda: write(fz.ones(2)))


@hazard("an attribute of a function")
def function_attribute(trace):
    def part(x):
        part.calls += 1
        return x * part.k

    part.k, part.calls = 2.0, 0
    return World(
        trace(lambda x: part(x)),
        setter(part, k=3.0),
        lambda: vars(part).update(k=4),
        lambda: delattr(part, "k"),
        state=lambda: part.calls,
    )


@hazard("keywords of a partial, and a partial that is replaced")
def partial_keywords(trace):
    held = {"f": functools.partial(lambda x, k, c: x * k + c, k=2.0, c=0.0)}
    return World(
        trace(lambda x: held["f"](x)),
        lambda: held["f"].keywords.update(k=3.0),
        lambda: held["f"].__setstate__((lambda x, c: x - c, (), {"c": 1.0}, None)),
        lambda: held.update(f=functools.partial(held["f"], c=5)),
    )


@hazard("a list of lambdas")
def list_of_lambdas(trace):
    steps = [lambda x: x + 1, lambda x: x * 2]

    def body(x):
        for step in steps:
            x = step(x)
        return x

    return World(trace(body), steps.reverse, lambda: steps.append(fz.abs), lambda: steps.pop(0))


@hazard("a cache of a helper remembers, and is cleared")
def cached_helper(trace):
    k = 2.0

    @functools.lru_cache(maxsize=2)
    def factor(n):
        return n * k

    def body(x, n=1):
        return x * factor(n) + factor.cache_info().misses

    def change(v):
        nonlocal k
        k = v

    return World(
        trace(body), lambda: change(3.0), factor.cache_clear, lambda: [factor(i) for i in range(5)]
    )


@hazard("a cache over a method and over a counter")
def cache_with_effects(trace):
    calls = []

    class Thing:
        def __init__(self, k):
            self.k = k

        @functools.lru_cache  # noqa: B019
        def rate(self, step):
            calls.append(step)
            return self.k / (1 + step)

    thing, count = Thing(2.0), itertools.count()

    def body(x):
        return x * thing.rate(next(count) // 3)

    return World(trace(body), setter(thing, k=9.0), Thing.rate.cache_clear, state=lambda: calls)


@hazard("functools.singledispatch gets another implementation")
def single_dispatch(trace):
    @functools.singledispatch
    def part(v, x):
        return x * 2

    held = {"v": 1}
    return World(
        trace(lambda x: part(held["v"], x)),
        lambda: part.register(int, lambda v, x: x * 3),
        lambda: held.update(v="s"),
        lambda: part.register(str, lambda v, x: x * 4),
    )


@hazard("a callable object: __call__ of its class and of itself")
def callable_object(trace):
    class Op:
        k = 2.0

        def __call__(self, x):
            return x * self.k

    op = Op()
    return World(
        trace(lambda x: op(x)),
        setter(op, __call__=lambda x: x + 100),
        setter(op, k=3.0),
        setter(Op, __call__=lambda self, x: x - self.k),
    )


@hazard("a traced helper's code and defaults are replaced")
def traced_helper(trace):
    def part(x, k=2.0):
        return x * k

    traced = trace(part)
    return World(
        trace(lambda x: traced(x) + 1),
        setter(part, __defaults__=(3.0,)),
        setter(part, __code__=(lambda x, k: x - k).__code__),
    )


@hazard("an iterator outside is consumed a little by each call")
def consumed_iterator(trace):
    numbers = itertools.chain(range(1, 15), [0.5])
    return World(trace(lambda x: x * next(numbers, -1.0)), lambda: next(numbers), lambda: None)


@hazard("a generator outside has state, and raises when it is done")
def consumed_generator(trace):
    def rates():
        k = 1.0
        while k > 1e-6:
            sent = yield k
            k = sent or k / 2

    steps = rates()
    return World(
        trace(lambda x: x * next(steps)),
        lambda: next(steps, None),
        lambda: next(steps, None),
        steps.close,
    )


@hazard("itertools.count and cycle are state")
def counting_iterators(trace):
    count, cycle = itertools.count(0.5, 0.25), itertools.cycle([1, 2, 3])

    def body(x):
        for k, _ in zip(cycle, range(2)):
            x = x * k
        return x + next(count)

    return World(trace(body), lambda: next(count), lambda: next(cycle), state=lambda: repr(count))


@hazard("a generator that the body leaves open")
def open_generator(trace):
    log = []

    def rows():
        try:
            yield from range(length[0])
        finally:
            log.append("closed")

    def body(x):
        g = rows()
        y = x * (next(g) + next(g) + 1)
        held.append(g)
        del held[:-2]
        return y

    held, length = [], [5]
    return World(trace(body), held.clear, lambda: length.__setitem__(0, 1), state=lambda: list(log))


@hazard("recursion whose depth comes from outside")
def recursion_depth(trace):
    def power(x, n):
        return x if n == 0 else power(x, n - 1) * x

    f, names = inside(lambda x: helper(x), helper=lambda x: power(x, depth[0]))
    depth = [2]
    return World(trace(f), lambda: depth.__setitem__(0, 3), lambda: depth.__setitem__(0, 0))


@hazard("a decorator of the user's counts and can be switched off")
def counting_decorator(trace):
    state = {"on": True, "calls": 0}

    def counted(f):
        @functools.wraps(f)
        def inner(*args, **keywords):
            if not state["on"]:
                return args[0]
            state["calls"] += 1
            return f(*args, **keywords) * state["calls"]

        return inner

    @counted
    def part(x):
        return x + 1

    return World(
        trace(lambda x: part(x)),
        lambda: state.update(on=False),
        lambda: state.update(on=True, calls=0),
        setter(part.__wrapped__, __code__=(lambda x: x - 1).__code__),
        state=lambda: state,
    )


@hazard("a context manager made of a generator is rebound")
def generator_context(trace):
    log = []

    def make(k):
        @contextlib.contextmanager
        def scope():
            log.append(f"in {k}")
            try:
                yield k
            finally:
                log.append(f"out {k}")

        return scope

    def body(x):
        with helper() as k:
            return x * k

    f, names = inside(body, helper=make(2.0))
    return World(trace(f), lambda: names.update(helper=make(3)), state=lambda: log)


@hazard("a method bound to another object; a function made a method")
def bound_elsewhere(trace):
    class Thing:
        def __init__(self, k):
            self.k = k

        def scale(self, x):
            return x * self.k

    a, b = Thing(2.0), Thing(3.0)
    held = {"f": a.scale}
    return World(
        trace(lambda x: held["f"](x)),
        setter(a, k=5.0),
        lambda: held.update(f=b.scale),
        lambda: held.update(f=types.MethodType(lambda self, x: x + self.k, a)),
        setter(a, k=-1),
    )


@hazard("arguments that functions take are taken otherwise")
def signature_changed(trace):
    def part(x, k=1.0, *rest, c=0.0, **more):
        return x * k + c + len(rest) + sum(more.values())

    given = {"args": [2.0], "keywords": {}}
    return World(
        trace(lambda x: part(x, *given["args"], **given["keywords"])),
        lambda: given["args"].append(9),
        lambda: given["keywords"].update(c=1.5),
        lambda: given["keywords"].update(z=4),
        lambda: given["keywords"].update(k=1),
        lambda: given.update(args=(), keywords={"k": 3}),
    )


@hazard("eval and exec of a text that changes")
def evaluated_text(trace):
    text = {"now": "x * 2"}
    return World(
        trace(lambda x: eval(text["now"], {"x": x})),
        lambda: text.update(now="x + 2"),
        lambda: text.update(now="x / y"),
    )


@hazard("a partial holds a list that grows, and the body asks for its length far later", before=45)
def partial_of_growing(trace):
    t = Object(log=[])
    t.count = functools.partial(len, t.log)

    def body(x):
        t.log.append(1)
        return x * (2 if t.count() > 30 else 3)

    return World(trace(body), lambda: t.log.clear(), state=lambda: len(t.log))


@hazard("a number that moves is a keyword of a partial of a built-in function", each=1)
def partial_of_moving(trace):
    rounding = functools.partial(round, ndigits=-12)
    start, mapped = functools.partial(sum, start=1), functools.partial(sum, start=1)
    fs = [
        trace(lambda x: x * (2 if rounding(1234.56) > 1230 else 3)),
        trace(lambda x: x * (2 if start([1, 2]) > 18 else 3)),
        trace(lambda x: x * (2 if [*map(mapped, [[3]])][0] > 15 else 3)),
    ]

    def step():
        rounding.keywords["ndigits"] += 1
        start.keywords["start"] += 1
        mapped.keywords["start"] += 1

    return World(lambda x: [f(x) for f in fs], *[step] * 24)
