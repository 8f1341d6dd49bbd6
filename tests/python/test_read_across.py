"""Elementwise kernels over operands that lie across their rows, which are turned first, and pads of
rows of a few elements: NumPy's values, and the same bits traced and untraced."""

import numpy as np
import pytest

import frazil as fz

RNG = np.random.default_rng(11)


def check(f, *arrays):
    """f of tensors, traced and not, against f of arrays."""
    tensors = [fz.asarray(a) for a in arrays]
    with fz.mode("eager"):
        got = [np.asarray(y) for y in fz.tree.leaves(f(*tensors))]
    want = f(*arrays)
    for y, z in zip(got, want if isinstance(want, tuple) else (want,), strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-6)
    traced = fz.trace(f)
    for _ in range(6):
        again = [np.asarray(y) for y in fz.tree.leaves(traced(*tensors))]
        assert [y.tobytes() for y in again] == [y.tobytes() for y in got]


# Squares of 16 elements; runs that are written apart; neither.
SHAPES = [(5, 8, 8, 16), (6, 3, 5, 160), (2, 64, 33, 4), (3, 7, 9, 40)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["f4", "i4", "f8", "f2"])
def test_channels_first(dtype, shape):
    x = RNG.integers(-9, 9, shape).astype(dtype)
    bias = RNG.integers(1, 9, shape[-1:]).astype(dtype)[:, None, None]
    first = x.transpose(0, 3, 1, 2).copy()

    def turn(t):
        return t.permute(0, 3, 1, 2) if isinstance(t, fz.Tensor) else t.transpose(0, 3, 1, 2)

    check(lambda x: -turn(x), x)
    check(lambda x, y: turn(x) * 2 + y, x, first)
    check(lambda x, b: turn(x) * turn(x) + b, x, bias)
    check(lambda x, y: (turn(x)[:, 1:, :, 1:] + y[:, 1:, :, 1:], turn(x) > 0), x, first)
    check(lambda x: turn(x)[:, :, ::2, ::2] != turn(x)[:, :, ::2, ::2] + 1, x)


def test_most_results_say_how_rows_run():
    a, b, m = (RNG.standard_normal((70, 96)).astype("f4") for _ in range(3))

    def f(a, b, m):
        total = a.T + b.T  # the one result that lies across the others
        new = m * 0.5 + total.T * 0.25
        return total, new, new * new, m - new

    check(f, a, b, m)


def test_in_place():
    a = RNG.standard_normal((96, 96)).astype("f4")
    want = a + a.T
    for mode in ("eager", "auto"):
        with fz.mode(mode):
            x = fz.asarray(a) * 1
            x += x.T
            np.testing.assert_array_equal(np.asarray(x), want)
            x = fz.asarray(a) * 1
            x[...] = x.T * 2
            np.testing.assert_array_equal(np.asarray(x), a.T * 2)


@pytest.mark.parametrize("shape", [(4, 3, 4, 1, 4, 1), (2, 16, 3, 1, 5, 1), (0, 2, 2, 1, 2, 1)])
def test_pads_of_short_rows(shape):
    x = RNG.standard_normal(shape).astype("f4")
    width = [(0, 0)] * 3 + [(0, 1), (0, 0), (1, 1)]
    across = np.ascontiguousarray(x.transpose(0, 2, 3, 4, 5, 1)).transpose(0, 5, 1, 2, 3, 4)
    for a in (x, across):
        for value in (0.0, -np.inf):
            for dtype in ("f4", "i8", "bool", "c8"):
                if value and dtype in ("i8", "bool"):
                    continue
                given = fz.asarray(a.astype(dtype))
                given = given if a is x else given.permute(0, 2, 3, 4, 5, 1).copy()
                given = given if a is x else given.permute(0, 5, 1, 2, 3, 4)
                got = fz.pad(given, width, constant_values=value)
                want = np.pad(a.astype(dtype), width, constant_values=np.asarray(value, dtype))
                np.testing.assert_array_equal(np.asarray(got), want)


def test_gradients_of_every_second_element():
    x = RNG.standard_normal((8, 16, 8, 8)).astype("f4")
    g = RNG.standard_normal((8, 4, 4, 16)).astype("f4")
    t = fz.asarray(x, requires_grad=True)
    t[:, :, ::2, 1::2].backward(fz.asarray(g).permute(0, 3, 1, 2))
    want = np.zeros_like(x)
    want[:, :, ::2, 1::2] = g.transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(np.asarray(t.grad), want)
