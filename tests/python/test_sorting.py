"""Sorting and searching against NumPy: long rows, any number of threads, NaN and both zeros."""

import numpy as np
import pytest

import frazil as fz

DTYPES = "bool int8 uint8 int16 uint32 int32 int64 uint64 float16 float32 float64".split()


def numbers(n, dtype, seed=1):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(n) < 0.5
    if dtype.startswith("uint"):
        return rng.integers(0, 2**30, n).astype(dtype)
    a = (rng.standard_normal(n) * 100).astype(dtype)
    if dtype.startswith("float") and n > 10:
        for value in (np.nan, -0.0, 0.0):
            a[rng.integers(0, n, n // 9)] = value
    return a


@pytest.fixture(params=[1, 2, 3, 7])
def threads(request):
    before = fz.get_num_threads()
    fz.set_num_threads(request.param)
    yield
    fz.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES)
def test_long_rows_by_any_number_of_threads(threads, dtype):
    """131072 keys and more are shared out, each thread's sorted and then merged."""
    for n in (1, 17, 131_071, 131_072, 200_001):
        a = numbers(n, dtype)
        x = fz.asarray(a)
        order = np.argsort(a, kind="stable")
        np.testing.assert_array_equal(np.asarray(fz.argsort(x)), order)
        got = np.asarray(fz.sort(x))
        np.testing.assert_array_equal(got, a[order])
        if dtype.startswith("float"):
            zeros = got == 0
            np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(a[order][zeros]))
        falling = np.asarray(fz.sort(x, descending=True))
        number = ~np.isnan(falling)
        np.testing.assert_array_equal(falling[number], a[order][~np.isnan(a[order])][::-1])
        assert number[: number.sum()].all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_searchsorted(threads, dtype):
    for n in (0, 1, 2, 7, 1000):
        a = np.sort(numbers(n, dtype))
        for m in (0, 1, 3000):
            v = numbers(m, dtype, 2)
            for side in ("left", "right"):
                got = fz.searchsorted(fz.asarray(a), fz.asarray(v), side=side)
                np.testing.assert_array_equal(np.asarray(got), np.searchsorted(a, v, side=side))
