"""Values and sizes: empty, 0-d, 16-bit, wide, many; random numbers."""

import math

import numpy as np
from hz import V, effect, exact, told

import frazil as fz


@exact("empty tensors, 0-d tensors and axes of length one", pure=True)
def small_shapes(F, compile):
    def f(x, y):
        z = x * y + x
        return z, z.sum(), z.reshape((-1,)), fz.concat([z.reshape((-1,))] * 2), z.max(initial=0)

    def h(x, y):
        z = x * y + x
        return z, z.sum(), z.reshape((-1,)), fz.concat([z.reshape((-1,))] * 2), z.shape, z.any()

    g, e = compile(h), compile(f)
    shapes = [(), (0,), (1,), (3,), (0, 3), (3, 0), (1, 3), (3, 1), (2, 0, 3), (3, 3)]
    for _ in range(2):
        for s in shapes:
            for t in ((), (1,), (3,)):
                x, y = F.array(np.ones(s)), F.array(np.full(t, 2.0))
                yield told(F, lambda x=x, y=y: g(x, y)), told(F, lambda x=x, y=y: e(x, y))


@exact("every dtype against every dtype", pure=True)
def all_dtypes(F, compile):
    def f(x, y):
        z = x + y
        return z * x, z // 2, fz.sum(z), z == y, -z if z.dtype != fz.bool else z

    g = compile(f)
    names = (
        "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64"
    )
    for a in names.split():
        for b in names.split():
            x, y = (fz.asarray([0, 1, 3]).astype(d) for d in (a, b))
            for _ in range(3):
                yield told(F, lambda x=x, y=y: tuple(str(t.tolist()) for t in g(x, y)))


@exact("16-bit floats round after every op", pure=True)
def half_floats(F, compile):
    def f(x, k):
        y = x * k + 1
        z = y * y - x / 3
        return z, z.sum(), z.mean(), fz.exp(z), (z * 1000).astype("float32")

    g = compile(f)
    for d in ("float16", "bfloat16"):
        x = fz.astype(F.array(np.linspace(-3, 9, 300)), getattr(fz, d))
        for k in (1.1, 1.1, 1.1, 70000.0, 1e-8, 1, math.nan):
            yield [str(t.tolist()) for t in g(x, k)]


@exact("a loop of ten thousand ops, and one of changing length")
def long_loops(F, compile):
    def f(x, n):
        for i in range(n):
            x = x * 0.99 + 0.5 if i % 3 else x - 1
        return x

    g = compile(f)
    for n in (5000, 5000, 5000, 5001, 10, 4999):
        yield g(V(F, 1, n), n)


@exact("a thousand tensors in and out", pure=True)
def many_tensors(F, compile):
    g = compile(lambda xs: [x + i for i, x in enumerate(xs)] + [sum(xs[1:], xs[0])])
    for n in (1000, 1000, 1000, 999, 3, 1000):
        yield g([V(F, i, n) for i in range(n)])


@exact("data-dependent shapes: nonzero, masks, unique counts, repeat", pure=True)
def data_dependent(F, compile):
    def f(x):
        mask = x > 1
        y = x[mask] * 2
        (where,) = fz.nonzero(mask)
        z = fz.take(x, where, axis=0) + y
        n = int(mask.sum())
        return y, z, where, fz.zeros((n, 2)) + (y.reshape((n, 1)) if n else 0), x[:n], len(y)

    g = compile(f)
    for i in (0, 0, 0, 1, 2, 3, 9, -9, 0):
        yield g(F.array(np.arange(5.0) - 2 + i))


@exact("iteration, unpacking, in, reversed, enumerate, min and max over a tensor", pure=True)
def iteration(F, compile):
    def f(x):
        y = x * 2
        a, *rest = y
        out = [a, sum(rest, a), max(y[:, 0]), 3.0 in y, len(y)]
        for i, row in enumerate(reversed(list(y))):
            out.append(row * i)
        return out, dict(zip("abc", y, strict=False)), [[float(v) for v in r] for r in y]

    g = compile(f)
    for n in (3, 3, 3, 2, 4, 1, 3):
        yield g(F.array(np.arange(n * 2.0).reshape(n, 2)))


@exact("tensors as indices, shapes, counts, conditions", pure=True)
def tensors_as_numbers(F, compile):
    def f(x, n):
        y = x * 2
        out = [y[n], y[:n], [1, 2, 3][n], list(range(n)), fz.zeros((int(n), 2)), "ab" * int(n)]
        out.append("yes" if n else "no")
        out.append(y[(n + 1) % 3] if not n > 1 else divmod(int(n), 2))
        return out, float(n) + 1, f"{int(n):03d}", round(float(y[0]))

    g = compile(f)
    for n in (1, 1, 1, 2, 0, 1, 2):
        yield g(V(F, 1, 2, n), F.array(n, "int64"))


@exact("random numbers with a fallback half-way, a seed inside and two generators")
def random_streams(F, compile):
    flag, own = 0, fz.random.Generator(3)

    def f(x):
        y = x + fz.random.normal(x.shape)
        if flag == 1:
            y = y * own.uniform(x.shape)
        if flag == 2 and bool(y.sum() > 0):
            fz.random.seed(11)
        if flag == 3:
            raise ValueError("half-way")
        z = fz.random.uniform((2,)) * y + own.normal((2,))
        return z, fz.random.integers(0, 9, (3,))

    g = compile(f)
    fz.random.seed(1)
    for flag in (0, 0, 0, 1, 2, 3, 0, 2, 2, 1, 3, 0):
        yield told(F, lambda: g(V(F, flag, 1)))
        yield effect([fz.random.uniform((2,)), own.uniform((1,))])


@exact("random numbers drawn by the default generator", pure=True)
def random_draws(F, compile):
    def f(x, n):
        y = x
        for _ in range(n):
            y = y + fz.random.normal(x.shape) * fz.random.uniform((2,))
        return y

    g = compile(f)
    fz.random.seed(4)
    for n in (2, 2, 2, 2, 3, 0, 1, 2, 3):
        yield g(V(F, n, 1), n), fz.random.uniform((1,))
        if n == 3:
            fz.random.seed(4)


@exact("special values through branches, comparisons and sorting of results", pure=True)
def special_values(F, compile):
    def f(x, s):
        y = fz.where(x == x, x * s, -x)
        up, down = fz.maximum(y, s), fz.minimum(x, -s)
        return y, up, down, bool((y == s).all()), 1 / y, fz.sum(y), y.max(), fz.argmax(y)

    g = compile(f)
    values = (0.0, -0.0, 1.0, math.inf, -math.inf, math.nan, 5e-324, 1e-45, 3.4e38)
    for s in values * 2:
        yield g(V(F, 0.0, -0.0, math.nan, math.inf, 1e-40), s)


@exact("layouts: transposed, reversed, strided, broadcast, the same shape", pure=True)
def layouts(F, compile):
    def f(x, y):
        z = x * 2 + y
        return z, z.sum(axis=0), z.T @ x, z.reshape((-1,)), z[::-1, 1:]

    g = compile(f)
    a = F.array(np.arange(36.0).reshape(6, 6) / 5)
    views = [a[:3, :3], a[::2, ::2], a.T[:3, :3], a[2::-1, 2::-1], a[3:, 3:]]
    views += [fz.broadcast_to(a[0, :3], (3, 3)), fz.broadcast_to(a[1, 1], (3, 3)), a[:3, :3] + 0]
    for x in views:
        for y in views:
            yield g(x, y)
