"""Functions of the array API that are made of others, against NumPy, eager and traced."""

import numpy as np
import pytest

import frazil as fz

RNG = np.random.default_rng(7)
FLOATS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, 3e30, np.inf, -np.inf, np.nan])


def agree(function, *arrays, rtol=0.0, atol=0.0):
    """function(module, *arrays) of frazil gives what NumPy's does, and the same bits traced."""
    with np.errstate(all="ignore"):
        wanted = function(np, *arrays)
    tensors = [fz.asarray(a) for a in arrays]
    got = function(fz, *tensors)
    assert got.shape == np.shape(wanted) and got.dtype.name == wanted.dtype.name
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=rtol, atol=atol, equal_nan=True)
    traced = fz.trace(lambda *t: function(fz, *t))
    for _ in range(3):
        again = np.asarray(traced(*tensors))
        same = again.tobytes() == np.asarray(got).tobytes()
        assert same or (np.isnan(again) & np.isnan(np.asarray(got))).any()
        np.testing.assert_array_equal(again, np.asarray(got))


UNARY = {
    "sinh": (-40, 40), "cosh": (-40, 40), "arcsinh": (-40, 40), "arccosh": (1, 40),
    "arctanh": (-0.99, 0.99), "log2": (1e-3, 1e3), "log10": (1e-3, 1e3),
    "arcsin": (-1, 1), "arccos": (-1, 1), "arctan": (-40, 40),
}  # fmt: skip
NAMES = {
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name, dtype):
    low, high = UNARY[name]
    a = np.concatenate([RNG.uniform(low, high, 200), np.linspace(low, min(low + 1, high), 50)])
    a = a.astype(dtype) if dtype == "int32" else np.concatenate([a, FLOATS]).astype(dtype)

    def call(module, x):
        return getattr(module, name if module is np else NAMES.get(name, name))(x)

    agree(call, a, rtol=5e-7 if dtype == "float32" else 9e-16)


def test_functions_at_their_ends():
    for name in ("sinh", "cosh"):
        x = np.array([709.0, 710.0, 711.0, -710.0, 0.0, -0.0])
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(
                getattr(fz, name)(fz.asarray(x)), getattr(np, name)(x), 1e-15
            )
    for got in (fz.sinh(fz.asarray([-0.0])), fz.asinh(fz.asarray([-0.0]))):
        assert np.signbit(np.asarray(got)).all()
    powers = range(-1022, 1024)
    assert fz.log2(fz.asarray([2.0**k for k in powers], dtype="float64")).tolist() == [*powers]
    powers = range(-300, 309)
    tens = fz.asarray([float(f"1e{k}") for k in powers], dtype="float64")
    assert fz.log10(tens).tolist() == [*powers]
    assert fz.asinh(fz.asarray([1e300], dtype="float64")).item() == pytest.approx(np.arcsinh(1e300))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", ["hypot", "logaddexp", "copysign"])
def test_functions_of_two_numbers(name, dtype):
    with np.errstate(over="ignore"):
        special = FLOATS[:-1].astype(dtype)
    a = np.concatenate([RNG.normal(size=90).astype(dtype), special])
    rtol = {"float16": 2e-3, "float32": 3e-7, "float64": 2e-15}[dtype]
    agree(lambda m, x, y: getattr(m, name)(x, y), a[:, None], a, rtol=rtol, atol=rtol)
    integers = np.array([3, -4], "int32")
    agree(lambda m, x: getattr(m, name)(x, 4), integers, rtol=rtol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_atan2(dtype):
    a = np.concatenate([RNG.normal(size=90) * 3, FLOATS[:4], FLOATS[-3:], [1e-300, 1e300]])
    with np.errstate(over="ignore"):
        a = a.astype(dtype)
    rtol = 5e-7 if dtype == "float32" else 9e-16

    def call(module, y, x):
        return (module.arctan2 if module is np else module.atan2)(y, x)

    agree(call, a[:, None], a, rtol=rtol)
    zeros = np.array([0.0, -0.0])
    got = np.asarray(fz.atan2(fz.asarray(zeros)[:, None], fz.asarray(zeros)))
    wanted = np.arctan2(zeros[:, None], zeros)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))
    y, x = fz.asarray([1.5], dtype=dtype), fz.asarray([-0.5], dtype=dtype)
    grads = fz.grad(lambda y, x: fz.atan2(y, x).sum(), argnums=(0, 1))(y, x)
    assert [g.item() for g in grads] == pytest.approx([-0.5 / 2.5, -1.5 / 2.5], rel=1e-6)


def test_hypot_does_not_overflow():
    x = fz.asarray([3e300, 3e-320], dtype="float64")
    assert fz.hypot(x, x / 3 * 4).tolist() == pytest.approx([5e300, 5e-320], rel=1e-3)
    assert fz.hypot(fz.asarray([np.inf]), fz.asarray([np.nan])).item() == np.inf


