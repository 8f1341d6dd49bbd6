"""All collectives, eager and traced, against what one process computes of all ranks' arrays."""

import itertools

import numpy as np
from saying import say

import frazil as fz

d = fz.distributed
d.init()
ME, N = d.rank(), d.size()

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip
SIZES = [(0,), (1,), (), (6, 5), (N * 250,), (N * 100_001,)]
failures = []
checked = 0


def part(rank, shape, dtype, salt=0):
    """A rank's array, which every rank can make."""
    random = np.random.default_rng(1000 * salt + rank)
    values = random.integers(0, 100, shape) if "int" in dtype else random.normal(size=shape) * 3
    x = fz.asarray(np.asarray(values), dtype="float64" if "int" not in dtype else "int64")
    if dtype == "bool":
        return x > 0
    if dtype.startswith("complex"):
        y = fz.asarray(np.asarray(random.normal(size=shape)), dtype="float64")
        return fz.complex(x, y).astype(dtype)
    return x.astype(dtype)


def bits(x):
    return np.asarray(x.astype("float32") if x.dtype == fz.bfloat16 else x).tobytes()


def check(what, got, want):
    global checked
    checked += 1
    same = got.shape == want.shape and got.dtype == want.dtype and bits(got) == bits(want)
    if not same and len(failures) < 20:
        failures.append(f"{what}: got {got!r}, want {want!r}"[:400])


def folded(parts, op):
    f = {"sum": fz.add, "prod": fz.multiply, "min": fz.minimum, "max": fz.maximum}[op]
    out = parts[0]
    for x in parts[1:]:
        out = f(out, x)
    return out


def run(what, fn, x, want):
    """Eager, and traced often enough to be recorded, replayed, and skipped if it ever were."""
    check(f"eager {what}", fn(x), want)
    traced = fz.trace(lambda t: fn(t * 1 if t.dtype != fz.bool else t) if t.size else fn(t))
    for i in range(3):
        check(f"traced {what} {i}", traced(x), want)


