"""Incomplete gamma and beta functions, beta, zeta and polygamma: values, ends, dtypes, gradients.

SciPy is the reference, but where it has fewer digits: there numbers of mpmath with 40.
"""

import numpy as np
import pytest

import frazil as fz
from frazil import special

sc = pytest.importorskip("scipy.special")
RNG = np.random.default_rng(5)
INF, NAN = np.inf, np.nan


def uniform(low, high, n=2000):
    return RNG.uniform(low, high, n)


def powers(low, high, n=2000):
    return 10.0 ** RNG.uniform(low, high, n)


def joined(*groups):
    return tuple(np.concatenate(parts) for parts in zip(*groups, strict=True))


GAMMA = joined(
    (uniform(0, 30), uniform(0, 30)),
    (powers(-8, 1), powers(-6, 1.5)),
    (uniform(1, 150), uniform(1, 150)),
    ((middle := powers(1, 3)), middle + np.sqrt(middle) * uniform(-3, 5)),
)
BETA = joined(
    (uniform(0, 30), uniform(0, 30), uniform(0, 1)),
    (uniform(1, 300), uniform(1, 300), uniform(0.1, 0.9)),
    (powers(-3, 1), powers(-3, 1), uniform(0, 1)),
    (powers(-3, 1), powers(-3, 1), powers(-10, 0)),
    (powers(-2, 1), powers(-2, 1), 1 - powers(-10, 0)),
)
# name: (arguments, relative error)
RANGES = {
    "gammainc": (GAMMA, 4e-13),
    "gammaincc": (GAMMA, 3e-13),
    "betainc": (BETA, 3e-13),
    "beta": (joined((uniform(0, 50), uniform(0, 50)), (uniform(-9, 0), uniform(-9, 9))), 2e-12),
    "betaln": (joined((uniform(0, 50), uniform(0, 50)), (powers(-9, 2), powers(-9, 2))), 2e-12),
    "zeta": (
        joined((uniform(1.001, 30), uniform(0.01, 30)), (uniform(1.1, 9), powers(-3, 6))),
        2e-14,
    ),
    "polygamma": ((RNG.integers(0, 20, 2000) * 1.0, uniform(0.1, 30)), 2e-13),
}  # fmt: skip


def theirs(name, *args):
    with np.errstate(all="ignore"):
        return getattr(sc, name)(*args)


@pytest.mark.parametrize("name", RANGES)
def test_float64_like_scipy(name):
    args, rtol = RANGES[name]
    want = theirs(name, *args)
    good = (np.abs(want) > 1e-280) & np.isfinite(want)
    got = np.asarray(getattr(special, name)(*args))
    # Beside zeros of digamma and of the logarithm of beta there is an absolute error.
    np.testing.assert_allclose(
        got[good], want[good], rtol, 2e-14 * (name in ("polygamma", "betaln"))
    )


# By mpmath, where SciPy has lost digits.
EXACT = [
    ("gammainc", (490.28408584601766, 61.98966719183189), 9.59328689378860947e-257),
    ("gammainc", (1e6, 1e6 - 5000.0), 2.74958035927007075e-7),
    ("gammaincc", (1e-10, 1e-3), 6.33153936221387677e-10),
    ("gammaincc", (0.5, 700.0), 2.1010145162642175e-306),
    ("betainc", (1e4, 2e4, 0.3), 5.2631142566060901e-36),
    ("betainc", (5.0, 1e-3, 0.99), 0.002558930912887573),
    ("beta", (200.0, 200.0), 9.7132172476111817981e-122),
    ("betaln", (1e5, 0.5), -5.1840965395604141282),
    ("zeta", (-200.5,), -2.320000663353332e215),
]


@pytest.mark.parametrize(("name", "args", "want"), EXACT)
def test_hard_arguments(name, args, want):
    got = float(getattr(fz, name)(*np.float64(args)))
    assert got == pytest.approx(want, rel=2e-12, abs=0)


SOME = (0.0, -0.0, 0.5, 1.0, 2.0, 3.0, -0.5, -1.0, -2.0, 60.0, 1e-300, 1e300, INF, -INF, NAN)
OTHERWISE = {  # limits that SciPy gives as NaN; orders of a gamma function's pole
    "zeta": lambda x, q: x > 1e200 or np.isnan([x, q]).any(),
    "betainc": lambda a, b, x: not (min(a, b) > 1e-200 and max(a, b) < 1e200),
    "beta": lambda a, b: not (a > 0 and b > 0) or a + b > 1e200,
    "betaln": lambda a, b: not (a > 0 and b > 0) or a + b > 1e200,
    "polygamma": lambda n, x: x == -INF or not n < 1e200 or n % 1 or abs(x) < 1e-200,
}


@pytest.mark.parametrize("name", RANGES)
def test_ends_like_scipy(name):
    n = len(RANGES[name][0])
    args = [v.ravel() for v in np.meshgrid(*[np.array(SOME)] * n)]
    skip = np.array(
        [OTHERWISE.get(name, lambda *a: False)(*a) for a in zip(*args, strict=True)], bool
    )
    got, want = np.asarray(getattr(fz, name)(*args)), theirs(name, *args)
    same = np.isclose(got, want, 2e-13, 1e-16, equal_nan=True) | skip
    assert same.all(), [
        (*(float(v[i]) for v in args), float(got[i]), float(want[i])) for i in np.flatnonzero(~same)
    ]


def test_riemanns_zeta():
    x = np.concatenate([uniform(-20, 1), uniform(1, 30), [0, -1, -2, 1, -7, 0.5, INF, NAN, -1000]])
    np.testing.assert_allclose(np.asarray(fz.zeta(x)), theirs("zeta", x), 2e-12, 1e-15)
    # Beside the pole x - 1 has lost digits, to SciPy as to us.
    assert np.isnan(float(fz.zeta(-INF)))


