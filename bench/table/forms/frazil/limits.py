"""What the machine allows, as forms of their own: see bench/yardstick.py."""

import time

from yardstick import Peak, Triad

import frazil as fz

from .. import Form


def triad(n):
    """A triad with streaming stores over arrays of the same size."""
    return {"limit triad": Form(Triad(n, fz.get_num_threads()))}


def peak(flops):
    """As many multiplications and additions in registers."""
    return {"limit fma": Form(Peak(flops, fz.get_num_threads()))}


def rates(smoke=False):
    """The best of several runs: {flops: a second, bytes: a second, threads}."""
    threads, flops, n = fz.get_num_threads(), 2e9, 1 << (16 if smoke else 24)
    triad = Triad(n, threads)
    multiply, stream = _least(Peak(flops, threads)), _least(triad)
    triad.close()
    return {"flops": flops / multiply, "bytes": 12 * n / stream, "threads": threads}


def _least(run, times=7):
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best
