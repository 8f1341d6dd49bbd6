"""NumPy's daily names against NumPy: the table of name_cases.py, dtypes, layouts, traced, wrong."""

import warnings

import numpy as np
import pytest
from name_cases import CASES

import frazil as fz

OTHER_DTYPE = {"logspace", "geomspace", "identity", "tri"}  # float32 if none is given
IDS = [f"{name}-{number}" for number, (name, _, _) in enumerate(CASES)]
# NumPy gives float64 of whatever; here floats keep their dtype.
KEEPS = {"bincount", "corrcoef", "cov", "interp", "polyint", "vander"}
# Whose steps move with the rounding of a narrower dtype.
EXACT = {"histogram", "histogram2d", "histogram_bin_edges", "unwrap", "digitize"}


def over(value, function):
    """value with its arrays replaced."""
    if isinstance(value, np.ndarray):
        return function(value)
    if isinstance(value, (list, tuple)):
        return type(value)(over(v, function) for v in value)
    return value


def called(name, module, args, kwargs, function=lambda a: a):
    kwargs = {key: over(v, function) for key, v in kwargs.items()}
    return getattr(module, name)(*(over(a, function) for a in args), **kwargs)


def wanted(name, args, kwargs):
    if name == "partition":  # any order that partitions; ours keeps each part as it stands
        x, kth = args
        of = np.sort(x)[kth]
        return np.concatenate([x[x < of], x[x == of], x[x > of]])
    return called(name, np, args, kwargs)


def agree(got, want, name, rtol):
    if isinstance(want, (list, tuple)):
        assert isinstance(got, (list, tuple)) and len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            agree(g, w, name, rtol)
        return
    want = np.asarray(want)
    assert isinstance(got, fz.Tensor) and got.shape == want.shape
    kept = name in OTHER_DTYPE or (name in KEEPS and got.dtype.name == "float32")
    assert got.dtype.name == want.dtype.name or kept
    narrow = got.dtype.name == "float32"
    rtol = max(rtol, 1e-6) if narrow else rtol
    np.testing.assert_allclose(
        np.asarray(got), want, rtol=rtol, atol=1e-12 if rtol < 1e-6 else 2e-5
    )


@pytest.mark.parametrize(("name", "args", "kwargs"), CASES, ids=IDS)
def test_like_numpy(name, args, kwargs):
    agree(called(name, fz, args, kwargs, fz.asarray), wanted(name, args, kwargs), name, 1e-10)


def apart(a):
    """A tensor with the elements of a in a layout that is not dense."""
    if a.ndim == 0:
        return fz.asarray(a)
    wide = np.zeros([2 * n + 1 for n in a.shape], a.dtype)
    places = tuple(slice(1, 2 * n + 1, 2) for n in a.shape)
    wide[places] = a
    return fz.asarray(wide.T).T[places]


@pytest.mark.parametrize(("name", "args", "kwargs"), CASES, ids=IDS)
def test_traced_like_eager_and_of_any_layout(name, args, kwargs):
    tensors = []

    def taken(a):
        tensors.append(fz.asarray(a))
        return tensors[-1]

    eager = called(name, fz, args, kwargs, taken)
    words = [t for t in parts(eager)]

    @fz.trace
    def traced(*given):
        left = iter(given)
        return parts(called(name, fz, args, kwargs, lambda a: next(left)))

    for _ in range(3):
        again = traced(*tensors)
        assert [np.asarray(t).tobytes() for t in again] == [np.asarray(t).tobytes() for t in words]
    agree(called(name, fz, args, kwargs, apart), wanted(name, args, kwargs), name, 1e-10)


def parts(result):
    return [p for r in result for p in parts(r)] if isinstance(result, (list, tuple)) else [result]


@pytest.mark.parametrize(("name", "args", "kwargs"), [row for row in CASES if row[0] not in EXACT])
def test_narrower_dtypes(name, args, kwargs):
    def narrow(a):
        return a.astype({"f": "float32", "i": "int32"}.get(a.dtype.kind, a.dtype))

    args, kwargs = over(args, narrow), {key: over(v, narrow) for key, v in kwargs.items()}
    agree(called(name, fz, args, kwargs, fz.asarray), wanted(name, args, kwargs), name, 2e-4)


