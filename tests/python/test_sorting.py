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


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
def test_followed_searches_find_the_same(dtype):
    """A traced call searches by ops; it even looks where the other does in what is not sorted."""
    for n in (0, 1, 2, 3, 8, 77):
        for a in (np.sort(numbers(n, dtype)), numbers(n, dtype)):
            x, v = fz.asarray(a), fz.asarray(numbers(50, dtype, 2))
            for side in ("left", "right"):
                f = fz.trace(lambda x, v, side=side: fz.searchsorted(x, v, side=side))
                with fz.mode("eager"):
                    want = f(x, v).tolist()
                assert [f(x, v).tolist() for _ in range(3)] == [want] * 3


def test_followed_counts():
    x = fz.asarray([3, 0, 3, 9, 1])
    for weights in (None, fz.asarray([0.5, 1.0, 2.0, 4.0, 8.0]), fz.asarray([1, 2, 3, 4, 5])):
        f = fz.trace(lambda x, w=weights: fz.bincount(x, w, minlength=4))
        for y in (x, x, x[:3], x[:0], x) if weights is None else (x, x * 2, x):
            with fz.mode("eager"):
                want = f(y)
            got = f(y)
            assert (got.dtype, got.tolist()) == (want.dtype, want.tolist())
        with pytest.raises(ValueError, match="must not be negative, got -2"):
            f(fz.asarray([1, -1, -2, 0, 1]))
    with pytest.raises(ValueError, match=r"weights have shape \[2\], not \[5\]"):
        fz.trace(fz.bincount)(x, fz.ones(2))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "float64"])
def test_topk(dtype, largest):
    """The first of a sort, also of long vectors, where only some blocks are sorted: equal elements
    in their order, NaN last."""
    for n in (5, 3000, 50_000, 131_073):
        x = fz.asarray(np.round(numbers(n, dtype)).astype(dtype))
        order = np.asarray(fz.argsort(x, descending=largest))
        for k in (0, 1, 5, 20):
            if k <= n:
                values, indices = fz.topk(x, k, largest=largest)
                np.testing.assert_array_equal(np.asarray(indices), order[:k])
                np.testing.assert_array_equal(np.asarray(values), np.asarray(x)[order[:k]])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float16", "float32", "float64"])
def test_topk_of_rows(dtype):
    """A few of a row are found without a sort of all: as a sort has them, in either direction."""
    x = numbers(3 * 700, dtype).reshape(3, 700)
    x[1] = x[1, 0]
    for a in (x, x.T):
        t, axis = fz.asarray(a), a.shape.index(700)
        for largest in (True, False):
            order = np.asarray(fz.argsort(t, axis=axis, descending=largest))
            for k in (1, 3, 10):
                values, indices = fz.topk(t, k, axis=axis, largest=largest)
                want = np.take(order, range(k), axis=axis)
                np.testing.assert_array_equal(np.asarray(indices), want)
                np.testing.assert_array_equal(
                    np.asarray(values), np.take_along_axis(a, want, axis=axis)
                )


def test_topk_of_blocks_without_numbers():
    a = np.full(40_000, np.nan, "float32")
    a[[39_999, 20_000]] = 1, -np.inf
    for _ in range(3):
        indices = fz.trace(lambda x: fz.topk(x, 4).indices)(fz.asarray(a))
        assert indices.tolist() == [39_999, 20_000, 0, 1]


def test_topk_along_an_axis_and_its_gradient():
    a = np.random.default_rng(1).permutation(60).reshape(3, 4, 5).astype("float32")
    for axis in (0, 1, -1):
        got = fz.topk(fz.asarray(a), 2, axis=axis, largest=False).values
        want = np.take(np.sort(a, axis=axis), [0, 1], axis=axis)
        np.testing.assert_array_equal(np.asarray(got), want)
    g = fz.grad(lambda x: (fz.topk(x, 2).values * fz.asarray([1.0, 10.0])).sum())
    assert g(fz.asarray([3.0, 9.0, 4.0])).tolist() == [0.0, 1.0, 10.0]
    with pytest.raises(ValueError, match=r"^\[topk\] k 4 is more than the axis of extent 3 has\.$"):
        fz.topk(fz.asarray(a), 4, axis=0)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "float64"])
@pytest.mark.parametrize("n", [65_535, 65_536, 70_001, 131_072])
def test_the_place_of_an_extreme_of_long_vectors(threads, dtype, n):
    """Found by blocks: the first of equal ones, or the first NaN."""
    first = np.arange(n)[::-1] % 200
    for a in (numbers(n, dtype), first.astype(dtype), np.zeros(n, dtype)):
        assert fz.argmax(fz.asarray(a)).item() == np.argmax(a)
        assert fz.argmin(fz.asarray(a)).item() == np.argmin(a)


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique_with_and_without_a_trace(dtype):
    for n in (0, 1, 16, 5000):
        a = np.round(numbers(n, dtype)).astype(dtype)
        for equal_nan in (True, False):
            want = np.unique(a, equal_nan=equal_nan)
            unique = lambda x, e=equal_nan: fz.unique(x, equal_nan=e)  # noqa: E731
            for f in (unique, fz.trace(unique), fz.trace(unique)):
                np.testing.assert_array_equal(np.asarray(f(fz.asarray(a))), want)


def test_gradients_go_through_unique():
    g = fz.grad(lambda x: (fz.unique(x) * fz.asarray([1.0, 2.0])).sum())
    assert g(fz.asarray([3.0, 1.0, 3.0])).tolist() == [2.0, 1.0, 0.0]


def test_counts_by_any_number_of_threads(threads):
    rng = np.random.default_rng(1)
    for n in (0, 3, 40_001, 200_003):
        c = rng.integers(0, 77, n)
        got = fz.bincount(fz.asarray(c), minlength=80)
        np.testing.assert_array_equal(np.asarray(got), np.bincount(c, minlength=80))
    c[-1] = -3
    with pytest.raises(ValueError, match=r"^\[bincount\] elements must not be negative, got -3\.$"):
        fz.bincount(fz.asarray(c))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bins_of_elements_at_their_edges(threads, dtype):
    """As searchsorted finds them, which histograms of given edges ask."""
    for over in ((-1.0, 0.5), (-1e30, 1e30), (0.1, 0.1 + 1e-6)):
        x = np.random.default_rng(1).standard_normal(50_003).astype(dtype)
        edges = np.asarray(fz.histogram(fz.asarray(x), 37, range=over)[1])
        x[:38] = x[100:138] = edges
        x[38:76] = np.nextafter(edges, np.asarray(-np.inf, dtype))
        x[76] = np.nan
        counts, found = fz.histogram(fz.asarray(x), 37, range=over)
        np.testing.assert_array_equal(np.asarray(found), edges)
        np.testing.assert_array_equal(np.asarray(counts), np.histogram(x, edges)[0])
