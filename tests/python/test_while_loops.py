"""While loops that test their condition inside one plan: any number of iterations, eager's bits."""

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
    for tol in tols * 3:
        assert bits(traced(vector(1.0, n), tolerance(tol))) == bits(loop(vector(1.0, n), tolerance(tol)))
    skipped = traced.stats()["skipped"]
    for tol in tols + [0.015, 0.0001]:
        for scale in [1.0, 1.1, 1.3]:
            x = vector(scale, n)
            assert bits(traced(x, tolerance(tol))) == bits(loop(x, tolerance(tol))), tol
    assert traced.stats()["skipped"] - skipped >= 24, traced.explain()
