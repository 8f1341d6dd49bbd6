"""Loops of so many calls that a program has them as one (tracer/counted_loop.h)."""

import os

import numpy as np
import pytest

import frazil as fz

STEPS = 1200  # of 16 calls or more


def scalars(x, y):
    for _ in range(STEPS):
        for _ in range(4):
            x = x + 0.01 * (y - x)
            y = y - 0.02 * (x * y)
    return x, y


def vector(x, y):
    w = x * y
    for _ in range(STEPS):
        for _ in range(4):
            w = fz.sin(w * 0.9) + x * 0.5 - y
    return w + 1


def swapped(x, y):
    """The states change places."""
    for _ in range(STEPS * 4):
        x, y = y * 0.5 + 0.25, x * 0.75 - 0.125
        x, y = fz.maximum(x, y * -1.5), fz.minimum(x, y)
    return {"x": x, "y": y}


def products(x, y):
    w, h = fz.outer(x, y) * 0.1, x
    for _ in range(STEPS * 2):
        for _ in range(2):
            h = fz.tanh(w @ h + y)
            h = h - fz.mean(h) * 0.25
    return h, w


def by_product(x, y):
    """What the last iteration makes besides its state is wanted, too."""
    for _ in range(STEPS):
        for _ in range(4):
            slope = y - x * 0.5
            x = x + slope * 0.125
            y = y * 0.75 + slope * 0.0625
    return x, slope


def two_loops(x, y):
    for _ in range(STEPS):
        for _ in range(4):
            x = fz.cos(x) * y + 0.25
            x = x * 0.5
    z = x.sum()
    for _ in range(STEPS):
        for _ in range(4):
            y = fz.tanh(y * z) + x
            y = y * 0.5
    return x, y


def in_place(x, y):
    x = x * 1
    for _ in range(STEPS):
        for _ in range(4):
            x *= 0.875
            x += y * 0.125
    return x


def some_kept(x, y):
    """States of iterations before the last are wanted."""
    kept = []
    for i in range(STEPS):
        for _ in range(4):
            x = x * 0.75 + y
            x = fz.sin(x)
        if i % 100 == 0:
            kept.append(x)
    return fz.stack(kept), x


def older_states(x, y):
    """An iteration takes what two before it left."""
    before = y
    for _ in range(STEPS * 4):
        x, before = x * 0.5 + before * 0.25, x
        x = fz.sin(x * 1.5)
    return x, before


def changing_number(x, y):
    for i in range(STEPS * 4):
        x = x * 0.5 + y * (i * 0.001)
        x = fz.sin(x)
    return x


def a_number_at_times(x, y):
    for i in range(STEPS):
        for _ in range(4):
            x = fz.sin(x * (0.5 if i < 700 else 0.75)) + y
            x = x * 0.875
    return x


def draws(x, y):
    fz.random.seed(3)
    for _ in range(STEPS):
        x = x * 0.5 + fz.random.normal(x.shape)
        x = fz.sin(x) * y
    return x


def dead_call(x, y):
    """Of which the state that it reads is two iterations old."""
    for _ in range(STEPS * 4):
        d = x * 0.5  # noqa: F841
        x, y = y, fz.tanh(y.sum() + y)
    return y, x


def moved_elements(x, y):
    x, d = x * 1, y * 0.5
    for _ in range(STEPS):
        x[0] = d[-1]
        x = fz.roll(x * 0.75, 1) + y[::-1]
        d = d * 0.5 + x
    for _ in range(STEPS):
        for _ in range(2):
            x = x * 0.875 + y * 0.25
            d = d - x * 0.125
    return x, d


def looks(x, y):
    """The condition of a while loop around a long loop."""
    n = 0
    while n < 3 and bool(x.sum() < 1e6):
        for _ in range(STEPS * 2):
            x = x * 0.9375 + y * 0.25
            x = fz.maximum(x, 0.125)
        n += 1
    return x


FORMS = (
    scalars, vector, swapped, products, by_product, two_loops, in_place, some_kept, older_states,
    changing_number, a_number_at_times, draws, dead_call, moved_elements, looks,
)  # fmt: skip


def same(found, expected):
    leaves, structure = fz.tree.flatten(found)
    other, expected_structure = fz.tree.flatten(expected)
    assert structure == expected_structure
    for a, b in zip(leaves, other, strict=True):
        assert a.dtype == b.dtype
        if a.dtype == fz.bfloat16:
            a, b = a.astype("float32"), b.astype("float32")
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("pure", [False, True], ids=["plain", "pure"])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_bits_of_the_eager_call(form, pure):
    traced = fz.trace(form, pure=pure)
    for n in range(6):
        x = fz.asarray([0.5, -0.25, 1.5, float(n)], dtype="float32")
        y = fz.asarray([0.125, 0.75, -0.5, 2.0], dtype="float32")
        same(traced(x, y), form(x, y))
    assert traced.stats()["skipped"] > 0, traced.explain()


DTYPES = ("complex64", "float64", "bfloat16")
OTHER = [
    (form, dtype)
    for n, form in enumerate((scalars, vector, by_product, moved_elements, dead_call))
    for k, dtype in enumerate(DTYPES)
    if n == k or os.environ.get("FRAZIL_NIGHTLY")
]


@pytest.mark.parametrize(("form", "dtype"), OTHER)
def test_other_dtypes(form, dtype):
    traced = fz.trace(form)
    for n in range(5):
        x = fz.asarray([0.5, -0.25, 1.5, float(n)]).astype(dtype)
        y = fz.asarray([0.125, 0.75, -0.5, 2.0]).astype(dtype)
        same(traced(x, y), form(x, y))
    assert traced.stats()["skipped"] > 0, traced.explain()


def test_gradients():
    def loss(x, y):
        return (scalars(x, y)[0] ** 2).sum()

    x, y = fz.asarray([0.5, 0.25]), fz.asarray([0.75, 1.5])
    traced = fz.trace(fz.grad(loss))
    expected = fz.grad(loss)(x, y)
    for _ in range(4):
        same(traced(x, y), expected)


def test_another_number_of_steps():
    def run(x, steps):
        for _ in range(steps):
            x = fz.sin(x) * 1.25 + 0.125
        return x

    traced = fz.trace(run)
    x = fz.asarray([0.5, -0.25])
    for steps in (9000, 9000, 9000, 9000, 7000, 7000, 7000, 7000, 9000, 100, 9001):
        same(traced(x, steps), run(x, steps))