@pytest.mark.parametrize("a", [FLOATS, FLOATS.astype("float32"), np.array([1, 0, -1], "int8")])
def test_signbit_and_nan_to_num(a):
    agree(lambda m, x: m.signbit(x), np.nan_to_num(a, nan=1.0))
    agree(lambda m, x: m.nan_to_num(x), a)
    agree(lambda m, x: m.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-2.0), a)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "bool", "int64"])
@pytest.mark.parametrize("shape", [(1,), (7,), (64,), (65,), (1000,), (5000,), (3, 70), (0,)])
def test_cumulative(dtype, shape):
    a = (RNG.normal(size=shape) * 3).astype(dtype)
    rtol = 2e-4 if dtype == "float32" else 1e-9
    for axis in range(len(shape)):
        agree(lambda m, x, k=axis: m.cumulative_sum(x, axis=k), a, rtol=rtol, atol=10 * rtol)
        agree(lambda m, x, k=axis: m.cumsum(x, axis=k), a, rtol=rtol, atol=10 * rtol)
        if a.size < 100:
            agree(lambda m, x, k=axis: m.cumulative_prod(x, axis=k), a, rtol=rtol, atol=10 * rtol)
            options = {"axis": axis, "include_initial": True}
            agree(lambda m, x, o=options: m.cumulative_sum(x, **o), a, rtol=rtol, atol=10 * rtol)


def test_cumulative_keeps_the_sign_of_zero_and_narrow_sums():
    zeros = np.asarray(fz.cumsum(fz.full((200,), -0.0)))
    assert np.signbit(zeros).all()
    assert fz.cumsum(fz.ones(4096, dtype="float16"))[-1].item() == 4096
    assert fz.cumsum(fz.asarray([[1, 2], [3, 4]])).tolist() == [1, 3, 6, 10]
    with pytest.raises(ValueError) as error:
        fz.cumulative_sum(fz.ones((2, 2)))
    assert str(error.value) == "[cumulative_sum] needs an axis for 2 axes: f32[2,2]."


def test_gradients_at_zero_and_on_the_diagonal():
    zero = fz.asarray([0.0, -0.0])
    for f in (fz.sinh, fz.asinh, fz.atanh, fz.asin, fz.atan):
        assert fz.grad(lambda x, f=f: f(x).sum())(zero).tolist() == [1.0, 1.0]
    assert fz.grad(lambda x: fz.cosh(x).sum())(zero).tolist() == [0.0, 0.0]
    ones = fz.ones(2)
    for g in fz.grad(lambda y, x: fz.atan2(y, x).sum(), argnums=(0, 1))(ones, ones):
        assert [abs(v) for v in g.tolist()] == [0.5, 0.5]


def test_gradients_flow():
    x = fz.asarray(RNG.normal(size=200))
    w = fz.asarray(RNG.normal(size=200))
    order = np.argsort(np.asarray(x), kind="stable")
    for f, wanted in (
        (lambda t: (fz.cumsum(t) * w).sum(), np.cumsum(np.asarray(w)[::-1])[::-1]),
        (lambda t: (fz.sort(t) * w).sum(), np.asarray(w)[np.argsort(order)]),
        (lambda t: fz.sinh(t).sum(), np.cosh(np.asarray(x))),
        (lambda t: fz.atan(t).sum(), 1 / (1 + np.asarray(x) ** 2)),
        (lambda t: fz.asinh(t).sum(), 1 / np.sqrt(1 + np.asarray(x) ** 2)),
        (
            lambda t: fz.acosh(t * t + 1.5).sum(),
            2 * np.asarray(x) / np.sqrt((np.asarray(x) ** 2 + 1.5) ** 2 - 1),
        ),
        (lambda t: fz.acos(t / 9).sum(), -1 / np.sqrt(81 - np.asarray(x) ** 2)),
        (lambda t: fz.atanh(t / 9).sum(), 9 / (81 - np.asarray(x) ** 2)),
        (lambda t: fz.log2(t * t).sum(), 2 / np.asarray(x) / np.log(2)),
        (lambda t: fz.hypot(t, w).sum(), np.asarray(x) / np.hypot(np.asarray(x), np.asarray(w))),
        (lambda t: fz.logaddexp(t, t).sum(), np.ones(200)),
    ):
        for g in (fz.grad(f), fz.trace(fz.grad(f))):
            np.testing.assert_allclose(np.asarray(g(x)), wanted, rtol=1e-9)


SORTED = [
    np.array([3, 1, 2, 1]), np.array([0.5, np.nan, -1.0, 0.5, -0.0, 0.0, np.inf, -np.inf]),
    np.array([True, False, True]), np.array([], "float32"), np.array([2**64 - 1, 0], "uint64"),
    np.array([1.5, -2.0, 0.25], "float16"), RNG.integers(0, 9, (4, 5, 6)),
    RNG.normal(size=(3, 50)).astype("float32"), np.zeros((0, 3)), np.zeros((3, 0)),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(SORTED)))
