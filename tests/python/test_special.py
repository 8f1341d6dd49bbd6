"""Special functions against SciPy: values over their ranges, ends, dtypes, traced."""

import numpy as np
import pytest

import frazil as fz
from frazil import special

sc = pytest.importorskip("scipy.special")
RNG = np.random.default_rng(3)


def points(*ranges):
    return np.concatenate([RNG.uniform(low, high, 2000) for low, high in ranges])


TINY = 10.0 ** RNG.uniform(-300, 0, 2000)
# name: (arguments, relative error, absolute error beside zeros and for tails)
RANGES = {
    "gamma": (points((0, 3), (0, 20), (0, 170), (-5, 0)), 4e-15, 0),
    "gammaln": (points((0, 4), (0.9, 1.1), (0, 100), (-10, 0), (1e3, 1e15)), 2e-15, 2e-14),
    "digamma": (points((0, 4), (0, 100), (-10, 0), (1e3, 1e9)), 2e-13, 2e-14),
    "erfc": (points((-6, 6), (0, 26), (-0.6, 0.6)), 2e-13, 0),
    "erfinv": (np.concatenate([points((-1, 1)), 1 - 2.0 ** -np.arange(1, 53), TINY]), 2e-15, 0),
    "erfcinv": (np.concatenate([points((0, 2)), TINY]), 3e-15, 0),
    "ndtr": (points((-37, 9), (-3, 3)), 3e-13, 0),
    "log_ndtr": (points((-1000, 8), (-5, 5)), 5e-15, 0),
    "ndtri": (np.concatenate([points((0, 1)), TINY]), 3e-15, 1e-16),
    "j0": (points((-10, 10), (-100, 100)), 1e-15, 1e-15),
    "j1": (points((-10, 10), (-100, 100)), 1e-15, 1e-15),
    "y0": (points((0, 10), (0, 100)), 2e-15, 2e-15),
    "y1": (points((0, 10), (0, 100)), 2e-15, 2e-15),
    **dict.fromkeys(("i0", "i1", "i0e", "i1e"), (points((-10, 10), (-100, 100)), 3e-15, 0)),
    "logit": (points((0, 1), (0.4, 0.6)), 2e-15, 2e-16),
}
ENDS = np.array([0.0, -0.0, 1, -1, 2, -2, 0.5, 5, 8, np.inf, -np.inf, np.nan])
OTHERWISE = {  # limits, where SciPy has NaN or the other infinity
    "gammaln": {-np.inf: np.inf},
    "j0": {np.inf: 0.0, -np.inf: 0.0},
    "j1": {np.inf: 0.0, -np.inf: -0.0},
    "y0": {np.inf: 0.0},
    "y1": {np.inf: 0.0},
    "i0": {np.inf: np.inf, -np.inf: np.inf},
    "i1": {np.inf: np.inf, -np.inf: -np.inf},
}


def theirs(name, x):
    with np.errstate(all="ignore"):
        return getattr(sc, name)(x)


@pytest.mark.parametrize("name", RANGES)
def test_float64_like_scipy(name):
    x, rtol, atol = RANGES[name]
    np.testing.assert_allclose(np.asarray(getattr(special, name)(x)), theirs(name, x), rtol, atol)
    got = np.asarray(getattr(special, name)(ENDS))
    want = np.array(
        [OTHERWISE.get(name, {}).get(v, w) for v, w in zip(ENDS, theirs(name, ENDS), strict=True)]
    )
    np.testing.assert_allclose(got, want, max(rtol, 1e-14), 1e-16)


@pytest.mark.parametrize("name", RANGES)
def test_narrow_floats_round_once(name):
    x = RANGES[name][0].astype(np.float32)
    want = theirs(name, x.astype(np.float64))
    good = (np.abs(want) < 1e38) & (np.abs(want) > 1e-37)
    got = np.asarray(getattr(fz, name)(x)).astype(np.float64)
    error = np.abs(got - want)[good] / np.spacing(np.abs(want[good]).astype(np.float32))
    assert error.max() <= 0.51
    half = fz.asarray(x[:100]).astype("float16")
    with np.errstate(all="ignore"):
        want = theirs(name, np.asarray(half).astype(np.float64)).astype(np.float16)
    out = getattr(fz, name)(half)
    assert out.dtype is fz.float16
    np.testing.assert_allclose(np.asarray(out), want, rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("name", RANGES)
def test_traced_and_of_integers(name):
    function = getattr(fz, name)
    x = fz.asarray(RANGES[name][0][:50])
    traced = fz.trace(lambda x: function(x) * 2 + x)
    want = np.asarray(function(x) * 2 + x).tobytes()
    assert all(np.asarray(traced(x)).tobytes() == want for _ in range(3))
    whole = function(fz.asarray([1, 2, 3]))
    assert whole.dtype is fz.float64 and function(fz.asarray([[]])).shape == (1, 0)


@pytest.mark.parametrize("name", RANGES)
def test_traced_and_eager_calls_are_recorded_once(name):
    function = getattr(fz, name)
    traced = fz.trace(lambda x: function(x) * 2)
    x = fz.asarray(RANGES[name][0][:50])
    for _ in range(5):
        traced(x)
    stats = traced.stats()
    assert stats["recorded"] <= 1, stats


def test_of_two_numbers():
    x, y = (
        np.array([0.0, 0, 0, 1, 2, 0, np.nan])[:, None],
        np.array([0.0, 1, np.inf, np.nan, 3, -1]),
    )
    for name in ("xlogy", "xlog1py"):
        np.testing.assert_allclose(np.asarray(getattr(fz, name)(x, y)), theirs2(name, x, y), 1e-15)
    slope = fz.grad(lambda x: fz.xlogy(x, 3.0).sum())(fz.asarray([0.0, 1.0]))
    assert slope.tolist() == pytest.approx([np.log(3)] * 2)


def theirs2(name, x, y):
    with np.errstate(all="ignore"):
        return getattr(sc, name)(x, y)


DERIVATIVES = {
    "gammaln": ([0.5, 1, 1.5, 2, 3, 7, 30, -1.3], lambda x: sc.digamma(x)),
    "digamma": ([0.5, 1.5, 12, -1.3], lambda x: sc.polygamma(1, x)),
    "gamma": ([0.5, 2, 5, -1.3], lambda x: sc.gamma(x) * sc.digamma(x)),
    "erfinv": ([0, 0.3, 0.9, 0.99], lambda x: np.sqrt(np.pi) / 2 * np.exp(sc.erfinv(x) ** 2)),
    "erfc": ([0.2, 0.5, 3, -2], lambda x: -2 / np.sqrt(np.pi) * np.exp(-x * x)),
    "ndtr": ([0, -3, 2], lambda x: np.exp(-x * x / 2) / np.sqrt(2 * np.pi)),
    "j0": ([0.0, 1, 5, 7], lambda x: -sc.j1(x)),
    "i0": ([0, 1, 8, 9], sc.i1),
    "y0": ([0.3, 5, 7], lambda x: -sc.y1(x)),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_gradients_are_the_derivatives(name):
    x, derivative = DERIVATIVES[name]
    x = np.asarray(x, float)
    slope = fz.grad(lambda x: getattr(fz, name)(x).sum())(fz.asarray(x))
    np.testing.assert_allclose(np.asarray(slope), derivative(x), 1e-12, 1e-14)


def test_names_of_scipy():
    assert special.psi is special.digamma
    for name in special.__all__:
        assert hasattr(sc, name) or name in ("erf", "erfcinv"), name