def test_negative_arguments_of_zeta_and_polygamma():
    q = uniform(-30, 0)
    for n in (2.0, 3.0, 8.0):
        np.testing.assert_allclose(np.asarray(fz.zeta(n, q)), theirs("zeta", n, q), 1e-11, 1e-13)
        np.testing.assert_allclose(
            np.asarray(fz.polygamma(n, q)), theirs("polygamma", n, q), 1e-11, 1e-11
        )
    assert np.isnan(float(fz.zeta(2.5, -0.5))) and float(fz.zeta(2.5, -1.0)) == INF


@pytest.mark.parametrize("name", RANGES)
def test_narrow_floats_round_once(name):
    args = [v.astype(np.float32) for v in RANGES[name][0]]
    want = theirs(name, *(v.astype(np.float64) for v in args))
    good = (np.abs(want) < 1e38) & (np.abs(want) > 1e-37)
    got = getattr(fz, name)(*args)
    assert got.dtype is fz.float32
    got = np.asarray(got).astype(np.float64)
    error = np.abs(got - want)[good] / np.spacing(np.abs(want[good]).astype(np.float32))
    assert error.max() <= 0.51
    halves = [fz.asarray(v[:100]).astype("bfloat16") for v in args]
    out = getattr(fz, name)(*halves)
    wide = getattr(fz, name)(*(h.astype("float64") for h in halves)).astype("bfloat16")
    assert out.dtype is fz.bfloat16
    np.testing.assert_array_equal(
        np.asarray(out.astype("float32")), np.asarray(wide.astype("float32"))
    )


@pytest.mark.parametrize("name", RANGES)
def test_traced_like_eager(name):
    function = getattr(fz, name)
    args = [fz.asarray(v[:40]) for v in RANGES[name][0]]
    want = [np.asarray(function(*args)).tobytes() for _ in range(4)]
    traced = fz.trace(lambda *a: function(*a) * 2 / 2)
    assert want == [np.asarray(traced(*args)).tobytes() for _ in range(4)]
    assert traced.stats()["recorded"] <= 1
    assert function(*(v[:0] for v in args)).shape == (0,)


def test_numbers_lists_and_complex():
    assert fz.betainc(2, 3, 0.5).item() == pytest.approx(0.6875, rel=1e-15)
    x = fz.asarray([0.25, 0.5], dtype="float64")
    want = theirs("betainc", 0.1, 3, np.asarray(x))
    np.testing.assert_allclose(np.asarray(fz.betainc(0.1, 3, x)), want, 1e-14)
    assert fz.gammainc(x[:, None], x).shape == (2, 2)
    assert fz.beta(2.0, 3.0).item() == pytest.approx(1 / 12) and fz.beta(1.0, 1.0).item() == 1
    for call in (lambda z: fz.betainc(z, 1.0, 0.5), lambda z: fz.zeta(z), lambda z: fz.beta(1, z)):
        with pytest.raises(TypeError, match="not defined for complex"):
            call(fz.asarray([1j]))


def slope(function, x):
    return np.asarray(fz.grad(lambda x: function(x).sum())(fz.asarray(x)))


def test_gradients_to_x_are_the_densities():
    a, x = (v[:3000] for v in GAMMA)
    density = np.exp(sc.xlogy(a - 1, x) - x - sc.gammaln(a))
    good = density > 1e-250
    for name, sign in (("gammainc", 1), ("gammaincc", -1)):
        got = sign * slope(lambda x: getattr(fz, name)(a, x), x)  # noqa: B023
        np.testing.assert_allclose(got[good], density[good], 1e-12)
    a, b, x = BETA
    density = np.exp(sc.xlogy(a - 1, x) + sc.xlog1py(b - 1, -x) - sc.betaln(a, b))
    good = (density > 1e-250) & (x < 1) & (density < 1e250)
    got = slope(lambda x: fz.betainc(a, b, x), x)
    np.testing.assert_allclose(got[good], density[good], 1e-10)


def test_gradients_to_the_parameters():
    a, b = np.array([0.3, 1.0, 2.5, 12.0, 40.0]), np.array([0.4, 3.0, 0.7, 9.0, 60.0])
    h = 1e-5
    for x in (0.1, 0.9, 3.0, 20.0, 45.0):
        want = (sc.gammainc(a + h, x) - sc.gammainc(a - h, x)) / (2 * h)
        np.testing.assert_allclose(slope(lambda a: fz.gammainc(a, x), a), want, 1e-6, 1e-10)  # noqa: B023
    for x in (0.1, 0.5, 0.95):
        for f, v in ((lambda a: fz.betainc(a, b, x), a), (lambda v: fz.betainc(a, v, x), b)):  # noqa: B023
            want = (np.asarray(f(v + h)) - np.asarray(f(v - h))) / (2 * h)
            np.testing.assert_allclose(slope(f, v), want, 1e-6, 1e-10)
    q = np.array([0.3, 1.0, 5.0])
    np.testing.assert_allclose(slope(lambda q: fz.zeta(3.0, q), q), -3 * sc.zeta(4.0, q), 1e-13)
    np.testing.assert_allclose(slope(lambda q: fz.polygamma(2, q), q), sc.polygamma(3, q), 1e-13)
    want = (sc.zeta(q + 2 + h, 2) - sc.zeta(q + 2 - h, 2)) / (2 * h)
    np.testing.assert_allclose(slope(lambda x: fz.zeta(x, 2.0), q + 2), want, 1e-7)
