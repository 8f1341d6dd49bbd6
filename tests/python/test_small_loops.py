"""Loops over small arrays, in the ways in which people write them: one kernel, eager's bits."""

import os
import subprocess
import sys

import numpy as np
import pytest

import frazil as fz

STEPS = 70


def rk4(slope, s, h=0.01):
    k1 = slope(s)
    k2 = slope(s + h / 2 * k1)
    k3 = slope(s + h / 2 * k2)
    k4 = slope(s + h * k3)
    return s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def stacked(s, a, b):
    def slope(s):
        x, y, z = s[0], s[1], s[2]
        return fz.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - (8.0 / 3.0) * z])

    for _ in range(STEPS):
        s = rk4(slope, s)
    return s


def product(s, a, b):
    for _ in range(STEPS):
        s = rk4(lambda s: a @ s + fz.stack([b[0, 0], -s[0] * s[2], s[0] * s[1]]), s)
    return s


def of_dict(s, a, b):
    s = {"x": s[0], "y": s[1], "v": a[0]}
    for _ in range(STEPS):
        turned = fz.roll(s["v"], 1)
        s = {"x": s["x"] + 0.01 * s["y"], "y": s["y"] - turned[1], "v": turned * 0.99}
    return s


class System:
    def __init__(self, s, a):
        self.s, self.a = s, a

    def step(self):
        self.s = rk4(lambda s: self.a @ s - s, self.s)
        self.s[1] = self.s[1] * 0.5


def of_class(s, a, b):
    system = System(s + 0, a)
    for _ in range(STEPS):
        system.step()
    return system.s


def in_place(s, a, b):
    s = s + 0
    for _ in range(STEPS):
        k = fz.zeros_like(s)
        k[0] = s[1] - s[0]
        k[1:] = s[:2] * 0.5
        s += 0.01 * k
        s[2] = s[2] + 0.25
    return s


def kept(s, a, b):
    every, norms = [], []
    for _ in range(STEPS):
        s = a @ s * 0.1 + b[0]
        every.append(s)
        norms.append(fz.sqrt((s * s).sum()))
    return fz.stack(every), fz.stack(norms), every[5], every[-2]


def moving(s, a, b):
    rows = []
    for t in range(b.shape[0]):
        s = fz.concat([s[1:], b[t][:1]]) - b[t] * 0.125
        rows.append(s[::-1])
    return fz.stack(rows), s


def assigned(s, a, b):
    out = fz.zeros((STEPS, 3), dtype=s.dtype)
    for t in range(STEPS):
        s = fz.stack([s[1], s[2], s[0] * 0.5])
        out[t] = s
    return out


def lags(s, a, b):
    y = fz.zeros(STEPS, dtype=s.dtype)
    y[0], y[1] = s[0], s[1]
    for t in range(2, STEPS):
        y[t] = 0.5 * y[t - 1] - 0.25 * y[t - 2] + b[t, 0]
    return y, y[3], y[-1]


def filled(s, a, b):
    # Backwards, a part of it, and rows that stay as they were.
    out, line = b * 2, fz.zeros((3, STEPS), dtype=s.dtype)
    for t in reversed(range(STEPS // 3, STEPS)):
        s = fz.roll(s, 1) * 0.9
        out[t] = s
        line[:, t] = s + out[t]
    return out, line, out[2:4]


def recurrent(s, a, b):
    every = []
    for t in range(STEPS):
        s = fz.tanh(a @ s + b[t])
        every.append(s)
    return fz.stack(every)


def matrices(s, a, b):
    p = a
    for _ in range(STEPS):
        p = (a @ p @ a.T) * 0.05 + fz.eye(3, dtype=a.dtype)
        det = p[0, 0] * p[1, 1] - p[0, 1] * p[1, 0]
        inverse = fz.stack([fz.stack([p[1, 1], -p[0, 1]]), fz.stack([-p[1, 0], p[0, 0]])]) / det
        p = p - fz.pad(inverse, ((0, 1), (0, 1))) * 0.01
    return p


def reductions(s, a, b):
    for _ in range(STEPS):
        s = fz.where(s > s.mean(), s - s.max(), s + s.min()) / (1 + fz.prod(s * s))
        s = s + fz.cumulative_sum(s) * 0.1 + fz.argmax(s) * 0.01
    return s


def functions(s, a, b):
    for _ in range(STEPS):
        s = fz.tanh(fz.flip(s)) + fz.exp(-(s[0] ** 2)) * fz.sin(s[1]) - fz.clip(s, -0.1, 0.1)
    return s


def nested(s, a, b):
    for _ in range(20):
        for _ in range(10):
            s = fz.stack([s[1], s[2], s[0]]) * 0.99
        s = s + a[0]
        for i in range(3):
            s[i] = s[i] * 0.5
    return s


def steps_around(s, a, b):
    # An outer loop of steps over arrays that are too large, with a small one inside.
    w = fz.ones((40, 40), dtype=s.dtype) * 0.01
    v = fz.ones((40,), dtype=s.dtype)
    for _ in range(10):
        v = w @ v + s[0]
        for _ in range(30):
            s = fz.roll(s, 1) * 0.9 + v[:3]
    return s, v


FORMS = {f.__name__: f for f in (
    stacked, product, of_dict, of_class, in_place, kept, moving, assigned, lags, filled, recurrent,
    matrices, reductions, functions, nested, steps_around,
)}  # fmt: skip
# Of all their work but an iteration or two.
ONE_KERNEL = sorted(set(FORMS) - {"nested", "moving"})
# Passes back that read more than one slice of an array an iteration, or another one now and then.
IN_PARTS = {"kept", "moving", "assigned", "lags", "filled"}


def arguments(dtype):
    rng = np.random.default_rng(5)
    return tuple(
        fz.asarray(rng.standard_normal(shape).astype(np.float32), dtype=dtype)
        for shape in ((3,), (3, 3), (STEPS, 3))
    )


def bits(value):
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple):
        return [word for v in value for word in bits(v)]
    return [np.asarray(value).tobytes()]


def settle(f, args):
    for _ in range(5):
        result = f(*args)
    return result


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FORMS)
def test_bits_are_those_of_eager(name, dtype):
    body, args = FORMS[name], arguments(dtype)
    f = fz.trace(body, pure=True)
    want = bits(body(*args))
    assert bits(settle(f, args)) == want
    assert f.stats()["skipped"] > 0, f.explain()
    assert bits(settle(fz.trace(body), args)) == want


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_a_loop_is_one_kernel(name):
    args = arguments("float32")
    f = fz.trace(FORMS[name], pure=True)
    settle(f, args)
    f.clear()
    settle(f, args)
    assert kernels_of(f) <= 32, f.explain()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [2, 9, 100, 1000])
