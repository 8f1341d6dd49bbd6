"""Indexing, sorting and running sums beside NumPy, whose users look at these first.

    PYTHONPATH=build/python PYTHON bench/indexing.py [PATTERN ...] [--threads N] [--rounds N]

or `./dev bench --indexing [PATTERN ...]`. A line is a case: the times of both and frazil's over
NumPy's, of the best rounds and in the middle; below 1 frazil is faster. Results are compared
before anything is timed. `eager` is a call as it stands, `traced` the same inside of frazil.trace,
`gradient` the backward pass of a sum of the result beside what NumPy needs for the same numbers
(`np.add.at` for repeated indices).
"""

import argparse
import fnmatch
import os
import statistics
import time


def take(m, z, i):
    return z[i]


def assign(z, i, v):
    z[i] = v


def add_one(z, i):
    z[i] += 1


def unique(m, z):
    """In order, which NumPy's unique_values does not promise."""
    return m.unique(z) if hasattr(m, "unique") else m.unique_values(z)


def values(rng, dtype, n, shape=None):
    """Random numbers of which some are equal; floats with both signs."""
    shape = shape or (n,)
    if dtype.startswith("f"):
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(-n, n, shape).astype(dtype)


SIZES = {"1e3": 1000, "1e5": 100_000, "1e6": 1_000_000}


def cases(rng):
    """(name, function of a module and arrays, arrays, whether the first is written, modes)."""
    for size, n in SIZES.items():
        for dtype in ("i4", "i8", "f4", "f8"):
            for name, *case in (*flat_cases(rng, dtype, n), *row_cases(rng, dtype, n)):
                yield f"{name} {dtype} {size}", *case


def modes(dtype, gradient=False):
    return ("eager", "traced", "gradient") if gradient and dtype[0] == "f" else ("eager", "traced")


def flat_cases(rng, dtype, n):
    z, v = values(rng, dtype, n), values(rng, dtype, n)
    index, negative = rng.integers(0, n, n), rng.integers(-n, n, n)
    mask, few = rng.random(n) < 0.5, rng.random(n) < 0.01
    get, put, plain, more = take, assign, modes(dtype), modes(dtype, True)
    return [
        ("Z[mask]", get, (z, mask), False, more),
        ("Z[few]", get, (z, few), False, plain),
        ("nonzero(mask)", lambda m, i: m.nonzero(i)[0], (mask,), False, plain),
        ("nonzero(Z)", lambda m, z: m.nonzero(z)[0], (z,), False, plain),
        ("Z[mask]=0", lambda m, z, i: put(z, i, 0), (z, mask), True, plain),
        ("Z[mask]=V", lambda m, *a: put(*a), (z, mask, v[: mask.sum()].copy()), True, plain),
        ("Z[I]", get, (z, index), False, more),
        ("Z[-I]", get, (z, negative), False, plain),
        ("Z[I32]", get, (z, index.astype("i4")), False, plain),
        ("Z[I]=1", lambda m, z, i: put(z, i, 1), (z, index), True, plain),
        ("Z[I]=V", lambda m, *a: put(*a), (z, index, v), True, plain),
        ("Z[I]+=1", lambda m, z, i: add_one(z, i), (z, index), True, plain),
        ("cumsum", lambda m, z: m.cumsum(z), (z,), False, more),
        ("sort", lambda m, z: m.sort(z), (z,), False, more),
        ("argsort", lambda m, z: m.argsort(z, stable=True), (z,), False, plain),
        ("unique", unique, (z,), False, plain),
        ("tolist", lambda m, z: z.tolist(), (z,), False, ("eager",)),
    ]