V, M = np.arange(3.0), np.ones((2, 3))
WRONG = [
    ("array_split", (V, 0), "must be positive, got 0"),
    ("hsplit", (np.array(1.0), 2), "at least 1 axes"),
    ("vsplit", (V, 3), "at least 2 axes, got shape (3,)"),
    ("dsplit", (M, 3), "at least 3 axes, got shape (2, 3)"),
    ("hsplit", (M, 2), "extent 3 has no 2 equal parts"),
    ("fliplr", (V,), "at least 2 axes"),
    ("flipud", (np.array(1.0),), "at least 1 axes"),
    ("rot90", (M, 1, (0, 0)), "must differ"),
    ("rot90", (M, 1, (0, 1, 1)), "needs two axes"),
    ("rollaxis", (M, 5), "axis 5 is out of range"),
    ("rollaxis", (M, 0, 7), "start 7 is out of range"),
    ("delete", (V, 5), "place 5 is out of range"),
    ("insert", (V, 7, 1), "place 7 is out of range"),
    ("diagonal", (V,), "at least two axes, got shape (3,)"),
    ("diagonal", (M, 0, 1, 1), "must differ, got 1 and 1"),
    ("diag", (np.ones((2, 2, 2)),), "one axis or two"),
    ("dot", (V, M), "inner dimensions differ"),
    ("vander", (M,), "needs a vector, got shape (2, 3)"),
    ("ix_", (M,), "needs vectors"),
    ("cross", (np.ones(4), np.ones(4)), "three elements along axis -1, got 4 and 4"),
    ("kron", (V, "a"), "str"),
    ("geomspace", (0, 1), "two numbers of one sign"),
    ("einsum", ("ij,jk", M), "of 2 operands, 1 are given"),
    ("einsum", ("ij", V), "does not fit an operand of shape (3,)"),
    ("einsum", ("ij->k", M), "the result has 'k'"),
    ("einsum", ("ij->ii", M), "letter twice"),
    ("einsum", ("ij,ij", M, np.ones((3, 3))), "'i' has extents 2 and 3"),
    ("einsum", ("i1", M), "'1' in 'i1' is no letter"),
    ("einsum", (), "needs a formula"),
    ("average", (M, None, V), "need an axis"),
    ("average", (M, 0, V), "do not fit axes [0] of (2, 3)"),
    ("cov", (np.ones((2, 2, 2)),), "at most two axes"),
    ("bincount", (np.array([-1]),), "must not be negative, got -1"),
    ("bincount", (V,), "takes integers, got float64"),
    ("bincount", (np.ones((2, 2), int),), "needs a vector"),
    ("bincount", (np.ones(2, int), np.ones(3)), "weights have shape [3], not [2]"),
    ("digitize", (V, np.array([1.0, 3, 2])), "rise or fall"),
    ("digitize", (V, M), "bins must be a vector"),
    ("histogram", (V, 0), "at least 1, got 0"),
    ("histogram", (V, np.array([2.0, 1])), "edges must rise"),
    ("histogram", (V, 3, (2, 1)), "the range must rise"),
    ("histogram", (np.array([1.0, np.inf]),), "must be finite"),
    ("gradient", (np.ones(1),), "needs 2 points along axis 0, got 1"),
    ("gradient", (V, np.ones(2)), "coordinates of shape (2,) for 3 points"),
    ("gradient", (M, 1.0, 2.0, 3.0), "3 spacings for 2 axes"),
    ("interp", (V, V, np.ones(2)), "got shapes (3,) and (2,)"),
    ("interp", (V, np.ones(0), np.ones(0)), "needs points"),
    ("convolve", (V, np.ones(0)), "needs elements"),
    ("convolve", (V, M), "needs vectors"),
    ("convolve", (V, V, "all"), "mode must be 'full', 'same' or 'valid', got 'all'"),
    ("correlate", (V, np.ones(0)), "needs elements"),
    ("select", ([V > 1], [V, V]), "1 conditions for 2 choices"),
    ("select", ([V], [V]), "a condition is float64, not bool"),
    ("choose", (np.array([5]), [V, V]), "not one of 2 choices"),
    ("compress", (M > 0, M), "must be a vector"),
    ("lexsort", ((),), "at least one key"),
    ("partition", (V, 5), "kth 5 is out of range"),
    ("argpartition", (V, -4), "kth -4 is out of range"),
    ("unravel_index", (np.array([6]), (2, 3)), "out of range for shape (2, 3)"),
    ("unravel_index", (V, (2, 3)), "indices must be integers"),
    ("ravel_multi_index", ((np.array([2]), np.array([0])), (2, 3)), "out of range for extent 2"),
    ("ravel_multi_index", ((np.array([1]),), (2, 3)), "1 indices for 2 axes"),
    ("quantile", (V, 2.0), "q must lie from 0 to 1, got 2"),
    ("percentile", (V, 101), "q must lie from 0 to 100, got 101"),
    ("quantile", (V, 0.5, 3), "axis 3 is out of range for rank 1"),
    ("ptp", (np.ones(0),), "empty"),
    ("gcd", (V, V), "takes integers, got float64"),
    ("lcm", (V, V), "takes integers, got float64"),
    ("bitwise_count", (V,), "takes integers, got float64"),
    ("nanmax", (V, 2), "axis 2 is out of range for rank 1"),
]