@pytest.mark.parametrize("axis", [0, 1])
def test_independent_instances(axis, count, dtype):
    def slope(s):
        x, y, z = (s[(slice(None),) * (1 - axis) + (i,)] for i in range(3))
        return fz.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - z], axis=1 - axis)

    def body(s, shared):
        every = []
        for t in range(STEPS):
            s = rk4(slope, s) + shared[t, 0]
            every.append(s)
        return s, fz.stack(every)

    shape = (3, count) if axis else (count, 3)
    s = fz.asarray(np.random.default_rng(6).standard_normal(shape).astype(np.float32), dtype=dtype)
    args = s, arguments(dtype)[2]
    f = fz.trace(body, pure=True)
    assert bits(settle(f, args)) == bits(body(*args))
    assert any("loop of" in step for plan in f.memory_plan() for step in plan.steps)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "int8", "uint64"])
def test_other_types(dtype):
    def body(s, a):
        for _ in range(STEPS):
            s = fz.stack([s[1], s[2] + a[0], s[0] * a[1]])
            s = fz.where(s > a, s - a, fz.maximum(s, fz.roll(a, 1)))
            s = s + (s[:2] * a[1:]).sum()
        return s

    def integers():
        return fz.asarray([3, 1, 2]).astype(dtype), fz.asarray([2, 3, 1]).astype(dtype)

    f = fz.trace(body, pure=True)
    got = settle(f, integers())
    want = body(*integers())
    assert got.dtype == want.dtype
    assert got.astype("float64").tolist() == want.astype("float64").tolist()


def gradients(name):
    def loss(*args):
        results = FORMS[name](*args)
        if isinstance(results, dict):
            results = tuple(results.values())
        return sum((r * r).sum() for r in (results if isinstance(results, tuple) else (results,)))

    return lambda *args: tuple(fz.value_and_grad(loss, argnums=(0, 1, 2))(*args)[1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FORMS)
def test_gradients_have_the_bits_of_eager(name, dtype):
    body, args = gradients(name), arguments(dtype)
    want = bits(body(*args))
    f = fz.trace(body, pure=True)
    assert bits(settle(f, args)) == want
    assert f.stats()["skipped"] > 0, f.explain()
    assert bits(settle(fz.trace(body), args)) == want


def kernels_of(f):
    """What the last plans of a pure function run."""
    skipping = [line for line in f.explain().splitlines() if "skip the body" in line]
    return int(skipping[-1].rsplit(": ", 1)[1].split()[0])


@pytest.mark.parametrize("name", sorted(set(FORMS) - IN_PARTS))
def test_a_pass_back_is_one_kernel(name):
    args = arguments("float32")
    f = fz.trace(gradients(name), pure=True)
    settle(f, args)
    f.clear()
    settle(f, args)
    assert kernels_of(f) <= 40, f.explain()


@pytest.mark.parametrize(
    "switch", ["FRAZIL_ISA=avx2", "FRAZIL_JIT=interp", "FRAZIL_PASSES=-scalars"]
)
def test_other_executors(switch):
    # The same bits, whoever runs the kernels.
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import frazil as fz\n"
        "from test_small_loops import FORMS, arguments, bits, settle\n"
        "for dtype in ('float32', 'float64'):\n"
        "    for f in FORMS.values():\n"
        "        got = settle(fz.trace(f, pure=True), arguments(dtype))\n"
        "        print(''.join(word.hex() for word in bits(got)))\n"
    )
    name, value = switch.split("=")
    run = subprocess.run(
        [sys.executable, "-c", code, os.path.dirname(__file__)],
        capture_output=True, text=True, env=os.environ | {name: value},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    want = [
        b"".join(bits(f(*arguments(dtype)))).hex()
        for dtype in ("float32", "float64")
        for f in FORMS.values()
    ]
    assert run.stdout.split() == want
