"""What NumPy answers at the edges: lists, complex numbers and their NaNs, weights, ends of
differences, empty arrays, integers of 64 bits, covariances without full rank. Each case is called
with NumPy, and must give its result, dtype and all, or an exception of its class.
"""

import numpy as np
import pytest

import frazil as fz

RNG = np.random.default_rng(20)
NAN = np.array([complex(np.nan, 1), 1, complex(1, np.nan), complex(np.nan, np.nan), 2, 1])
LIST = [[1, 2, 3], [4, 5, 7]]
M = RNG.random((2, 4))


def z(*shape):
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


Z = z(5)
CASES = [
    *[
        (name, (LIST,), {})
        for name in (
            "mean std var median ptp sum max prod exp sqrt square cbrt deg2rad "
            "nansum nanmean nanstd nanmedian count_nonzero real conj angle exp2 isposinf diff sort "
            "nan_to_num logical_not average trapezoid transpose flip"
        ).split()
    ],
    *[
        (name, (LIST, LIST), {})
        for name in (
            "add logaddexp hypot fmax copysign logical_and isclose nextafter heaviside kron"
        ).split()
    ],
    ("percentile", (LIST, 50), {}),
    ("quantile", (LIST, 0.5), {}),
    ("clip", (LIST, 2, 4), {}),
    ("linalg.det", ([[1.0, 2], [3, 4]],), {}),
    ("linalg.inv", ([[1.0, 2], [3, 4]],), {}),
    ("unique", (NAN,), {}),
    ("unique", (NAN,), {"return_counts": True, "return_index": True, "return_inverse": True}),
    ("unique", (NAN,), {"equal_nan": False}),
    ("unique_counts", (NAN,), {}),
    ("isin", (Z, np.append(Z[:2], z(2))), {}),
    ("isin", (NAN, NAN), {"invert": True}),
    ("isin", (Z, RNG.random(3)), {}),
    ("intersect1d", (Z, np.append(Z[:2], z(2))), {}),
    ("setdiff1d", (Z, np.append(Z[:2], z(2))), {}),
    ("average", (z(4),), {"weights": RNG.random(4)}),
    ("cov", (z(3, 7),), {}),
    ("gradient", (z(7),), {}),
    ("gradient", (z(7), np.sort(RNG.random(7))), {"edge_order": 2}),
    ("interp", (np.linspace(-1, 2, 5), np.linspace(0, 1, 4), z(4)), {"left": 1j}),
    ("searchsorted", (np.arange(5.0), np.arange(3.0)), {"sorter": np.arange(4)}),
    ("searchsorted", (np.arange(5.0), np.arange(3.0)), {"sorter": np.arange(5)[None]}),
    ("searchsorted", (np.arange(5.0), np.arange(3.0)), {"sorter": np.full(5, 9)}),
    ("einsum", ("...i->i", z(2, 3)), {}),
    ("einsum", ("...i,...i->i", z(2, 3), z(2, 3)), {}),
    *[("linalg.cond", (np.zeros((3, 3)), p), {}) for p in (None, 2, 1, np.inf, "fro")],
    ("linalg.norm", (np.zeros((0, 3)),), {"ord": 1, "axis": (0, 1)}),
    ("linalg.norm", (np.zeros((3, 0)),), {"ord": "fro", "axis": (0, 1)}),
    ("cov", (M,), {"fweights": np.array([1, 2, 3, -1])}),
    ("cov", (M,), {"fweights": np.array([1.5, 2, 3, 1])}),
    ("cov", (M,), {"fweights": np.array([1.0, 2, 3, 1])}),
    ("cov", (M,), {"aweights": np.array([1, -1.0, 2, 3])}),
    ("cov", (M,), {"fweights": np.ones((1, 4), int)}),
    ("cov", (M,), {"aweights": np.ones(3)}),
    ("ediff1d", (np.arange(4),), {"to_end": np.array([1.5])}),
    ("ediff1d", (np.arange(4.0),), {"to_begin": np.array([1j])}),
    ("ediff1d", (np.arange(4, dtype="u1"),), {"to_end": np.array([-1])}),
    ("ediff1d", (np.arange(4, dtype="i1"),), {"to_end": np.array([700])}),
    ("ediff1d", (np.arange(4.0),), {"to_end": np.array([1, 2])}),
]


def result(module, name, args, kwargs, array):
    function = module
    for part in name.split("."):
        function = getattr(function, part)

    def given(a):
        return array(a) if isinstance(a, np.ndarray) else a

    try:
        found = function(*map(given, args), **{k: given(v) for k, v in kwargs.items()})
    except Exception as e:  # noqa: BLE001 -- whatever NumPy raises
        return e
    several = isinstance(found, (tuple, list))
    return [np.asarray(a) for a in (found if several else [found])]


