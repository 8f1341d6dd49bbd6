"""Collectives of GPUs' tensors over NCCL, eager and traced, against what one process computes.

The GPU and NCCL are the fakes of tests/cuda/fake, on which this rank's device is cuda:0.
"""

import ctypes
import itertools
import os

import numpy as np
from saying import say

import frazil as fz

d = fz.distributed
d.init()
ME, N = d.rank(), d.size()
FAKE = ctypes.CDLL(os.path.join(os.environ["FRAZIL_CUDA_PATH"], "libnccl.so.2"))
FAKE.fake_nccl_count.restype = ctypes.c_ulonglong

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip
SIZES = [(1,), (6, 5), (0,), (N * 30_001,), (N * 30_001 + 1,)]
failures = []
checked = 0


def count(name):
    return FAKE.fake_nccl_count(name.encode())


def part(rank, shape, dtype, salt=0):
    """A rank's array on the CPU, which every rank can make."""
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
    x = x.to_device("cpu")
    return np.asarray(x.astype("float32") if x.dtype == fz.bfloat16 else x).tobytes()


def check(what, got, want, device="cuda"):
    global checked
    checked += 1
    same = got.shape == want.shape and got.dtype == want.dtype and bits(got) == bits(want)
    if not (same and got.device == device) and len(failures) < 20:
        failures.append(f"{what}: got {got.to_device('cpu')!r}, want {want!r}"[:400])


def folded(parts, op="sum"):
    f = {"sum": fz.add, "prod": fz.multiply, "min": fz.minimum, "max": fz.maximum}[op]
    out = parts[0]
    for x in parts[1:]:
        out = f(out, x)
    return out


def run(what, fn, x, want):
    x = x.to_device("cuda")
    check(f"eager {what}", fn(x), want)
    traced = fz.trace(lambda t: fn(t * 1 if t.dtype != fz.bool else t) if t.size else fn(t))
    for i in range(3):
        check(f"traced {what} {i}", traced(x), want)


for dtype, shape in itertools.product(DTYPES, SIZES):
    large = shape[0] > 10_000
    if large and dtype not in ("float32", "bfloat16", "complex64"):
        continue
    if shape == (0,) and dtype != "float32":
        continue
    parts = [part(r, shape, dtype) for r in range(N)]
    run(f"all_reduce {dtype}{shape}", d.all_reduce, parts[ME], folded(parts))
    if dtype in ("bool", "int8", "float32") and shape == (6, 5):
        for op in ("prod", "min", "max"):
            run(f"all_reduce {op} {dtype}", lambda t, op=op: d.all_reduce(t, op), parts[ME],
                folded(parts, op))  # fmt: skip
    if large and shape[0] % N:
        continue
    run(f"broadcast {dtype}{shape}", lambda t: d.broadcast(t, N - 1), parts[ME], parts[N - 1])
    run(f"all_gather {dtype}{shape}", d.all_gather, parts[ME], fz.concat(parts))
    rows = parts if shape[0] % N == 0 else [fz.concat([p] * N) for p in parts]
    rows_here = rows[0].shape[0] // N
    mine = slice(ME * rows_here, (ME + 1) * rows_here)
    run(f"all_to_all {dtype}{shape}", d.all_to_all, rows[ME], fz.concat([p[mine] for p in rows]))
    run(f"reduce_scatter {dtype}{shape}", d.reduce_scatter, rows[ME], folded(rows)[mine])

across = [part(r, (40, 30), "float32").T for r in range(N)]
check("across", d.all_reduce(across[ME].to_device("cuda")), folded(across))
mean = d.all_reduce(part(ME, (7,), "float32").to_device("cuda"), "mean")
check("mean", mean, folded([part(r, (7,), "float32") for r in range(N)]) / N)


# Sums that start, kernels that run beside them, and what reads both.
@fz.trace
def beside(x, y):
    a = d.all_reduce(x * 2)
    b = d.all_reduce(y + 1)
    for _ in range(4):
        y = fz.tanh(y) * 1.5 + x
    return a + y, b - y


