"""Quantiles and medians of short rows, which are compared rather than sorted: each place of a row,
NaN, infinities, both ways to compute them, traced and untraced."""

import numpy as np
import pytest

import frazil as fz

RNG = np.random.default_rng(5)
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17)  # the last one is sorted


def rows(dtype, n):
    x = RNG.integers(-9, 9, (40, n)).astype(dtype)
    if x.dtype.kind == "f":
        x[3] = np.inf
        x[5, n // 2] = -np.inf
        x[7, n - 1] = np.nan
        x[8] = np.nan
    return x


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "i4", "u1"])
def test_places(dtype, n):
    x = rows(dtype, n)
    levels = fz.asarray([i / max(n - 1, 1) for i in range(n)], dtype=fz.float64)
    got = np.asarray(fz.quantile(fz.asarray(x), levels, axis=1, method="nearest"))
    want = np.sort(x, axis=1).T.copy()
    want[:, np.isnan(want).any(axis=0)] = np.nan if x.dtype.kind == "f" else 0
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("n", SIZES)
def test_as_with_gradients(n):
    """What gradients flow through is sorted: the same values."""
    x = rows("f8", n)[:, :, None] * np.array([1.0, -2.0, 0.5])
    t, wanted = fz.asarray(x), fz.asarray(x, requires_grad=True)
    for method in ("linear", "lower", "midpoint", "hazen", "averaged_inverted_cdf"):
        for q in (0.0, 0.3, 0.5, 0.77, 1.0):
            plain = fz.quantile(t, q, axis=1, method=method)
            sorted_ = fz.quantile(wanted, q, axis=1, method=method).detach()
            np.testing.assert_array_equal(np.asarray(plain), np.asarray(sorted_))
    np.testing.assert_array_equal(
        np.asarray(fz.median(t, axis=1)), np.asarray(fz.median(wanted, axis=1).detach())
    )


@pytest.mark.parametrize("axis", [0, 1, (0, 2), -1])
def test_axes_and_bits(axis):
    x = RNG.standard_normal((3, 5, 4)).astype("f4")
    t, f = fz.asarray(x), lambda t: fz.median(t * 2, axis=axis)
    g = fz.trace(f)
    want = np.median(x * 2, axis=axis)
    for _ in range(6):
        got = np.asarray(g(t))
        np.testing.assert_allclose(got, want, rtol=1e-6)
        with fz.mode("eager"):
            assert np.asarray(f(t)).tobytes() == got.tobytes()
    with_vmap = fz.vmap(lambda row: fz.median(row, axis=0))(t)
    np.testing.assert_allclose(np.asarray(with_vmap), np.median(x, axis=1), rtol=1e-6)