def test_sorting(i):
    a = SORTED[i]
    for axis in range(-1, a.ndim):
        agree(lambda m, x, k=axis: m.sort(x, axis=k, stable=True), a)
        agree(lambda m, x, k=axis: m.argsort(x, axis=k, stable=True), a)
    agree(lambda m, x: m.argsort(m.permute_dims(x, tuple(range(x.ndim))[::-1]), stable=True), a)


def test_descending_is_stable_with_nan_last():
    x = fz.asarray([1.0, np.nan, 2.0, 1.0, 2.0])
    assert fz.argsort(x, descending=True).tolist() == [2, 4, 0, 3, 1]
    assert fz.sort(x, descending=True).tolist()[:4] == [2, 2, 1, 1]
    assert fz.sort(fz.asarray([-128, 127, 0], dtype="int8"), descending=True).tolist() == [
        127, 0, -128,
    ]  # fmt: skip
    with pytest.raises(IndexError) as error:
        fz.sort(x, axis=1)
    assert str(error.value) == "[sort] axis 1 is out of range for rank 1."


def test_searchsorted():
    a = np.array([1.0, 2.0, 2.0, 5.0, np.nan])
    v = np.array([[0.0, 2.0, 3.0], [9.0, np.nan, 1.0]])
    for side in ("left", "right"):
        agree(lambda m, x, y, s=side: m.searchsorted(x, y, side=s), a, v)
        agree(lambda m, x, y, s=side: m.searchsorted(x, y, side=s), np.array([1, 4]), v)
    with pytest.raises(ValueError) as error:
        fz.searchsorted(fz.asarray(a), fz.asarray(v), side="middle")
    assert str(error.value) == '[searchsorted] side must be "left" or "right".'
    with pytest.raises(ValueError, match=r"^\[searchsorted\] needs a sorted array of one axis"):
        fz.searchsorted(fz.asarray(v), fz.asarray(a))


@pytest.mark.parametrize("i", range(len(SORTED)))
def test_sets(i):
    a = SORTED[i]
    x = fz.asarray(a)
    names = "unique_all unique_counts unique_inverse".split()
    for function in (*(getattr(fz, n) for n in names), *(fz.trace(getattr(fz, n)) for n in names)):
        name = function.__name__
        got, wanted = function(x), getattr(np, name)(a)
        assert got._fields == wanted._fields
        for g, w in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(g), w)
    np.testing.assert_array_equal(np.asarray(fz.unique_values(x)), np.sort(np.unique_values(a)))


def test_isin():
    a = np.array([[1, 5], [7, 2]])
    for among in ([2, 5, 5, 9], [], [1.0, 2.5], [True]):
        agree(lambda m, x, y: m.isin(x, y), a, np.array(among))
        agree(lambda m, x, y: m.isin(x, y, invert=True), a, np.array(among))
    agree(lambda m, x, y: m.isin(x, y), FLOATS, FLOATS)


def test_closeness():
    a = np.array([1.0, 1.0, np.inf, np.inf, np.nan, 0.0, 1.0])
    b = np.array([1.0 + 1e-6, 1.1, np.inf, -np.inf, np.nan, 1e-9, np.inf])
    agree(lambda m, x, y: m.isclose(x, y), a, b)
    agree(lambda m, x, y: m.isclose(x, y, equal_nan=True), a, b)
    agree(lambda m, x, y: m.isclose(x, y, 0.2, 0.1), a, b)
    x = fz.asarray(a)
    assert fz.allclose(x, x) is False and fz.allclose(x, x, equal_nan=True) is True
    assert fz.array_equal(x[:4], x[:4]) is True and fz.array_equal(x[:4], x[:3]) is False


def test_namespace_info():
    info = fz.__array_namespace_info__()
    assert info.dtypes(kind="bool") == {"bool": fz.bool}
    assert info.dtypes()["float32"] is fz.float32 and len(info.dtypes()) == 13
    assert set(info.dtypes(kind=("signed integer", "bool"))) == {
        "int8", "int16", "int32", "int64", "bool",
    }  # fmt: skip
    assert info.default_dtypes()["real floating"] is fz.zeros(1).dtype
    assert info.default_dtypes()["indexing"] is fz.argsort(fz.zeros(2)).dtype
    assert info.default_device() in info.devices()
    rank = info.capabilities()["max dimensions"]
    assert fz.zeros((1,) * rank).ndim == rank
    with pytest.raises(ValueError):
        fz.zeros((1,) * (rank + 1))


def test_what_does_not_exist_says_so():
    with pytest.raises(AttributeError, match="module 'frazil' has no attribute 'busday_count'"):
        fz.busday_count(1, 2)
