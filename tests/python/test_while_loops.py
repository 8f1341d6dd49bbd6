"""While loops that test their condition inside one plan: any number of iterations, eager's bits."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import frazil as fz


def until_close(x, tol):
    err = fz.sum(x * 0) + 1.0
    while err > tol:
        y = 0.5 * (x + 2.0 / x)
        err = fz.abs(y - x).max()
        x = y
    return x, err


def with_break(x, tol):
    while True:
        y = fz.cos(x)
        gap = fz.abs(y - x).max()
        x = y
        if gap < tol:
            break
    return x


def accepts_or_rejects(x, tol):
    """An ODE with steps of its own choice."""
    t, h = fz.sum(x * 0), fz.sum(x * 0) + 0.5
    taken = fz.sum(x * 0)
    while t < 2.0:
        k1 = -x * x
        y = x + h * k1
        k2 = -y * y
        z = x + h * 0.5 * (k1 + k2)
        err = fz.abs(z - y).max()
        if err < tol:
            t = t + h
            x = z
            taken = taken + 1.0
            h = fz.minimum(h * 1.5, 2.0 - t)
            h = fz.maximum(h, 1e-3)
        else:
            h = h * 0.5
    return x, t, taken


def of_argument(x, tol):
    s = x + 0
    while (s * s).sum() > tol:
        s *= 0.75
        s[0] = s[1] * 0.5
    return s


class Solver:
    def __init__(self, x):
        self.x = x

    def step(self):
        self.x = self.x * 0.9 + 0.01


def of_class(x, tol):
    solver = Solver(x)
    while solver.x.max() > tol * 10 + 0.2:
        solver.step()
    return solver.x


LOOPS = [until_close, with_break, accepts_or_rejects, of_argument, of_class]


def bits(result):
    return [np.asarray(t).tobytes() for t in (result if isinstance(result, tuple) else (result,))]


def vector(scale, n=3, dtype="float32"):
    return fz.asarray((np.linspace(0.6, 1.7, n) * scale).astype(dtype))


def tolerance(value, dtype="float32"):
    return fz.asarray(np.asarray(value, dtype))


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("n", [3, 2000])
def test_any_length_is_one_plan(loop, pure, n):
    traced = fz.trace(loop, pure=True) if pure else fz.trace(loop)
    tols = [0.02, 0.01, 0.001, 0.0003, 0.1, 0.00002, 0.007]
    for tol, scale in zip(tols * 6, [1.0, 1.1, 1.3, 2.0] * 20, strict=False):
        x = vector(scale, n)
        assert bits(traced(x, tolerance(tol))) == bits(loop(x, tolerance(tol)))
    skipped = traced.stats()["skipped"]
    for tol in tols + [0.015, 0.0001]:
        for scale in [1.0, 1.1, 1.3]:
            x = vector(scale, n)
            assert bits(traced(x, tolerance(tol))) == bits(loop(x, tolerance(tol))), tol
    assert traced.stats()["skipped"] - skipped >= 24, traced.explain()


def counting(x, limit):
    t = x.sum() * 0
    while t < limit:
        x = x * 0.5 + 0.25
        t = t + 1.0
    return x, t


def learnt(loop, *arguments, n=3):
    traced = fz.trace(loop)
    for k in range(12):
        traced(vector(1.0 + k / 16, n), *arguments)
    assert traced.stats()["skipped"] > 0, traced.explain()
    return traced


@pytest.mark.parametrize("n", [3, 1000])
def test_a_million_iterations_are_one_launch(n):
    traced = learnt(counting, tolerance(20.0), n=n)
    steps = 1_000_000 if n == 3 else 20_000
    skipped = traced.stats()["skipped"]
    x, t = traced(vector(1.0, n), tolerance(float(steps)))
    assert float(t) == steps and traced.stats()["skipped"] == skipped + 1
    assert traced.stats()["last_kernels"] < 20
    assert np.asarray(x).tobytes() == np.full(n, 0.5, np.float32).tobytes()


def test_a_condition_that_is_false_at_once_and_after_one_iteration():
    traced = learnt(counting, tolerance(20.0))
    for limit in [0.0, -1.0, 1.0, 0.5, 2.0, float("nan"), 0.0, 1.0, 30.0] * 3:
        got, want = (f(vector(1.5), tolerance(limit)) for f in (traced, counting))
        assert bits(got) == bits(want), limit


@pytest.mark.parametrize("n", [3, 1000, 100_000])
def test_an_endless_loop_can_be_interrupted(n):
    traced = learnt(counting, tolerance(20.0), n=n)
    x = vector(1.0, n)
    skipped = traced.stats()["skipped"]
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        traced(x, tolerance(float("inf")))
    timer.join()
    assert traced.stats()["skipped"] == skipped
    assert bits(traced(x, tolerance(25.0))) == bits(counting(x, tolerance(25.0)))
    assert np.asarray(x).tobytes() == np.asarray(vector(1.0, n)).tobytes()


def test_other_threads_run_meanwhile():
    traced = learnt(counting, tolerance(20.0))
    done = threading.Event()
    worker = threading.Thread(
        target=lambda: (traced(vector(1.0), tolerance(30_000_000.0 / 2)), done.set())
    )
    worker.start()
    counted = 0
    while not done.is_set():
        counted += 1
    worker.join()
    assert counted > 100


def test_the_interpreter_of_kernels_ends_there_too():
    program = f"""