xs = [part(r, (500,), "float32", 1) for r in range(N)]
ys = [part(r, (500,), "float32", 2) for r in range(N)]
y = ys[ME]
for _ in range(4):
    y = fz.tanh(y) * 1.5 + xs[ME]
for i in range(5):
    a, b = beside(xs[ME].to_device("cuda"), ys[ME].to_device("cuda"))
    check(f"beside a {i}", a, folded([x * 2 for x in xs]) + y)
    check(f"beside b {i}", b, folded([y + 1 for y in ys]) - y)

# A ring, gradients, vmap, a group, arrays of the CPU beside them.
if N == 2:

    def ring(x):
        if ME == 0:
            d.send(x, 1)
            return d.recv(x, 1) + 1
        got = d.recv(x, 0)
        d.send(x, 0)
        return got + 1

    run("ring", ring, part(ME, (5000,), "float32"), part(1 - ME, (5000,), "float32") + 1)

x = part(ME, (2 * N, 3), "float32", 7).to_device("cuda")
total = float(sum(r + 1 for r in range(N)))
for traced in (False, True):
    wrap = fz.trace if traced else (lambda f: f)
    for _ in range(3):
        for name in ("all_reduce", "all_gather"):
            f = getattr(d, name)
            g = wrap(fz.grad(lambda t, f=f: (f(t) * (ME + 1.0)).sum()))(x)
            check(f"grad {name}", g, fz.full((2 * N, 3), total))
        g = wrap(fz.grad(lambda t: (d.broadcast(t) * (ME + 1.0)).sum()))(x)
        check("grad broadcast", g, fz.full((2 * N, 3), total if ME == 0 else 0.0))
examples = [part(r, (5, 2 * N, 3), "float32", 8) for r in range(N)]
check("vmap", fz.vmap(d.all_reduce)(examples[ME].to_device("cuda")), folded(examples))
if N > 2:
    some = d.group([N - 1, 0])
    if some.rank >= 0:
        parts = [part(r, (5,), "float32") for r in (N - 1, 0)]
        run("group", lambda t: d.all_gather(t, group=some), parts[some.rank], fz.concat(parts))
host = [part(r, (9,), "float64", 3) for r in range(N)]
check("of the CPU", d.all_reduce(host[ME]), folded(host), "cpu")
check("gathered of the CPU", d.all_gather(host[ME]), fz.concat(host), "cpu")
d.barrier()

# The library's own sums: another order (the fake's is descending), the same on all ranks.
before = count("ncclAllReduce")
exact = [part(r, (6, 5), "int32") for r in range(N)]
loose = [part(r, (2000,), "float32", 4) for r in range(N)]


@fz.trace
def native(x):
    with fz.precision("native"):
        return d.all_reduce(x) * 1


with fz.precision("native"):
    check("native", d.all_reduce(exact[ME].to_device("cuda")), folded(exact))
    check("native of what NCCL does not add", d.all_reduce((exact[ME] > 50).to_device("cuda")),
          folded([p > 50 for p in exact]))  # fmt: skip
    scattered = fz.concat([exact[ME]] * N).to_device("cuda")
    check("native reduce_scatter", d.reduce_scatter(scattered), folded(exact))
    eager = d.all_reduce(loose[ME].to_device("cuda"))
check("native is NCCL's", eager, folded(loose[::-1]))
for _ in range(4):
    check("native, traced", native(loose[ME].to_device("cuda")), folded(loose[::-1]))
if N > 1 and count("ncclAllReduce") < before + 6:
    failures.append(f"ncclAllReduce was called {count('ncclAllReduce') - before} times")
if N > 1 and not count("ncclSend"):
    failures.append("nothing went over NCCL")

# One GPU for a group, and the way out is in the error.
if N > 1 and fz.cuda.device_count() > 1:
    try:
        d.all_reduce(fz.ones(3, device="cuda:1")).tolist()
        failures.append("a second GPU of a group must be refused")
    except ValueError as e:
        checked += "on cuda:0 until now, got a tensor of cuda:1" in str(e)

say({"checked": checked, "failures": failures, "local_rank": d.local_rank()})
