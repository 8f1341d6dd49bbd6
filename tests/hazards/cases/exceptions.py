"""Exceptions: from ops, from user code between them, and what is left behind."""

import contextlib
import math
import signal
import warnings

import numpy as np
from hz import V, effect, exact, told

import frazil as fz


@exact("user code raises between ops")
def between_ops(F, compile):
    log, fail = [], 0

    def f(x):
        y = x * 2
        log.append(y)
        if fail == 1:
            raise KeyError("one")
        z = y + 1
        log.append(z.sum())
        if fail == 2:
            try:
                raise ValueError("two")
            except ValueError as e:
                raise RuntimeError("from two") from e
        x += z
        if fail == 3:
            return [][1]
        return x * z

    g = compile(f)
    for fail in (0, 0, 0, 1, 2, 3, 0, 3, 2, 1, 0):
        x = V(F, fail, 1)
        yield told(F, lambda x=x: g(x))
        yield effect([x, log])


@exact("the third op after a deferred stretch fails on shapes, dtypes, attributes, data")
def third_op(F, compile):
    def f(x, y, i, axis):
        a = x * 2
        b = a + 1
        c = b + y
        d = fz.take(c, i, axis=0)
        return fz.sum(d, axis=axis) @ fz.ones((2,)) if axis == 9 else fz.sum(d, axis=axis)

    g = compile(f)
    good = (V(F, 1, 2), V(F, 3, 4), F.array([1, 0], "int64"), 0)
    bad = [
        (V(F, 1, 2), V(F, 1, 2, 3), good[2], 0),
        (*good[:2], F.array([5], "int64"), 0),
        (*good[:2], F.array([0.5]), 0),
        (*good[:3], 3),
        (*good[:3], "x"),
        (V(F, 1, 2), None, good[2], 0),
        (V(F, 1, 2), "a", good[2], 0),
    ]
    for args in [good] * 3 + bad + [good] + bad:
        yield told(F, lambda args=args: g(*args))


@exact("an exception caught inside goes on with what was computed")
def caught_inside(F, compile):
    def f(x, y):
        z = x * 2
        try:
            z = z + 1
            w = z + y
            w = w * 3
        except (ValueError, TypeError) as e:
            w = z - 1
            return w, str(e), z
        finally:
            z += 5
        return w, "fine", z

    g = compile(f)
    for n in (2, 2, 2, 3, 3, 2, 4, 1):
        yield g(V(F, 1, n), F.array(np.arange(n)))


@exact("a nested traced function raises, sometimes caught")
def nested_raises(F, compile):
    log = []

    def inner(x, n):
        y = x + 1
        log.append(n)
        if n < 0:
            raise ValueError(f"n is {n}")
        return y[n] * 2

    inner = compile(inner)

    def outer(x, n, catch):
        y = x * 3
        try:
            z = inner(y, n)
        except IndexError as e:
            if not catch:
                raise
            z = y.sum() + len(str(e))
        return z + y

    g = compile(outer)
    for n, catch in ((0, True),) * 3 + ((5, True), (5, False), (-1, True), (1, False), (5, True)):
        yield told(F, lambda n=n, c=catch: g(V(F, 1, 2), n, c))
        yield effect(log)


@exact("a generator that the body consumes raises, or ends early")
def generator_raises(F, compile):
    log = []

    def rows(x, n):
        try:
            for i in range(4):
                y = x * i
                if i == n:
                    raise LookupError(f"row {i}")
                yield y + 1
        finally:
            log.append(("closed", i))

    def f(x, n, stop):
        total = x * 0
        for i, r in enumerate(rows(x + 1, n)):
            total = total + r
            if i == stop:
                break
        return total

    g = compile(f)
    for n, stop in ((9, 9),) * 3 + ((2, 9), (9, 1), (2, 1), (0, 0), (9, 9)):
        yield told(F, lambda n=n, s=stop: g(V(F, 1, 2), n, s))
        yield effect(log)


@exact("the exit of a context manager raises or swallows")
def contexts_raise(F, compile):
    log = []

    class Manager:
        def __init__(self, what, t):
            self.what, self.t = what, t

        def __enter__(self):
            return self.t + 1

        def __exit__(self, kind, value, trace):
            log.append((self.t * 2, kind.__name__ if kind else None))
            if self.what == "raise":
                raise OSError("exit")
            return self.what == "swallow"

    def f(x, what, bad):
        y = x * 2
        with Manager(what, y) as z, contextlib.suppress(ZeroDivisionError):
            y = z * 3
            if bad:
                y = y + fz.ones((7,))
        return y + 1

    g = compile(f)
    cases = [("pass", 0)] * 3 + [("raise", 0), ("swallow", 1), ("pass", 1), ("raise", 1)]
    for what, bad in cases * 2:
        yield told(F, lambda w=what, b=bad: g(V(F, 1, 2), w, b))
        yield effect(log)


