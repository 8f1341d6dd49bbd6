"""The process around a body: time, files, threads, signals, tracing hooks, collection, contexts."""

import contextvars
import gc
import io
import os
import sys
import threading
import time
import warnings

import numpy as np
from hz import V, capture, effect, exact, snapshot, told

import frazil as fz


@exact("printing, writing files and environment variables")
def input_output(F, compile):
    log = io.StringIO()
    os.environ["FZ_TEST_SCALE"] = "2"

    def f(x):
        print("in f", x.shape)
        y = x * float(os.environ["FZ_TEST_SCALE"])
        log.write(f"{y.tolist()};")
        os.environ["FZ_TEST_COUNT"] = str(len(log.getvalue()))
        return y + log.tell()

    g = compile(f)
    for k in (2, 2, 2, 3, 4, 2):
        os.environ["FZ_TEST_SCALE"] = str(k)
        with capture() as printed:
            y = g(V(F, 1, k))
        yield y
        yield effect([printed.text, log.getvalue(), os.environ["FZ_TEST_COUNT"]])


@exact("a file is read half-way by each call")
def iterators_outside(F, compile):
    numbers = iter(range(100))
    lines = io.StringIO("1\n2\n3\n4\n5\n6\n7\n8\n")

    def f(x):
        y = x * next(numbers)
        return y + float(lines.readline())

    g = compile(f)
    for _ in range(8):
        yield g(V(F, 1, 2))


@exact("sys.settrace and sys.setprofile see every line of every call")
def tracing_hooks(F, compile):
    seen = []

    def f(x):
        y = x + 1
        z = y * 2
        return z

    def hook(frame, event, arg):
        if frame.f_code is f.__code__:
            seen.append((event, frame.f_lineno - f.__code__.co_firstlineno))
            if event == "line" and "y" in frame.f_locals:
                seen.append(frame.f_locals["y"].tolist())
        return hook

    g = compile(f)
    for i in range(6):
        old = sys.gettrace()
        sys.settrace(hook if i > 1 else None)
        try:
            y = g(V(F, i, 1))
        finally:
            sys.settrace(old)
        yield y
        yield effect(list(seen))


@exact("garbage collection in the middle, with cycles that hold tensors")
def collection_inside(F, compile):
    class Node:
        pass

    died = []

    def f(x):
        a, b = Node(), Node()
        a.other, b.other = b, a
        a.t, b.t = x + 1, x * 2
        y = a.t * b.t
        import weakref

        ref = weakref.finalize(a, died.append, len(died))
        del a, b
        gc.collect()
        return y - 1, ref.alive

    g = compile(f)
    for i in range(6):
        yield g(V(F, i, 1))
        yield effect(died)


