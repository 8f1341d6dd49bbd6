"""frazil alone: each case is a function that takes the settings and fills the report."""

import itertools
import random
import subprocess
import sys
import time

import numpy as np
from measure import quartiles

import frazil as fz


def import_time(settings, report):
    """Wall time of a process that imports the package less that of one that does not."""
    times = []
    for _ in range(settings.rounds):
        pair = []
        for code in ("pass", "import frazil"):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            pair.append(time.perf_counter() - start)
        times.append(pair[1] - pair[0])
    report.value("import", "import frazil", "seconds", quartiles(times), "< 100 ms")


def few_ops_16(settings, report):
    """Functions of a few ops on one cache line: what a traced call costs beside its kernel."""
    a, b = (fz.asarray(np.linspace(0.5, 1.5, 16, dtype=np.float32)) for _ in range(2))
    functions = {
        2: lambda x, z: (x * z) + x,
        3: lambda x, z: ((x * z) + x) * z,
        4: lambda x, z: (((x * z) + x) * z) - x,
    }
    for n, function in functions.items():
        names = {"f": function, "t": fz.trace(function), "a": a, "b": b}
        variants = {"eager": ("f(a, b)", names), "traced": ("t(a, b)", names)}
        rounds = settings.time(variants, clock=time.thread_time)
        report.ratio(f"{n} ops, 16 f32", rounds, "eager", "traced", ">= 1")


def sum_16mi(settings, report):
    x = np.ones(16 << 20, np.float32)
    a = fz.asarray(x)
    rounds = settings.time({"NumPy": lambda: x.sum(), "frazil": lambda: fz.sum(a)})
    report.ratio("sum, 16 Mi f32", rounds, "NumPy", "frazil")


def matched_call(settings, report):
    """What matching one op costs beyond what Python itself takes to call an operator.

    A traced function adds n times to a tensor of 16 elements; every op is deferred and the call
    ends with one plan of very few kernels. The time of 400 ops less that of 100, over 300, is the
    cost of one op: what a call costs once (the session, finding the plan) cancels. It still holds
    what Python does for `y = y + x` on any object that is not specialised: the loop, the dispatch
    to nb_add, making one object and freeing another. The same difference over complex numbers,
    which Python 3.11 does not specialise, is that cost, and is taken off. What remains is wrapping,
    Apply, the match, the deferred value, and the op's share in finding the plan and running it.
    """

    def adds(x, y, n):
        for _ in range(n):
            y = y + x
        return y

    few, many = 100, 400
    x = fz.asarray(np.ones(16, np.float32))
    traced = {n: fz.trace(lambda x, n=n: adds(x, x, n)) for n in (few, many)}
    one = 1 + 1j
    variants = {f"traced {n}": lambda f=traced[n]: f(x) for n in traced}
    variants |= {f"complex {n}": lambda n=n: adds(one, one, n) for n in traced}
    rounds = settings.time(variants, clock=time.thread_time)
    for f in traced.values():
        stats = f.stats()
        if stats["recorded"] != 1 or stats["fallbacks"] or stats["plans"] != 1:
            raise SystemExit(f"bench: the calls were not all deferred: {f.explain()}")

    def slope(kind):
        pairs = zip(rounds.times[f"{kind} {many}"], rounds.times[f"{kind} {few}"], strict=True)
        return [(a - b) / (many - few) for a, b in pairs]

    ours, python = slope("traced"), slope("complex")
    name = "matched call"
    report.value(name, "an op in a traced call", "seconds", quartiles(ours))
    report.value(name, "Python's own operator call", "seconds", quartiles(python))
    beyond = [a - b for a, b in zip(ours, python, strict=True)]
    report.value(name, "beyond Python's own", "seconds", quartiles(beyond), "< 100 ns, aim 60")
    once = [t - few * s for t, s in zip(rounds.times[f"traced {few}"], ours, strict=True)]
    report.value(name, "once a call", "seconds", quartiles(once))


def skipped_call(settings, report):
    """A call by promise, body skipped: its guards, its kernel and its result, against one op."""

    def chain(*tensors):
        y = tensors[0]
        for t in tensors[1:]:
            y = y + t
        return y

    tensors = [fz.asarray(np.arange(16, dtype=np.float32)) + n for n in range(100)]
    calls = {2: "f(a, b)", 8: "f(a, b, c, d, e, g, h, i)"}
    variants = {"a + b": ("a + b", dict(zip("ab", tensors, strict=False)))}
    for n, code in calls.items():
        traced = fz.trace(chain, pure=True)
        variants[f"{n} tensors"] = (
            code,
            {"f": traced, **dict(zip("abcdeghi", tensors, strict=False))},
        )
    first = fz.trace(lambda items: items[0] + items[1], pure=True)
    variants["list of 2"] = ("f(x)", {"f": first, "x": tensors[:2]})
    variants["list of 100"] = ("f(x)", {"f": first, "x": tensors})
    for code, names in variants.values():
        for _ in range(8):
            eval(code, dict(names))
    rounds = settings.time(variants, clock=time.thread_time)
    name = "call by promise, 16 f32"
    report.ratio(name, rounds, "2 tensors", "a + b", "<= 2")
    report.ratio(name, rounds, "8 tensors", "a + b", "<= 4")
    pairs = zip(rounds.times["list of 100"], rounds.times["list of 2"], strict=True)
    guards = [(a - b) * 100 / 98 for a, b in pairs]
    report.value(name, "guards over 100 tensors", "seconds", quartiles(guards), "< 2 us")


def compile_10(settings, report):
    """From the end of a recorded segment to running code, for a kernel never seen before.

    A function of ten ops in a random order is called three times: the first call records, the
    second compiles and runs, the third only runs. Second less third is compiling. The stages
    by themselves are in frazil_bench.
    """
    operators = ("__add__", "__sub__", "__mul__")
    orders = list(itertools.product(operators, repeat=10))
    x, z = (fz.asarray(np.ones(1000, np.float32)) for _ in range(2))
    times = []
    # Others at each run: what an earlier process compiled lies on disk.
    for order in random.sample(orders, 10 * settings.rounds):

        def body(x, z, order=order):
            y = x
            for operator in order:
                y = getattr(y, operator)(z)
            return y

        traced = fz.trace(body)
        traced(x, z)
        pair = []
        for _ in range(2):
            start = time.thread_time()
            traced(x, z)
            pair.append(time.thread_time() - start)
        if traced.stats()["kernels_compiled"] == 1:
            times.append(pair[0] - pair[1])
    report.value("compile 10 ops", "trace to code", "seconds", quartiles(times), "< 1 ms, aim 0.2")


ALL = {
    f.__name__: f
    for f in (
        import_time,
        few_ops_16,
        sum_16mi,
        matched_call,
        skipped_call,
        compile_10,
    )
}
