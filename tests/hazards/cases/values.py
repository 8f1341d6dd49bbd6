"""Aliases, results, gradients, randomness, threads and bits."""

import gc
import random
import threading
import time

import numpy as np
from hz import V, case, snapshot


@case("17a", "f(x, y), later the same tensor twice", pure=True)
def c17a(F, compile):
    def f(a, b):
        return a * 2 + b

    g, x, y = compile(f), V(F, 1, 2, 3), V(F, 10, 20, 30)
    for a, b in ((x, y), (x, y), (x, y), (x, x), (y, y), (y, x)):
        yield g(a, b)


@case("17b", "same tensor twice first, later two tensors", pure=True)
def c17b(F, compile):
    def f(a, b):
        return a * 2 + b

    g, x, y = compile(f), V(F, 1, 2, 3), V(F, 10, 20, 30)
    for a, b in ((x, x), (x, x), (x, x), (x, y), (y, x), (x, x)):
        yield g(a, b)


@case("20a", "returns its input and a slice of it", pure=True)
def c20a(F, compile):
    def f(x):
        return x, x[1:], x + 1

    g = compile(f)
    for i in range(5):
        yield g(V(F, i, i + 1, i + 2))


@case("20b", "the returned input is then changed in place", pure=True)
def c20b(F, compile):
    def f(x):
        return x

    g = compile(f)
    for i in range(5):
        x = F.mutable([i, i + 1.0, i + 2.0])
        y = g(x)
        F.inplace_add(y, 10.0)
        yield x * 1
        yield y * 1


@case("20c", "the returned view of the input is then changed in place", pure=True)
def c20c(F, compile):
    def f(x):
        return x[1:], x * 2

    g = compile(f)
    for i in range(5):
        x = F.mutable([i, i + 1.0, i + 2.0])
        y = g(x)[0]
        F.inplace_add(y, 10.0)
        yield x * 1
        yield y * 1


@case("24a", "gradient through the compiled function", pure=True)
def c24a(F, compile):
    def f(x):
        return F.sum(x * x * x)

    d = F.grad(compile(f))
    for i in range(5):
        yield d(V(F, i, i + 1, i + 2))


@case("24b", "second derivative through the compiled function", pure=True)
def c24b(F, compile):
    def f(x):
        return F.sum(x * x * x)

    d = F.grad_higher(compile(f))

    def total(x):
        return F.sum(d(x))

    dd = F.grad(total)
    for i in range(5):
        yield dd(V(F, i, i + 1, i + 2))


@case("27a", "random.random() inside")
def c27a(F, compile):
    random.seed(0)

    def f(x):
        return x + random.random()

    g, x = compile(f), V(F, 0, 0, 0)
    random.seed(0)
    for _ in range(6):
        yield g(x)


@case("27b", "time.perf_counter() inside")
def c27b(F, compile):
    t0 = time.perf_counter()

    def f(x):
        return x + (time.perf_counter() - t0)

    g, x = compile(f), V(F, 0, 0)
    outs = []
    for _ in range(6):
        time.sleep(0.01)
        outs.append(snapshot(F, g(x))[0])
    yield [bool(b > a) for a, b in zip(outs, outs[1:])]


@case("27c", "np.random inside")
def c27c(F, compile):
    def f(x):
        return x + float(np.random.rand())

    g, x = compile(f), V(F, 0, 0, 0)
    np.random.seed(0)
    for _ in range(6):
        yield g(x)


def _threads(F, g, shapes):
    outs, errs, bar = {}, [], threading.Barrier(len(shapes))

    def work(k):
        try:
            bar.wait(200)
            outs[k] = [snapshot(F, g(F.array(np.arange(shapes[k]) + i))) for i in range(10)]
        except Exception as e:
            errs.append(e)

    ts = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(len(shapes))]
    for t in ts:
        t.start()
    for t in ts:
        t.join(50)
    if errs:
        raise errs[0]
    return [outs[k] for k in range(len(shapes))]


@case("32a", "four threads, first calls at the same time, one shape", pure=True)
def c32a(F, compile):
    def f(x):
        return F.sum(x * 2 + 1) + x

    yield _threads(F, compile(f), (5, 5, 5, 5))


@case("32b", "four threads, each with its own shape", pure=True)
def c32b(F, compile):
    def f(x):
        return F.sum(x * 2 + 1) + x

    yield _threads(F, compile(f), (3, 4, 5, 6))


def _rand(F, *shape, seed=0, scale=1.0):
    return F.array(np.random.RandomState(seed).randn(*shape).astype(np.float32) * scale)


@case("40a", "multiply-add keeps its bits (no FMA contraction)", tol=0, pure=True)
def c40a(F, compile):
    def f(x, y, z):
        return x * y + z

    g = compile(f)
    x, y, z = (_rand(F, 1000, seed=s) for s in (1, 2, 3))
    for _ in range(3):
        yield g(x, y, z)


@case("40b", "log(exp(100)) stays inf", tol=0, pure=True)
def c40b(F, compile):
    def f(x):
        return F.log(F.exp(x))

    g, x = compile(f), V(F, 1, 10, 80, 100)
    for _ in range(3):
        yield F.where(g(x) > 1000, x, x * 0)


@case("40c", "(x + big) - big and x / 3 * 3 keep their bits", tol=0, pure=True)
def c40c(F, compile):
    def f(x):
        return (x + 1e8) - 1e8 + x / 3 * 3

    g, x = compile(f), _rand(F, 1000, seed=4, scale=100.0)
    for _ in range(3):
        yield g(x)


@case("40d", "sum of 10 000 numbers keeps its bits", tol=0, pure=True)
def c40d(F, compile):
    def f(x):
        return F.sum(x * 1.5)

    g, x = compile(f), _rand(F, 10000, seed=5)
    for _ in range(3):
        yield g(x)


@case("40e", "tanh(exp(sin x)) keeps its bits", tol=0, pure=True)
def c40e(F, compile):
    def f(x):
        return F.tanh(F.exp(F.sin(x)) * 0.5)

    g, x = compile(f), _rand(F, 1000, seed=6)
    for _ in range(3):
        yield g(x)


@case("43", "2000 unrolled iterations", pure=True)
def c43(F, compile):
    def f(x):
        for i in range(2000):
            x = x * 0.5 + 1
        return x

    g = compile(f)
    for i in range(3):
        yield g(V(F, i, i + 1, i + 2))


@case("44a", "output fed back as input, all kept", pure=True)
def c44a(F, compile):
    def f(x):
        return x * 2 + 1

    g = compile(f)
    xs = [V(F, 1, 2, 3)]
    for _ in range(6):
        xs.append(g(xs[-1]))
    yield xs


@case("44b", "donated input (where the framework has donation) still referenced")
def c44b(F, compile):
    def f(x):
        return x * 2 + 1

    g = compile(f, donate=True)
    for i in range(5):
        x = V(F, i, i + 1, i + 2) + 0
        keep = x
        y = g(x)
        yield y
        yield keep * 1


@case("44c", "view of an output is kept while the output dies", pure=True)
def c44c(F, compile):
    def f(x):
        return x * 2 + 1

    g, keep = compile(f), []
    for i in range(6):
        y = g(F.array(np.arange(8) + i))
        keep.append(y[2:5])
        del y
        gc.collect()
    yield keep