def row_cases(rng, dtype, n):
    """Two axes: rows of 64."""
    rows = max(1, n // 64)
    y = values(rng, dtype, n, (rows, 64))
    i, j, few = rng.integers(0, rows, rows), rng.integers(0, 64, rows), rng.integers(0, 64, 32)
    row = rng.random(rows) < 0.5
    plain, more = modes(dtype), modes(dtype, True)
    part = slice(1, rows // 2)
    return [
        ("Y[I] rows", take, (y, i), False, more),
        ("Y[I,J]", lambda m, y, i, j: y[i, j], (y, i, j), False, more),
        ("Y[mask] rows", take, (y, row), False, plain),
        ("Y[I]=1 rows", lambda m, y, i: assign(y, i, 1), (y, i), True, plain),
        ("Y[I,J]=1", lambda m, y, i, j: assign(y, (i, j), 1), (y, i, j), True, plain),
        ("Y[mask]=1 rows", lambda m, y, i: assign(y, i, 1), (y, row), True, plain),
        ("Y[a:b,J]", lambda m, y, j: y[part, j], (y, few), False, plain),
        ("Y[a:b,J]=1", lambda m, y, j: assign(y, (part, j), 1), (y, few), True, plain),
        ("cumsum axis 0", lambda m, y: m.cumsum(y, axis=0), (y,), False, plain),
        ("cumsum axis 1", lambda m, y: m.cumsum(y, axis=1), (y,), False, plain),
        ("sort axis 0", lambda m, y: m.sort(y, axis=0), (y,), False, plain),
        ("sort axis 1", lambda m, y: m.sort(y, axis=1), (y,), False, plain),
        ("median of 9", lambda m, y: m.median(y[:, :9], axis=1), (y,), False, plain),
        ("tolist rows", lambda m, y: y.tolist(), (y,), False, ("eager",)),
    ]


def forms(np, fz, mode, function, arrays, writes):
    """(callable of NumPy, callable of frazil): the same work; both return what to compare."""
    ours = [fz.asarray(a.copy()) for a in arrays]
    theirs = [a.copy() for a in arrays]

    def run(module, operands):
        result = function(module, *operands)
        return operands[0] if writes else result

    if mode == "gradient":
        x = ours[0]
        x.requires_grad = True

        def backward():
            x.grad = None
            fz.sum(function(fz, *ours)).backward(retain_graph=False)
            return x.grad

        return by_hand(np, function, theirs), backward
    if mode == "traced":
        traced = fz.trace(lambda *operands: run(fz, operands))
        return lambda: run(np, theirs), lambda: traced(*ours)
    return lambda: run(np, theirs), lambda: run(fz, ours)


def by_hand(np, function, arrays):
    """NumPy's way to the gradient of sum(function(...)) with respect to the first array."""
    z, *rest = arrays

    def run():
        g = np.zeros_like(z)
        y = function(np, *arrays)
        y.sum()
        if not rest:  # cumsum: of a sum of running sums; sort: of a sum of all
            return np.arange(z.size, 0, -1).astype(z.dtype) if y is not None else g
        at = tuple(rest) if len(rest) > 1 else rest[0]
        if at is rest[0] and at.dtype == bool:
            g[at] = 1
        else:
            np.add.at(g, at, np.ones_like(y))
        return g

    return run


def same(np, a, b):
    """Whether results agree: sums of floats within rounding."""
    if isinstance(a, list):
        return a == b
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return bool((a == b).all())
    scale = max(1.0, float(np.abs(a).max(initial=0)))
    return bool(np.allclose(a, b, rtol=1e-3, atol=1e-3 * scale))


def measure(patterns, threads, rounds=7, seconds=0.005, modes=("eager", "traced", "gradient")):
    """Prints a line for every case that a pattern matches."""
    os.environ["FRAZIL_NUM_THREADS"] = str(threads)
    import numpy as np
    from measure import Rounds, readable

    import frazil as fz

    # Others' work on the machine disturbs a thread's own time less.
    clock = time.thread_time if threads == 1 else time.perf_counter
    for name, function, arrays, writes, possible in cases(np.random.default_rng(1)):
        for mode in possible:
            full = f"{name} {mode}"
            if mode not in modes or not any(fnmatch.fnmatch(full, p) for p in patterns):
                continue
            theirs, ours = forms(np, fz, mode, function, arrays, writes)
            sort_gradient = mode == "gradient" and name.startswith("sort")
            if not sort_gradient and not same(np, theirs(), ours()):
                raise SystemExit(f"bench: {full}: results differ")
            times = Rounds({"NumPy": theirs, "frazil": ours}, rounds, seconds, clock).times
            pairs = zip(times["NumPy"], times["frazil"], strict=True)
            best = {key: min(values) for key, values in times.items()}
            print(
                f"{full:34}"
                + "".join(f"{key} {readable(value):>8}  " for key, value in best.items())
                + f"{best['frazil'] / best['NumPy']:6.2f}"
                + f"  median {statistics.median(b / a for a, b in pairs):.2f}",
                flush=True,
            )


def main(argv=None):
    """Measures what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="indexing", description=__doc__.splitlines()[0])
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.005, help="of a form in a round")
    parser.add_argument("--modes", default="eager,traced,gradient")
    args = parser.parse_args(argv)
    measure(args.patterns, args.threads, args.rounds, args.seconds, args.modes.split(","))


if __name__ == "__main__":
    main()
