"""`python -m frazil bench`: a few workloads, eager, traced and in NumPy, in some seconds.

A glance at what this machine gives; ./dev bench is the whole table with its peers. Every workload
is one function over an array module, so that all three run the same text.
Invariant: rounds are interleaved, what is shown are the best ones, and results are compared first.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import frazil as fz

if TYPE_CHECKING:
    from collections.abc import Callable


class Workload(NamedTuple):
    """What is run: `body(module)` gives a function of the arrays that `arrays(np)` makes."""

    name: str
    body: Callable[[Any], Callable[..., Any]]
    arrays: Callable[[Any], list[Any]]


class Result(NamedTuple):
    """Best times, in seconds."""

    name: str
    eager: float
    traced: float
    numpy: float


def _numbers(np, *shape):
    return np.linspace(-2, 2, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def _polynomial(_):
    return lambda x, y: ((x * y + 1) * x - y) * y + x


def _softmax(m):
    def softmax(x):
        e = m.exp(x - m.max(x, axis=-1, keepdims=True))
        return e / m.sum(e, axis=-1, keepdims=True)

    return softmax


def _layer(m):
    return lambda x, w, b: m.tanh(x @ w + b)


def _distances(m):
    return lambda a, b: m.sum((a[:, None, :] - b[None, :, :]) ** 2, axis=-1)


def _heat(_):
    def steps(u):
        for _ in range(10):
            inner = u[1:-1, 1:-1]
            laplace = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inner
            u[1:-1, 1:-1] = inner + 0.1 * laplace
        return u

    return lambda u: steps(u + 0)


WORKLOADS = (
    Workload("a polynomial, 16 numbers", _polynomial, lambda np: [_numbers(np, 16)] * 2),
    Workload("a polynomial, 1 Mi numbers", _polynomial, lambda np: [_numbers(np, 1 << 20)] * 2),
    Workload("softmax, 512 x 1024", _softmax, lambda np: [_numbers(np, 512, 1024)]),
    Workload(
        "a layer, 256 x 512 x 512",
        _layer,
        lambda np: [_numbers(np, 256, 512), _numbers(np, 512, 512) / 16, _numbers(np, 512)],
    ),
    Workload(
        "distances, 300 points",
        _distances,
        lambda np: [_numbers(np, 300, 3), _numbers(np, 300, 3)[::-1].copy()],
    ),
    Workload("heat equation, 10 steps", _heat, lambda np: [_numbers(np, 200, 200)]),
)


def _calls_in(run: Callable[[], Any], seconds: float) -> int:
    """How many calls take about as long."""
    count = 1
    while True:
        begin = time.perf_counter()
        for _ in range(count):
            run()
        took = time.perf_counter() - begin
        if took > seconds / 4:
            return max(1, int(count * seconds / took))
        count *= 4


def measure(workload: Workload, seconds: float = 0.5) -> Result:
    """Times one workload for about as long.

    Raises
    ------
    RuntimeError
        If results differ by more than rounding.
    """
    import numpy as np

    arrays = workload.arrays(np)
    tensors = [fz.asarray(a) for a in arrays]
    eager, plain = workload.body(fz), workload.body(np)
    traced = fz.trace(workload.body(fz))
    with np.errstate(all="ignore"):
        wanted = plain(*arrays)
        for fn in (eager, traced, traced, traced):
            found = np.asarray(fn(*tensors))
            if not np.allclose(found, wanted, rtol=1e-3, atol=1e-3):
                raise RuntimeError(f"[bench] {workload.name}: results differ from NumPy's.")
        runs = [lambda: eager(*tensors), lambda: traced(*tensors), lambda: plain(*arrays)]
        rounds = 8
        counts = [_calls_in(run, seconds / rounds / len(runs)) for run in runs]
        best = [float("inf")] * len(runs)
        for _ in range(rounds):
            for i, (run, count) in enumerate(zip(runs, counts, strict=True)):
                begin = time.perf_counter()
                for _ in range(count):
                    run()
                best[i] = min(best[i], (time.perf_counter() - begin) / count)
    return Result(workload.name, *best)


def table(results: list[Result]) -> str:
    """Times, and how many times as fast as NumPy."""
    rows = [("", "NumPy", "eager", "", "traced", "")]
    for r in results:
        rows.append(
            (
                r.name,
                f"{r.numpy * 1e6:.1f} us",
                f"{r.eager * 1e6:.1f} us",
                f"{r.numpy / r.eager:.1f}x",
                f"{r.traced * 1e6:.1f} us",
                f"{r.numpy / r.traced:.1f}x",
            )
        )
    wide = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = (
        "  ".join([row[0].ljust(wide[0]), *map(str.rjust, row[1:], wide[1:])]).rstrip()
        for row in rows
    )
    return "\n".join(lines)
