"""Cells written in the body: through which names, before and after what."""

import numpy as np
from hz import V, effect, exact, told

import frazil as fz


@exact("an argument written, also passed twice, also captured")
def written_argument(F, compile):
    w = V(F, 1, 1)

    def f(a, b):
        a += b
        b *= 2
        w[0] = a[1]
        return a + b + w

    g = compile(f)
    for i in range(4):
        x, y = V(F, i, 1), V(F, 2, i)
        for a, b in ((x, y), (x, x), (w, y), (x, w), (w, w)):
            yield g(a, b)
            yield effect([x, y, w])


@exact("the same tensor twice, written through one of the names", pure=True)
def written_twice(F, compile):
    def f(a, b):
        a += 1
        c = b * 2
        b[0] = 7
        return a + c, b * 1

    g = compile(f)
    for i in range(6):
        x, y = V(F, i, 1), V(F, 2, i)
        for a, b in ((x, y), (x, x), (y, y)):
            yield g(a, b)
            yield x, y


@exact("a view taken before and after its base is written", pure=True)
def views_and_bases(F, compile):
    def f(x):
        before = x[1:]
        t = x.T
        x *= 2
        after = x[1:]
        before += 100
        x[0] = before[0]
        after[...] = t[1:] if t.shape == x.shape else after
        return before, after, t, x[::-1], x.reshape((-1,))

    g = compile(f)
    for i in range(6):
        for x in (F.array(np.arange(4.0) + i), F.array(np.arange(4.0).reshape(2, 2) * i)):
            view = x[:1]
            yield g(x)
            yield x, view


@exact("two views of one base as arguments", pure=True)
def overlapping_arguments(F, compile):
    def f(a, b):
        a += b
        b -= a
        return a * b

    g = compile(f)
    for i in range(6):
        base = F.array(np.arange(6.0) + i)
        a, b, c = base[:4], base[2:], base[1:5]
        yield g(a, b), g(b, c), g(a, a), g(base[:3], base[3:])
        yield base, a, b, c


@exact("an in-place loop over one cell", pure=True)
def in_place_loop(F, compile):
    def f(x, n):
        y = x
        for i in range(n):
            y += x
            x[i % 2] *= 0.5
            y = y if i % 2 else y + 1
        return x, y, x is y

    g = compile(f)
    for n in (3, 3, 3, 4, 2, 3, 0):
        x = V(F, n, 1)
        yield g(x, n)
        yield x


@exact("two cells swap their contents", pure=True)
def swapped(F, compile):
    def f(a, b):
        t = +a
        a[...] = b
        b[...] = t
        return a - b

    g = compile(f)
    for i in range(6):
        a, b = V(F, i, 1), V(F, 5, i)
        yield g(a, b), a, b
        yield g(a, a), a


@exact("a write through a mask, an index tensor and a slice", pure=True)
def kinds_of_writes(F, compile):
    def f(x, i):
        x[x > 2] = 0
        x[i] += 1
        x[::2] *= 3
        x[-1] = x[0]
        x[..., 1:2] = 50
        x[None] += 0.5
        return x.sum()

    g = compile(f)
    for k in range(7):
        x = F.array(np.arange(5.0) - k)
        yield g(x, F.array([k % 5, 0, 0], "int64")), x


@exact("a returned cell is written by the caller", pure=True)
def written_results(F, compile):
    def f(x):
        y = x * 2
        return y, y, x, y[1:], y + 1

    g, kept = compile(f), []
    for i in range(6):
        x = V(F, i, 1, 2)
        y, y2, x2, v, z = g(x)
        y += 10
        v *= 3
        x2 -= 1
        z[0] = 9
        kept.append((y, y2, v, z))
        yield x, y, y2, x2, v, z
    yield kept


@exact("read-only exports kept while the tensor is written", pure=True)
def exports(F, compile):
    def f(x):
        x += 1
        y = x * 2
        y[0] = 5
        return y

    g, kept = compile(f), []
    for i in range(6):
        x = V(F, i, 1)
        kept.append(np.asarray(x))
        y = g(x)
        kept += [np.asarray(x), np.asarray(y)]
        x *= 2
        y -= 1
        yield g(y), kept
    yield kept


@exact("exports made inside, before later writes")
def exports_inside(F, compile):
    kept = []

    def f(x):
        y = x * 2
        kept.append(np.asarray(y))
        y += 1
        kept.append(np.from_dlpack(y))
        y *= x
        return y

    g = compile(f)
    for i in range(6):
        yield g(V(F, i, 1)), kept


@exact("memory borrowed from NumPy changes between calls", pure=True)
def borrowed_memory(F, compile):
    def f(x, y):
        return x * 2 + y, x.sum()

    memory = np.arange(4, dtype=np.float32)
    x = fz.asarray(memory, copy=False)
    g, y = compile(f), V(F, 1, 2, 3, 4)
    for i in range(7):
        yield g(x, y), g(x, x)
        memory[i % 4] = 10 * i


@exact("memory borrowed from NumPy changes during a call")
def borrowed_memory_during(F, compile):
    memory = np.arange(4, dtype=np.float32)
    x = fz.asarray(memory, copy=False)

    def f(k):
        y = x * k
        memory[0] += 1
        z = x + y
        memory[1:] *= 2
        w = x[1:] - z[:-1]
        memory[...] -= 3
        return y, z, w, x * 1

    g = compile(f)
    for i in range(6):
        yield g(float(i)), g(V(F, 1, 2, 3, i))
        yield effect(memory)


@exact("a write that fails leaves what it should")
def failed_write(F, compile):
    def f(x, y):
        x += 1
        x[0] = 3
        x += y
        x *= 2
        return x

    g = compile(f)
    for n in (2, 2, 2, 3, 2, 4, 2):
        x = V(F, 1, 2)
        yield told(F, lambda n=n, x=x: g(x, F.array(np.arange(n))))
        yield effect(x)


@exact("a cell is written while a generator over it is half-way")
def written_while_iterated(F, compile):
    def f(x):
        out = []
        for row in x:
            x += 1
            out.append(row * x.sum())
        return out, x

    g = compile(f)
    for n in (3, 3, 3, 2, 4, 3):
        yield g(F.array(np.arange(n * 2.0).reshape(n, 2)))


@exact("an operator in place that makes a new object or changes a dtype")
def in_place_dtypes(F, compile):
    def f(x, s):
        y = x
        y += s
        y //= 2
        y **= 2
        return x, y, x is y

    g = compile(f)
    for d in ("float32", "int32", "uint8", "int8", "float16"):
        for s in (1, 2.5, True, 300):
            for _ in range(3):
                x = F.array([1, 2, 3], d)
                yield told(F, lambda x=x, s=s: g(x, s)), x