for dtype, shape in itertools.product(DTYPES, SIZES):
    large = shape and shape[0] > 10_000
    if large and dtype not in ("float32", "bfloat16", "complex128"):
        continue
    if shape in ((0,), (1,), (6, 5)) and dtype not in ("bool", "int32", "float32", "complex64"):
        continue
    parts = [part(r, shape, dtype) for r in range(N)]
    ops = ["sum"] if large else ["sum", "prod"]
    ops += [] if large or dtype.startswith("complex") else ["min", "max"]
    for op in ops:
        run(f"all_reduce {op} {dtype}{shape}", lambda t, op=op: d.all_reduce(t, op), parts[ME],
            folded(parts, op))  # fmt: skip
    if shape and dtype not in ("int8", "uint16"):
        run(f"all_gather {dtype}{shape}", d.all_gather, parts[ME], fz.concat(parts))
        rows = [fz.concat([p] * N) for p in parts] if shape[0] < N else parts
        rows = [p[: p.shape[0] // N * N] for p in rows]
        count = rows[0].shape[0] // N
        mine = slice(ME * count, (ME + 1) * count)
        run(f"all_to_all {dtype}{shape}", d.all_to_all, rows[ME],
            fz.concat([p[mine] for p in rows]))  # fmt: skip
        run(f"reduce_scatter {dtype}{shape}", d.reduce_scatter, rows[ME],
            folded(rows, "sum")[mine])  # fmt: skip
    run(f"broadcast {dtype}{shape}", lambda t: d.broadcast(t, N - 1), parts[ME], parts[N - 1])

mean = d.all_reduce(part(ME, (7,), "float32"), "mean")
check("mean", mean, folded([part(r, (7,), "float32") for r in range(N)], "sum") / N)
check("mean of integers", d.all_reduce(fz.asarray([ME])[0:1], "mean"),
      fz.asarray([sum(range(N))]) / N)  # fmt: skip
across = part(ME, (40, 30), "float32").T
check(
    "across",
    d.all_reduce(across),
    folded([part(r, (40, 30), "float32").T for r in range(N)], "sum"),
)


# A ring: even ranks send first; what is sent is not read here, and runs all the same.
def ring(x):
    after, before = (ME + 1) % N, (ME - 1) % N
    if ME % 2 == 0:
        d.send(x, after)
        return d.recv(x, before) + 1
    y = d.recv(x, before)
    d.send(x, after)
    return y + 1


if N % 2 == 0:
    run("ring", ring, part(ME, (50_000,), "float32"), part((ME - 1) % N, (50_000,), "float32") + 1)

# Groups: only members call.
if N > 2:
    some = d.group([N - 1, 0])
    if some.rank >= 0:
        parts = [part(r, (5,), "float32") for r in (N - 1, 0)]
        run("group", lambda t: d.all_gather(t, group=some), parts[some.rank], fz.concat(parts))
        try:
            d.broadcast(fz.ones(1), 2, group=some)
            failures.append("there is no rank 2 in a group of 2")
        except ValueError as e:
            check(str(e), fz.ones(1), fz.ones(1))
    else:
        try:
            d.all_reduce(fz.ones(1), group=some)
            failures.append("a rank outside of a group may not call")
        except ValueError as e:
            check(str(e), fz.ones(1), fz.ones(1))


# Equal calls are calls: none is left out, though nobody reads it.
@fz.trace
def twice(x):
    a, b = d.all_reduce(x), d.all_reduce(x)
    d.all_reduce(x * 3)
    return a + b


@fz.trace
def chain(x, w):
    for _ in range(3):
        x = fz.tanh(x @ w)
        x = d.all_reduce(x, "mean") + x.sum()
    return x


whole = [part(r, (9,), "float32") for r in range(N)]
total = folded(whole, "sum")
for i in range(5):
    check(f"twice {i}", twice(whole[ME]), total + total)

pure = fz.trace(twice.__wrapped__, pure=True)
for i in range(5):
    check(f"pure {i}", pure(whole[ME]), total + total)
if not pure.stats()["skipped"]:
    failures.append(f"never skipped: {pure.explain()}")


# What is decided by data behind a collective could come out otherwise when a call is skipped: by
# then the others have seen half of it.
@fz.trace(pure=True)
def decides(x):
    n = d.all_reduce(x).astype("int32")
    return x * int(n[0]) if int(n[0]) > 0 else x


for i in range(5):
    check(f"decides {i}", decides(fz.ones(2)), fz.full((2,), float(N)))
if decides.stats()["skipped"] or "behind an exchange with other processes" not in decides.explain():
    failures.append(f"skipped what it decides: {decides.explain()}")


# Ranks need not skip the same calls.
def half(x, w):
    return d.all_reduce(x * w) + d.all_reduce(x + w)


own_way = fz.trace(half, pure=True) if ME % 2 else half
for i in range(6):
    w = part(0, (9,), "float32", i)
    parts = [fz.asarray(p) for p in whole]
    want = folded([p * w for p in parts], "sum") + folded([p + w for p in parts], "sum")
    check(f"own way {i}", own_way(whole[ME], w), want)

w = part(0, (16, 16), "float32", 5) / 4
xs = [part(r, (4, 16), "float32", 6) for r in range(N)]
want = xs
for _ in range(3):
    want = [fz.tanh(x @ w) for x in want]
    m = folded(want, "sum") / N
    want = [m + x.sum() for x in want]
for i in range(5):
    check(f"chain {i}", chain(xs[ME], w), want[ME])
if chain.stats()["plans"] != 1:
    failures.append(f"collectives end no segment: {chain.explain()}")


# Gradients: of a loss on every rank, each rank has what the sum of all losses says.
def scaled(f, k):
    return lambda x: (f(x) * k).sum()


x = part(ME, (2 * N, 3), "float32", 7)
for traced in (False, True):
    wrap = fz.trace if traced else (lambda f: f)
    for _ in range(3):
        g = wrap(fz.grad(scaled(d.all_reduce, ME + 1.0)))(x)
        check("grad all_reduce", g, fz.full_like(x, float(sum(r + 1 for r in range(N)))))
        g = wrap(fz.grad(scaled(d.all_gather, ME + 1.0)))(x)
        check("grad all_gather", g, fz.full_like(x, float(sum(r + 1 for r in range(N)))))
        g = wrap(fz.grad(scaled(d.reduce_scatter, ME + 1.0)))(x)
        k = fz.concat([fz.full((2, 3), float(r + 1)) for r in range(N)])
        check("grad reduce_scatter", g, k)
        g = wrap(fz.grad(scaled(d.all_to_all, ME + 1.0)))(x)
        check("grad all_to_all", g, k)
        g = wrap(fz.grad(scaled(d.broadcast, ME + 1.0)))(x)
        check("grad broadcast", g,
              fz.full_like(x, float(sum(r + 1 for r in range(N))) if ME == 0 else 0.0))  # fmt: skip
        g = wrap(fz.grad(lambda t: (d.all_reduce(t, "max") * 2).sum()))(fz.asarray([float(ME)]))
        check("grad max", g, fz.asarray([2.0 * N if ME == N - 1 else 0.0]))
second = fz.grad(lambda t: (fz.grad(lambda u: (d.all_reduce(u) ** 3).sum())(t)).sum())(fz.ones(2))
check("second gradient", second, fz.full((2,), 6.0 * N * N * N))
_, moved = fz.jvp(d.all_reduce, (x,), (fz.ones_like(x),))
check("jvp", moved, fz.full_like(x, float(N)))

# Under vmap all examples travel at once.
examples = part(ME, (5, 2 * N, 3), "float32", 8)
theirs = [part(r, (5, 2 * N, 3), "float32", 8) for r in range(N)]
check("vmap all_reduce", fz.vmap(d.all_reduce)(examples), folded(theirs, "sum"))
check("vmap all_gather", fz.vmap(d.all_gather)(examples), fz.concat(theirs, axis=1))
check("vmap reduce_scatter", fz.vmap(d.reduce_scatter)(examples),
      folded(theirs, "sum")[:, 2 * ME : 2 * ME + 2])  # fmt: skip

# Halos: a smoothed line in parts is the line, smoothed.
line = part(0, (N * 8, 3), "float32", 9)


def smooth(x):
    return x[:-2] * 0.25 + x[1:-1] * 0.5 + x[2:] * 0.25


padded = fz.concat([fz.zeros((1, 3)), line, fz.zeros((1, 3))])
mine = slice(8 * ME, 8 * ME + 8)
run("halo", lambda t: smooth(d.halo(t)), line[mine], smooth(padded)[mine])
padded = fz.concat([line[-1:], line, line[:1]])
run("periodic halo", lambda t: smooth(d.halo(t, periodic=True)), line[mine], smooth(padded)[mine])

d.barrier()
say({"checked": checked, "failures": failures})