@exact("threads call one function with changing numbers, shapes, outcomes", pure=True)
def threads_one_function(F, compile):
    def f(x, k):
        y = x * k + 1
        return y * 2 if bool(y.sum() > 10) else fz.exp(y)

    g, results = compile(f), {}

    def work(n):
        results[n] = [snapshot(F, g(V(F, *range(i % 3 + 1)), (i + n) % 5)) for i in range(40)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    yield [results[n] for n in range(6)]


@exact("threads with a context each: no_grad in one, gradients in another")
def threads_with_contexts(F, compile):
    w = V(F, 1, 2).requires_grad_()

    def f(x):
        y = w * x
        return y, y.requires_grad

    g, results = compile(f), {}

    def work(off):
        out = []
        for i in range(20):
            if off:
                with fz.no_grad():
                    out.append(g(V(F, i, 1)))
            else:
                out.append(g(V(F, i, 1)))
        results[off] = [(snapshot(F, y.detach()), needs) for y, needs in out]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    yield results[0], results[1]


@exact("modes, precision and no_grad toggled inside the body and around the call")
def contexts_inside(F, compile):
    x, w = F.array(np.arange(12.0).reshape(3, 4) / 7), F.array(np.ones((4, 2)) / 3)
    inside = 0

    def f(x):
        y = x * 2
        with fz.precision("blas" if inside == 1 else "default"):
            z = y @ w
        if inside == 2:
            with fz.mode("eager"):
                z = z + 1
        if inside == 3:
            with fz.no_grad():
                z = z * 2
        return z @ w.T

    g = compile(f)
    for inside in (0, 0, 0, 1, 1, 0, 2, 3, 2, 0, 1):
        yield g(x)
        with fz.precision("blas"):
            yield g(x)
        with fz.mode("eager"), fz.no_grad():
            yield g(x)


@exact("a context variable and a thread-local decide")
def hidden_flags(F, compile):
    variable, local = contextvars.ContextVar("k", default=2.0), threading.local()
    local.k = 1

    def f(x):
        return x * variable.get() + local.k

    g = compile(f)
    for k in (2.0, 2.0, 2.0, 3.0, 2.0):
        token = variable.set(k)
        local.k = k + 1
        yield g(V(F, 1, k))
        yield contextvars.Context().run(g, V(F, 1, k))
        variable.reset(token)


@exact("the clock, a counter of ids, and identity of objects")
def clock_and_ids(F, compile):
    def f(x):
        t0 = time.monotonic()
        y = x + 1
        z = y + 1
        return z, time.monotonic() >= t0, id(y) != id(z), id(x) == id(x)

    g = compile(f)
    for i in range(5):
        yield g(V(F, i, 1))


@exact("modules imported, code evaluated and functions defined inside")
def code_inside(F, compile):
    def f(x, source):
        import math as m

        y = x * m.floor(2.5)
        scope = {"y": y, "fz": fz}
        exec(f"def g(t):\n    return {source}\n", scope)
        return scope["g"](y) + eval("y * 2", {}, scope)

    g = compile(f)
    for source in ("t + 1",) * 3 + ("t * y", "fz.exp(t)", "t + 1"):
        yield g(V(F, 1, 2), source)


@exact("the code object of the function is replaced")
def replaced_code(F, compile):
    def f(x):
        return x * 2

    def other(x):
        return x + 50

    g, first = compile(f), f.__code__
    for code in (first, first, first, other.__code__, first):
        f.__code__ = code
        yield g(V(F, 1, 2))


@exact("an object in place of a tensor, and a subclass of a number")
def strange_operands(F, compile):
    class Strange:
        def __radd__(self, other):
            return ("radd", other.tolist())

        def __rmul__(self, other):
            return other + 5

        def __array__(self, dtype=None, copy=None):
            return np.asarray([7.0, 8.0], dtype)

    class MyFloat(float):
        pass

    class MyInt(int):
        def __index__(self):
            return 1

    def f(x, s):
        y = x * 2
        return y + s, y * s

    g = compile(f)
    for s in (1, 1, 1, MyFloat(2.5), MyInt(3), Strange(), "s", None, [1, 2], np.ones(2), 1j) * 2:
        yield told(F, lambda s=s: g(V(F, 1, 2), s))


@exact("warnings filters, the float format and NumPy's error state change nothing")
def global_settings(F, compile):
    def f(x):
        y = x / 0
        return y, repr(y), np.asarray(y) / 3

    g = compile(f)
    for i in range(6):
        with np.errstate(all="raise" if i % 2 else "ignore"), np.printoptions(precision=2 + i):
            yield told(F, lambda i=i: g(V(F, 1, i)))


@exact("the number of threads and caches cleared between and during calls")
def settings_between(F, compile):
    def f(x, n):
        y = x * 2
        if n == 1 and hasattr(g, "clear"):
            g.clear()
        z = y.sum(axis=0) + y
        if n == 2:
            gc.collect()
        return z

    g = compile(f)
    before = fz.get_num_threads()
    for n in (0, 0, 0, 1, 2, 0, 1, 1, 0):
        fz.set_num_threads(1 + n)
        yield g(F.array(np.arange(60.0).reshape(20, 3) + n), n)
    fz.set_num_threads(before)


@exact("a process forked after use")
def forked(F, compile):
    g = compile(lambda x: fz.exp(x) * 2 + x.sum())
    for i in range(4):
        yield g(V(F, i, 1))
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        text = repr([g(V(F, i, 1)).tolist() for i in range(4)]) + repr(g(V(F, 1)).tolist())
        os.write(write, text.encode())
        os._exit(0)
    os.waitpid(pid, 0)
    yield os.read(read, 10000)
    yield g(V(F, 5, 1))
