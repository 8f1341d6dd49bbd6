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


def cases(np, rng):
    """(name, function of a module and arrays, arrays, whether the first is written, modes)."""
    both, three = ("eager", "traced"), ("eager", "traced", "gradient")
    sizes = {"1e3": 1000, "1e5": 100_000, "1e6": 1_000_000}
    for size, n in sizes.items():
        for dtype in ("i4", "i8", "f4", "f8"):
            z, v = values(rng, dtype, n), values(rng, dtype, n)
            index = rng.integers(0, n, n)
            negative = rng.integers(-n, n, n)
            mask = rng.random(n) < 0.5
            few = rng.random(n) < 0.01
            kind = f"{dtype} {size}"
            more = three if dtype.startswith("f") else both
            yield f"Z[mask] {kind}", lambda m, z, i: z[i], (z, mask), False, more
            yield f"Z[few] {kind}", lambda m, z, i: z[i], (z, few), False, both
            yield f"nonzero(mask) {kind}", lambda m, i: m.nonzero(i)[0], (mask,), False, both
            yield f"nonzero(Z) {kind}", lambda m, z: m.nonzero(z)[0], (z,), False, both
            yield f"Z[mask]=0 {kind}", lambda m, z, i: assign(z, i, 0), (z, mask), True, both
            yield (
                f"Z[mask]=V {kind}",
                lambda m, z, i, v: assign(z, i, v),
                (z, mask, v[: mask.sum()].copy()),
                True,
                both,
            )
            yield f"Z[I] {kind}", lambda m, z, i: z[i], (z, index), False, more
            yield f"Z[-I] {kind}", lambda m, z, i: z[i], (z, negative), False, both
            yield (
                f"Z[I32] {kind}",
                lambda m, z, i: z[i],
                (z, index.astype("i4")),
                False,
                both,
            )
            yield f"Z[I]=1 {kind}", lambda m, z, i: assign(z, i, 1), (z, index), True, both
            yield (
                f"Z[I]=V {kind}",
                lambda m, z, i, v: assign(z, i, v),
                (z, index, v),
                True,
                both,
            )
            yield f"Z[I]+=1 {kind}", lambda m, z, i: add_one(z, i), (z, index), True, both
            yield f"cumsum {kind}", lambda m, z: m.cumsum(z), (z,), False, more
            yield f"sort {kind}", lambda m, z: m.sort(z), (z,), False, more
            yield f"argsort {kind}", lambda m, z: m.argsort(z, stable=True), (z,), False, both
            yield f"unique {kind}", unique, (z,), False, both
            yield f"tolist {kind}", lambda m, z: z.tolist(), (z,), False, ("eager",)
            # Two axes: rows of 64.
            rows = max(1, n // 64)
            y = values(rng, dtype, n, (rows, 64))
            i, j = rng.integers(0, rows, rows), rng.integers(0, 64, rows)
            row = rng.random(rows) < 0.5
            inner = rng.integers(0, 64, 32)
            yield f"Y[I] rows {kind}", lambda m, y, i: y[i], (y, i), False, more
            yield f"Y[I,J] {kind}", lambda m, y, i, j: y[i, j], (y, i, j), False, more
            yield f"Y[mask] rows {kind}", lambda m, y, i: y[i], (y, row), False, both
            yield f"Y[I]=1 rows {kind}", lambda m, y, i: assign(y, i, 1), (y, i), True, both
            yield (
                f"Y[I,J]=1 {kind}",
                lambda m, y, i, j: assign(y, (i, j), 1),
                (y, i, j),
                True,
                both,
            )
            yield (
                f"Y[mask]=1 rows {kind}",
                lambda m, y, i: assign(y, i, 1),
                (y, row),
                True,
                both,
            )
            yield (
                f"Y[a:b,J] {kind}",
                lambda m, y, j: y[1 : len(y) // 2, j],
                (y, inner),
                False,
                both,
            )
            yield (
                f"Y[a:b,J]=1 {kind}",
                lambda m, y, j: assign(y, (slice(1, len(y) // 2), j), 1),
                (y, inner),
                True,
                both,
            )
            yield f"cumsum axis 0 {kind}", lambda m, y: m.cumsum(y, axis=0), (y,), False, both
            yield f"cumsum axis 1 {kind}", lambda m, y: m.cumsum(y, axis=1), (y,), False, both
            yield f"sort axis 0 {kind}", lambda m, y: m.sort(y, axis=0), (y,), False, both
            yield f"sort axis 1 {kind}", lambda m, y: m.sort(y, axis=1), (y,), False, both
            yield f"tolist rows {kind}", lambda m, y: y.tolist(), (y,), False, ("eager",)


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

        return GRADIENTS(np, function, theirs), backward
    if mode == "traced":
        traced = fz.trace(lambda *operands: run(fz, operands))
        return lambda: run(np, theirs), lambda: traced(*ours)
    return lambda: run(np, theirs), lambda: run(fz, ours)


def GRADIENTS(np, function, arrays):
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


def main(argv=None):
    """Prints a line a case."""
    parser = argparse.ArgumentParser(prog="indexing", description=__doc__.splitlines()[0])
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.005, help="of a form in a round")
    parser.add_argument("--modes", default="eager,traced,gradient")
    args = parser.parse_args(argv)
    os.environ["FRAZIL_NUM_THREADS"] = str(args.threads)

    import numpy as np
    from measure import Rounds, readable

    # Others' work on the machine disturbs a thread's own time less.
    clock = time.thread_time if args.threads == 1 else time.perf_counter

    import frazil as fz

    rng = np.random.default_rng(1)
    for name, function, arrays, writes, modes in cases(np, rng):
        for mode in modes:
            full = f"{name} {mode}"
            if mode not in args.modes.split(",") or not any(
                fnmatch.fnmatch(full, p) for p in args.patterns
            ):
                continue
            numpy_form, our_form = forms(np, fz, mode, function, arrays, writes)
            sort_gradient = mode == "gradient" and name.startswith("sort")
            if not sort_gradient and not same(np, numpy_form(), our_form()):
                raise SystemExit(f"bench: {full}: results differ")
            both = {"NumPy": numpy_form, "frazil": our_form}
            rounds = Rounds(both, args.rounds, args.seconds, clock)
            theirs, ours = rounds.times["NumPy"], rounds.times["frazil"]
            median = statistics.median(b / a for a, b in zip(theirs, ours, strict=True))
            best = min(ours) / min(theirs)
            print(
                f"{full:34}NumPy {readable(min(theirs)):>8}  frazil {readable(min(ours)):>8}"
                f"{best:8.2f}  median {median:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
