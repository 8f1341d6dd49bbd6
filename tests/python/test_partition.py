"""partition and argpartition by one element: what lies before it, with it and behind it."""

import numpy as np
import pytest

import frazil as fz

RNG = np.random.default_rng(3)
# Few elements; more than a sample is drawn of; more than one thread takes.
SIZES = (1, 2, 33, 4097, 50_000, 300_000)


def around(x, kth):
    """The order that partitions x, stable in each of its three parts; NaN is behind all."""
    order = np.argsort(x, kind="stable")
    of = x[order[kth]]
    nan = x != x
    less = ~nan if of != of else x < of
    equal = nan if of != of else x == of
    parts = [np.flatnonzero(p) for p in (less, equal, ~(less | equal))]
    return np.concatenate(parts)


def arrays(dtype, n):
    if dtype.kind == "f":
        x = RNG.standard_normal(n).astype(dtype)
        yield "normal", x
        yield "rising", np.sort(x)
        holes = x.copy()
        holes[RNG.random(n) < 0.3] = np.nan
        holes[RNG.random(n) < 0.2] = -0.0
        holes[RNG.random(n) < 0.2] = 0.0
        yield "holes", holes
        yield "nan", np.full(n, np.nan, dtype)
    else:
        info = np.iinfo(dtype)
        yield "all", RNG.integers(info.min, info.max, n, dtype, endpoint=True)
    yield "few", RNG.integers(0, 3, n).astype(dtype)
    yield "falling", (np.arange(n)[::-1] % 30_000).astype(dtype)
    yield "same", np.ones(n, dtype)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "i4", "i2", "u1", "u4", "u8"])
def test_three_parts(dtype, n):
    dtype = np.dtype(dtype)
    for kind, x in arrays(dtype, n):
        for kth in {0, n // 3, n // 2, n - 1}:
            order = around(x, kth)
            t = fz.asarray(x)
            got = np.asarray(fz.partition(t, kth))
            assert got.tobytes() == x[order].tobytes(), (kind, kth)
            assert np.array_equal(np.asarray(fz.argpartition(t, kth)), order), (kind, kth)


def test_axes_and_negative_places():
    x = RNG.standard_normal((40, 30, 7)).astype("f4")
    t = fz.asarray(x)
    for axis, n in enumerate(x.shape):
        got = np.asarray(fz.partition(t, -3, axis=axis))
        want = np.apply_along_axis(lambda v, n=n: v[around(v, n - 3)], axis, x)
        assert np.array_equal(got, want)
    flat = x.ravel()
    assert np.array_equal(np.asarray(fz.partition(t, 5, axis=None)), flat[around(flat, 5)])


def test_several_places_are_sorted():
    x = RNG.standard_normal(50)
    assert np.array_equal(np.asarray(fz.partition(fz.asarray(x), (3, 20))), np.sort(x))


def test_gradients_go_where_the_elements_were():
    x, weights = RNG.standard_normal(5000), RNG.standard_normal(5000)
    want = np.empty(5000)
    want[around(x, 1234)] = weights

    def cost(t):
        return (fz.partition(t, 1234) * fz.asarray(weights)).sum()

    assert np.array_equal(np.asarray(fz.grad(cost)(fz.asarray(x))), want)
    assert np.array_equal(np.asarray(fz.grad(fz.trace(cost))(fz.asarray(x))), want)


@pytest.mark.parametrize("kind", ["normal", "holes", "infinite", "few"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_quantiles_of_long_rows_are_those_of_sorted_ones(dtype, kind):
    x = RNG.standard_normal((3, 5000)).astype(dtype)
    if kind == "holes":
        x[1, RNG.integers(0, 5000, 9)] = np.nan
    elif kind == "infinite":
        x[RNG.random(x.shape) < 0.3] = np.inf
        x[RNG.random(x.shape) < 0.3] = -np.inf
    elif kind == "few":
        x = np.round(x) * np.array(1, dtype)
    t = fz.asarray(x)
    for q in (0.0, 0.3, 0.5, 0.99987, 1.0):
        for method in ("linear", "lower", "nearest", "midpoint", "hazen", "averaged_inverted_cdf"):
            got = fz.quantile(t, q, axis=1, method=method)
            several = fz.quantile(t, [q, 0.5], axis=1, method=method)  # which sort
            assert np.asarray(got).tobytes() == np.asarray(several[0]).tobytes(), (q, method)
    assert np.array_equal(np.asarray(fz.median(t, axis=1)), np.median(x, axis=1), equal_nan=True)
    whole = fz.median(t, keepdims=True)
    assert whole.shape == (1, 1)
    assert np.array_equal(np.asarray(fz.trace(fz.median)(t)), np.asarray(whole)[0, 0], True)


def test_gradients_of_long_medians():
    x = fz.asarray(RNG.standard_normal(6001))
    slope = np.asarray(fz.grad(fz.median)(x))
    assert slope.sum() == 1 and slope[int(fz.argpartition(x, 3000)[3000])] == 1