@exact("__del__ raises in the middle (ignored by Python)")
def del_raises(F, compile):
    class Bad:
        def __init__(self, t):
            self.t = t

        def __del__(self):
            raise ValueError("ignored")

    def f(x):
        b = Bad(x + 1)
        y = b.t * 2
        del b
        return y - 1

    g = compile(f)
    import sys

    old, sys.unraisablehook = sys.unraisablehook, lambda u: None
    try:
        for i in range(5):
            yield g(V(F, i, 1))
    finally:
        sys.unraisablehook = old


@exact("sys.exit, KeyboardInterrupt and GeneratorExit from the body")
def no_exceptions(F, compile):
    def f(x, kind):
        y = x * 2
        x += 1
        if kind is not None:
            raise kind("out")
        return y + x

    g = compile(f)
    for kind in (None, None, None, SystemExit, KeyboardInterrupt, None, GeneratorExit, SystemExit):
        x = V(F, 1, 2)
        yield told(F, lambda x=x, k=kind: g(x, k)), x


@exact("a signal handler raises KeyboardInterrupt in the body")
def interrupted(F, compile):
    fire = False

    def f(x):
        y = x * 2 + 1
        if fire:
            signal.raise_signal(signal.SIGUSR1)
        return y * y

    def handler(number, frame):
        raise KeyboardInterrupt("signal")

    g, old = compile(f), signal.signal(signal.SIGUSR1, handler)
    try:
        for fire in (False, False, False, True, False, True, False):
            yield told(F, lambda: g(V(F, 1, 2)))
    finally:
        signal.signal(signal.SIGUSR1, old)


@exact("unbounded recursion, then a good call")
def recursion_limit(F, compile):
    def f(x, n):
        y = x + 1
        return f(y, n - 1) if n else y * 2

    f = compile(f)
    for n in (3, 3, 10**6, 3, 20, 3):
        r = told(F, lambda n=n: f(V(F, 1, 2), n))
        yield r[0] if n > 100 else r


@exact("warnings are given in every call, and may be errors")
def warned(F, compile):
    def f(x):
        y = x * 2
        warnings.warn("careful", UserWarning, stacklevel=1)
        return y + 1

    g = compile(f)
    for action in ("always", "always", "always", "error", "always", "error"):
        with warnings.catch_warnings(record=True) as got:
            warnings.simplefilter(action)
            yield told(F, lambda: g(V(F, 1, 2)))
        yield effect([str(w.message) for w in got])


@exact("math errors of Python on values read")
def math_errors(F, compile):
    def f(x):
        s = float(x.sum())
        return x * math.sqrt(s) + 1 / s + math.log(s)

    g = compile(f)
    for v in (1, 1, 1, 0, -3, 2, 1):
        yield told(F, lambda v=v: g(V(F, v, 0)))
    for v in (2, math.nan, math.inf, 2):
        yield told(F, lambda v=v: compile(lambda t: t * int(t.sum()))(V(F, v, 0)))


@exact("an allocation that cannot succeed")
def too_large(F, compile):
    def f(x, n):
        y = x * 2
        z = fz.broadcast_to(y, (n, 2)) + 1
        return z.sum(axis=0) if n < 100 else fz.zeros((n, 2)) + z

    g = compile(f)
    for n in (3, 3, 3, 2**45, 3):
        r = told(F, lambda n=n: g(V(F, 1, 2), n))
        yield r[:1] if n > 100 else r


@exact("the wrong number of arguments", pure=True)
def wrong_calls(F, compile):
    def f(x, y=None, *, k=1):
        return x * k

    g, x = compile(f), V(F, 1, 2)
    for _ in range(3):
        yield g(x)
        for args, keywords in (((), {}), ((x, x, x), {}), ((x,), {"q": 1}), ((x,), {"x": x})):
            yield told(F, lambda a=args, k=keywords: g(*a, **k))
        yield told(F, lambda: g(None)), told(F, lambda: g("ab")), told(F, lambda: g([1], k=2))