import sys
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
import test_while_loops as t
for loop in t.LOOPS:
    traced = t.fz.trace(loop, pure=True)
    for k in range(30):
        x, tol = t.vector(1.0 + k / 16), t.tolerance(0.9**k)
        assert t.bits(traced(x, tol)) == t.bits(loop(x, tol))
"""
    environment = {**os.environ, "FRAZIL_JIT": "interp"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


def test_checks_compare_with_any_number_of_iterations():
    traced = fz.trace(counting, pure=True, check_every=3)
    for k in range(60):
        limit = tolerance(float(3 + k * 7 % 50))
        assert bits(traced(vector(1.0), limit)) == bits(counting(vector(1.0), limit))
    assert traced.stats()["skipped"] > 30


def test_a_promise_that_an_unseen_counter_breaks_is_found():
    calls = []

    class Counts:  # what it holds is nobody's argument
        def __init__(self):
            self.n = 0

    hidden = Counts()

    def body(x, limit):
        hidden.n = 0
        while x.sum() < limit:
            hidden.n += 1
            x = x + hidden.n
            calls.append(hidden.n)
        return x

    traced = fz.trace(body)
    for k in range(40):
        limit = tolerance(float(30 + k))
        assert bits(traced(vector(1.0), limit)) == bits(body(vector(1.0), limit))


def test_a_state_that_another_loop_left():
    def body(x, y, limit):
        t, late, z = x.sum() * 0, x + 1, y * 0.5
        while t < limit:
            t = t + 1.0
            late = fz.maximum(x, y)
        t = t * 0
        pair = [y, late]
        while t < limit:
            t = t + 1.0
            pair = [pair[1], z]
            z = fz.maximum(z, y) * 0.75
        return x, z, pair[0], pair[1]

    for pure in [True, False]:
        traced = fz.trace(body, pure=pure)
        for limit in [2, 2, 2, 2, 5, 3, 2, 1, 4, 0, 7, 2, 3, 6, 1] * 2:
            arguments = vector(1.0), vector(0.5 + limit), tolerance(float(limit))
            assert bits(traced(*arguments)) == bits(body(*arguments)), limit


def test_an_argument_that_few_iterations_write():
    def body(x, y, limit):
        x, t = x + 0, x.sum() * 0
        while t < limit:
            t = t + 1.0
            if fz.abs(x).max() > 1.0:
                y *= 0.5
            x = x * 0.75
        return x, t

    for pure in [True, False]:
        traced = fz.trace(body, pure=True, check_every=3) if pure else fz.trace(body)
        for scale in [2.0, 4.0, 0.5, 1.0, 0.25, 3.0] * 5:
            calls = []
            for f in (traced, body):
                y = vector(0.5)
                calls.append((bits(f(vector(scale), y, tolerance(5.0))), bits(y)))
            assert calls[0] == calls[1], scale
