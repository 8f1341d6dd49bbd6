"""Sums over ranks by the library: right, the same on all ranks, recorded; not the ordered ones."""

import sys

import numpy as np
from saying import say

import frazil as fz

d = fz.distributed
d.init()
ME, N = d.rank(), d.size()
failures = []


def check(what, good):
    if not good:
        failures.append(what)


def part(rank, dtype, count=4200):
    random = np.random.default_rng(rank)
    if "int" in dtype:
        return fz.asarray(random.integers(0, 40, count)).astype(dtype)
    x = fz.asarray(random.normal(size=count))
    if dtype == "complex64":
        return fz.complex(x, x[::-1] * 2).astype(dtype)
    return x > 0 if dtype == "bool" else x.astype(dtype)


def total(dtype, count=4200):
    out = part(0, dtype, count)
    for rank in range(1, N):
        out = out + part(rank, dtype, count)
    return out


def bits(x):
    return np.asarray(x.astype("float32") if x.dtype == fz.bfloat16 else x).tobytes()


def near(got, want):
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    wide = "complex128" if "complex" in str(got.dtype) else "float64"
    gap = fz.abs(got.astype(wide) - want.astype(wide)).max().item() if got.size else 0.0
    exact = got.dtype.name not in ("float32", "float64", "complex64")
    return gap == 0 if exact else gap < 1e-4


DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64",
]  # fmt: skip
for dtype in DTYPES:
    x = part(ME, dtype)
    with fz.precision("native"):
        y = d.all_reduce(x)
        rows = d.reduce_scatter(x)
    check(f"all_reduce {dtype}", near(y, total(dtype)))
    want = total(dtype).reshape(N, -1)[ME]
    check(f"reduce_scatter {dtype}", near(rows, want))
    everybody = d.all_gather(y)
    check(f"equal {dtype}", bits(everybody) == bits(fz.concat([y] * N)))
with fz.precision("native"):
    check("mean", near(d.all_reduce(part(ME, "float32"), "mean"), total("float32") / N))
    check("large", near(d.all_reduce(part(ME, "float32", 1 << 20)), total("float32", 1 << 20)))
    check("empty", d.all_reduce(fz.ones(0)).shape == (0,))
    check("max", d.all_reduce(fz.asarray([ME]), "max").tolist() == [N - 1])
    some = d.group(range(N))
    check("a group's own", bits(d.all_reduce(part(ME, "float32"), group=some)) is not None)


# What a trace recorded stays: within the precision, the library's; outside, ordered.
@fz.trace
def both(x):
    with fz.precision("native"):
        loose = d.all_reduce(x * 2)
    return loose, d.all_reduce(x * 2)


ordered = part(0, "float32") * 2
for rank in range(1, N):
    ordered = ordered + part(rank, "float32") * 2
for _ in range(5):
    loose, exact = both(part(ME, "float32"))
    check("traced, ordered", bits(exact) == bits(ordered))
    check("traced, native", near(loose, ordered))
with fz.precision("native"):
    g = fz.grad(lambda t: (d.all_reduce(t) * (ME + 1.0)).sum())(fz.ones(5))
check("gradient", g.tolist() == [float(sum(r + 1 for r in range(N)))] * 5)

say({"failures": failures})

# Ranks of different precisions do not agree.
if "differ" in sys.argv:
    try:
        with fz.precision("native" if ME else "default"):
            d.all_reduce(fz.ones(3))
        say({"error": None})
    except RuntimeError as e:
        say({"error": str(e)})