@pytest.mark.parametrize(
    "name, args, kwargs", CASES, ids=[f"{i} {case[0]}" for i, case in enumerate(CASES)]
)
@pytest.mark.filterwarnings("ignore")
def test_as_numpy(name, args, kwargs):
    want = result(np, name, args, kwargs, np.asarray)
    got = result(fz, name, args, kwargs, fz.asarray)
    if isinstance(want, Exception):
        assert isinstance(got, type(want)) and str(got).startswith("["), got
        return
    assert isinstance(got, list), got
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape
        # floats of lists have the default dtype, float32 here
        assert g.dtype == w.dtype or (isinstance(args[0], list) and g.dtype.kind == w.dtype.kind)
        np.testing.assert_allclose(g, w, rtol=2e-6)


def test_complex_values_and_steps():
    # NumPy orders them by a hash table, and of the step it drops the imaginary part
    got = np.asarray(fz.unique_values(fz.asarray(NAN)))
    assert np.array_equal(got, NAN[[1, 4, 2, 0, 3]], equal_nan=True)
    x = RNG.random(7)
    assert np.allclose(np.asarray(fz.gradient(fz.asarray(x), 2 + 1j)), np.gradient(x) / (2 + 1j))


def test_a_list_in_a_trace_is_read_at_each_call():
    f = fz.trace(lambda x, values: fz.exp(values) + x)
    for values in ([0.0, 1.0], [2.0, 3.0], [2.0, 3.0], [5.0, 0.0]):
        assert np.allclose(np.asarray(f(fz.zeros(2), values)), np.exp(values))


def test_integers_of_all_64_bits():
    g = fz.random.Generator(3)
    whole = np.asarray(g.integers(-(2**63), 2**63, 4000))
    assert whole.dtype == np.int64 and (whole < 0).any() and (whole > 2**62).any()
    most = np.asarray(g.integers(0, 2**63, 4000))
    assert (most >= 0).all() and (most > 2**62).any()
    high = np.asarray(g.integers(2**63, 2**64, 4000, dtype=fz.uint64))
    assert high.dtype == np.uint64 and (high >= 2**63).all()
    with pytest.raises(ValueError, match=r"\[random.integers\] high is out of bounds of 64 bits"):
        g.integers(0, 2**64 + 1)
    with pytest.raises(ValueError, match=r"low must be below high: 9223372036854775808 and 0"):
        g.integers(2**63, 0)
    with pytest.raises(TypeError, match="low must be an integer, got float"):
        g.integers(0.5, 3)


def test_covariances_without_full_rank():
    g = fz.random.Generator(4)
    cov = np.array([[1.0, 2, 0], [2, 4, 0], [0, 0, 0]])
    drawn = np.asarray(g.multivariate_normal(fz.asarray([1.0, 2, 3]), fz.asarray(cov), (20_000,)))
    assert np.allclose(np.cov(drawn.T), cov, atol=0.15)
    assert np.allclose(drawn[:, 2], 3, atol=1e-6)
    assert np.allclose(drawn[:, 1], 2 * drawn[:, 0], atol=1e-5)
    assert np.allclose(np.asarray(g.multivariate_normal(fz.ones(2), fz.zeros((2, 2)), (3,))), 1)
    with pytest.raises(fz.linalg.LinAlgError, match="cov is not positive semidefinite"):
        g.multivariate_normal(fz.zeros(2), fz.asarray([[1.0, 2], [2, 1]]))


def test_probabilities():
    g = fz.random.Generator(5)
    for p in ([-0.5, 1, 0.5], [0.5, 1, 0.5], [0.5, np.nan, 0.5]):
        for call in (
            lambda p=p: g.choice(fz.arange(3), (2,), p=p),
            lambda p=p: g.choice(fz.arange(3), (2,), p=fz.asarray(p)),
            lambda p=p: g.multinomial(3, p),
            lambda p=p: g.dirichlet([*p[:2], -1]),
        ):
            with pytest.raises(ValueError, match=r"^\[random"):
                call()
    with pytest.raises(ValueError, match="need as many probabilities above 0, got 1"):
        g.choice(fz.arange(3), (2,), replace=False, p=fz.asarray([1.0, 0, 0]))
    for _ in range(50):
        drawn = g.choice(fz.arange(4), (3,), replace=False, p=fz.asarray([0.5, 0.25, 0, 0.25]))
        assert sorted(np.asarray(drawn).tolist()) == [0, 1, 3]