@pytest.mark.parametrize(
    ("name", "args", "text"), WRONG, ids=[f"{r[0]}-{n}" for n, r in enumerate(WRONG)]
)
def test_wrong_input(name, args, text):
    with pytest.raises(Exception) as theirs:
        called(name, np, args, {})
    before = [a.copy() for a in args if isinstance(a, np.ndarray)]
    with pytest.raises(Exception) as ours:
        called(name, fz, args, {}, fz.asarray)
    # NumPy's AxisError is both; its own classes are TypeErrors.
    assert isinstance(theirs.value, type(ours.value)), (type(theirs.value), str(theirs.value))
    assert text in str(ours.value), str(ours.value)
    assert str(ours.value).startswith("[")
    now = [a for a in args if isinstance(a, np.ndarray)]
    assert all(np.array_equal(x, y) for x, y in zip(before, now, strict=True))


REFUSED = [  # as NumPy, but it has another class or none
    ("rot90", (M, 1, (0, 5)), {}, IndexError, "axis 5 is out of range for rank 2"),
    ("choose", (np.array([0]), [V, V]), {"mode": "x"}, ValueError, "mode must be"),
    ("quantile", (V, 0.5), {"method": "magic"}, ValueError, 'got "magic".'),
    ("median", (np.ones((0, 2)), 0), {}, ValueError, "of no elements is none"),
    ("polyval", (M, 1.0), {}, ValueError, "coefficients of one axis"),
    ("index_add", (V, np.array([3]), np.ones(1)), {}, IndexError, "3"),
    ("apply_along_axis", (np.sum, 0, np.ones((3, 0))), {}, ValueError, "has no rows along axis 0"),
    ("einsum", ("i,i", V, V), {"optimize": "fast"}, ValueError, "optimize must be a bool"),
    (
        "einsum",
        ("i,i", V, V),
        {"optimize": ["einsum_path", (0, 2)]},
        ValueError,
        "no step of a path",
    ),
]


@pytest.mark.parametrize(("name", "args", "kwargs", "kind", "text"), REFUSED)
def test_refused(name, args, kwargs, kind, text):
    with pytest.raises(kind) as error:
        called(name, fz, args, kwargs, fz.asarray)
    assert text in str(error.value)


def test_einsum_chooses_cheap_pairs():
    a, b, c = np.ones((2, 60)), np.ones((60, 60)), np.ones((60, 3))
    path, text = fz.einsum_path("ij,jk,kl->il", a, b, c)
    assert path == np.einsum_path("ij,jk,kl->il", a, b, c, optimize="optimal")[0]
    assert "chosen" in text
    chain = "ab,bc,cd,de,ef->af"
    arrays = [np.ones((n, 6 - n)) for n in (1, 5, 1, 5, 1)]
    path, _ = fz.einsum_path(chain, *arrays)
    assert len(path) == 5 and all(len(pair) == 2 for pair in path[1:])


def test_quantiles_of_every_method():
    methods = (
        "linear lower higher nearest midpoint inverted_cdf averaged_inverted_cdf hazen weibull "
        "closest_observation interpolated_inverted_cdf median_unbiased normal_unbiased"
    ).split()
    rng = np.random.default_rng(1)
    a = rng.normal(size=(4, 5, 6))
    gaps = np.where(rng.random(a.shape) < 0.2, np.nan, a)
    gaps[1, 1] = np.nan
    for name, x in (("quantile", a), ("nanquantile", gaps), ("quantile", gaps)):
        for method in methods:
            for axis in (None, 0, -1, (0, 2)):
                for q in (0.3, 0, 1.0, [0.1, 0.5, 0.75]):
                    for keep in (False, True):
                        options = {"axis": axis, "method": method, "keepdims": keep}
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")  # of slices that are all NaN
                            want = getattr(np, name)(x, q, **options)
                        got = getattr(fz, name)(fz.asarray(x), q, **options)
                        agree(got, want, name, 1e-12)
