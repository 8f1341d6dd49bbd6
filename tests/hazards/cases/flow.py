"""Control flow on data, numbers, shapes and dtypes."""

import math

import numpy as np
from hz import V, attempt, case


@case("06a", "if on a tensor value, return in both branches", pure=True)
def c06a(F, compile):
    def f(x):
        if F.sum(x) > 0:
            return x * 2
        else:
            return x - 10

    g = compile(f)
    for s in (1, 1, 1, -1, -1, 1):
        yield g(V(F, 1 * s, 2 * s, 3 * s))


@case("06b", "conditional expression with `and` on tensor values", pure=True)
def c06b(F, compile):
    def f(x):
        y = x * 2 if F.sum(x) > 0 and F.max(x) < 10 else x - 10
        return y + 1

    g = compile(f)
    for s in (1, 1, 1, -1, 20, 1):
        yield g(V(F, 1 * s, 2 * s, 3 * s))


@case("07a", "while loop with another trip count", pure=True)
def c07a(F, compile):
    def f(x):
        while F.sum(x) < 10:
            x = x * 2
        return x

    g = compile(f)
    for s in (1, 1, 1, 4, 0.25, 1):
        yield g(V(F, s, s, s))


@case("07b", "for loop over the rows of a tensor", pure=True)
def c07b(F, compile):
    def f(x):
        acc = F.sum(x) * 0
        for row in x:
            acc = acc * 2 + F.sum(row)
        return acc

    g = compile(f)
    for n in (3, 3, 3, 5, 2, 3):
        yield g(F.array(np.arange(n * 2).reshape(n, 2)))


@case("08a", "item() used in later arithmetic", pure=True)
def c08a(F, compile):
    def f(x):
        s = F.item(F.sum(x))
        return x * (s + 1.0)

    g = compile(f)
    for i in (1, 1, 1, 2, 3, 1):
        yield g(V(F, i, i + 1, i + 2))


@case("08b", "float(t) through math.floor", pure=True)
def c08b(F, compile):
    def f(x):
        s = math.floor(float(F.sum(x)) / 2)
        return x + s

    g = compile(f)
    for i in (1, 1, 1, 2, 3, 1):
        yield g(V(F, i, i + 1, i + 2))


@case("08c", "int(item) as a slice bound", pure=True)
def c08c(F, compile):
    def f(x, n):
        return F.sum(x[: int(F.item(n))])

    g, x = compile(f), V(F, 1, 2, 4, 8)
    for n in (1, 1, 1, 2, 3, 1):
        yield g(x, F.array([n], "int32"))


@case("10a", "Python float argument differs each call", pure=True)
def c10a(F, compile):
    def f(x, s):
        return x * s + 1

    g, x = compile(f), V(F, 1, 2, 3)
    for i in range(14):
        yield g(x, 0.5 + max(0, i - 2))


@case("10b", "Python int argument is a loop count", pure=True)
def c10b(F, compile):
    def f(x, n):
        for _ in range(n):
            x = x * 2
        return x

    g, x = compile(f), V(F, 1, 2, 3)
    for n in (1, 1, 1, 2, 3, 0, 1):
        yield g(x, n)


@case("11a", "argument 1, True, 1.0: dtype of the product", pure=True)
def c11a(F, compile):
    def f(x, s):
        return x * s

    g, x = compile(f), F.array([1, 2, 3], "int32")
    for s in (1, 1, 1, True, 1.0, 1.0, True, 1):
        yield g(x, s)


@case("11b", "argument 1, True, 1.0: Python branch on the type", pure=True)
def c11b(F, compile):
    def f(x, s):
        if s is True:
            return x + 100
        if isinstance(s, int):
            return x + 10
        return x + 1

    g, x = compile(f), V(F, 1, 2, 3)
    for s in (1, 1, 1, True, 1.0, 1.0, True, 1):
        yield g(x, s)


@case("12a", "scalar argument 0.0, -0.0, NaN", tol=0, pure=True)
def c12a(F, compile):
    def f(x, s):
        return x * s

    g, x = compile(f), V(F, 1, 2, 3)
    for s in (0.0, 0.0, 0.0, -0.0, -0.0, math.nan, math.nan, 0.0):
        yield g(x, s)


@case("12b", "closure scalar 0.0, -0.0, NaN with a Python branch on it", tol=0)
def c12b(F, compile):
    z = 0.0

    def f(x):
        if z == z:
            return x * z
        return x + 7

    g, x = compile(f), V(F, 1, 2, 3)
    for z in (0.0, 0.0, 0.0, -0.0, -0.0, math.nan, math.nan, 0.0):
        yield g(x)


@case("14a", "shape in Python arithmetic", pure=True)
def c14a(F, compile):
    def f(x):
        return F.sum(x) / (x.shape[0] - 1)

    g = compile(f)
    for n in (3, 3, 3, 5, 9, 2, 3):
        yield g(F.array(np.arange(n)))


@case("14b", "reshape by shape arithmetic", pure=True)
def c14b(F, compile):
    def f(x):
        return F.reshape(x, (x.shape[0] * x.shape[1],)) * len(x)

    g = compile(f)
    for n in (2, 2, 2, 3, 4, 1, 2):
        yield g(F.array(np.arange(n * 4).reshape(n, 4)))


@case("15a", "rank changes, Python branch on it", pure=True)
def c15a(F, compile):
    def f(x):
        if len(x.shape) == 1:
            return x * 2
        return x + 1

    g = compile(f)
    for s in ((4,), (4,), (4,), (2, 2), (2, 2), (2, 2, 1), (4,)):
        yield g(F.array(np.arange(4).reshape(s)))


@case("15b", "dtype changes", pure=True)
def c15b(F, compile):
    def f(x):
        return x * 2 + 1

    g = compile(f)
    for d in ("float32", "float32", "float32", "int32", "int32", "float32"):
        yield g(F.array(np.arange(4), d))


@case("39a", "shape mismatch after good calls", pure=True)
def c39a(F, compile):
    def f(x, y):
        return x * 2 + y

    g = compile(f)
    for n in (3, 3, 3, 4, 3):
        yield attempt(F, lambda: g(V(F, 1, 2, 3), F.array(np.arange(n))))


@case("39b", "matmul of int32 and float32 after good calls", pure=True)
def c39b(F, compile):
    def f(x, w):
        return F.matmul(x, w) + 1

    g, w = compile(f), F.array(np.arange(6).reshape(3, 2))
    for d in ("float32", "float32", "float32", "int32", "float32"):
        yield attempt(F, lambda: g(F.array(np.arange(6).reshape(2, 3), d), w))


@case("39c", "constant index out of range after the size shrinks", pure=True)
def c39c(F, compile):
    def f(x):
        return x[3] * 2 + x[-1]

    g = compile(f)
    for n in (5, 5, 5, 4, 3, 5):
        yield attempt(F, lambda: g(F.array(np.arange(n))))
