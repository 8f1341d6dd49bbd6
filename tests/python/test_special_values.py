"""Elementwise functions beside NumPy's where they are hard: zeros, infinities, NaN of both signs,
the smallest and the largest numbers, neighbours of one."""

import numpy as np
import pytest

import frazil as fz

DTYPES = ["float16", "float32", "float64"]
WORDS = {"float16": "uint16", "float32": "uint32", "float64": "uint64"}
UNARY = {  # ours: NumPy's, where the names differ
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atanh": "arctanh",
    "round": "rint",
} | {
    name: name
    for name in ("abs", "ceil", "cos", "cosh", "exp", "expm1", "floor", "isfinite", "isinf")
    + ("isnan", "log", "log10", "log1p", "log2", "nan_to_num", "negative", "reciprocal", "sign")
    + ("signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc")
}
BINARY = {"atan2": "arctan2", "pow": "power"} | {
    name: name
    for name in ("add", "copysign", "divide", "equal", "floor_divide", "hypot", "isclose", "less")
    + ("logaddexp", "maximum", "minimum", "multiply", "remainder", "subtract")
}
NUMBERS = [0, 0.5, 1, 2, 3, 7.5, 10, 88.8, 100, 709.9, 710.3, 745.2, 1e-310, 1e-30, 1e30, 1e300]


def values(dtype):
    """Each once, NaN with and without a sign."""
    f = np.finfo(dtype)
    limits = [f.max, f.tiny, f.smallest_subnormal, 1 - f.epsneg, 1 + f.eps, np.inf, np.nan]
    with np.errstate(over="ignore"):
        x = np.array([*NUMBERS, *limits]).astype(dtype)
    words = np.unique(np.concatenate([x, -x]).view(WORDS[dtype]))
    return words.view(dtype)


def differences(got, want, bound):
    """Where they differ by more than `bound` units of the last place, or in the sign of a zero."""
    assert got.dtype == want.dtype and got.shape == want.shape
    if want.dtype.kind != "f":
        return got != want
    with np.errstate(all="ignore"):
        distance = abs(got.astype(np.longdouble) - want) / np.spacing(abs(want))
    same = (got == want) | (np.isnan(got) & np.isnan(want)) | (distance <= bound)
    return ~same | ((got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want)))


def agree(name, theirs, arrays, excused=False, bound=2):
    with np.errstate(all="ignore"):
        want = getattr(np, theirs)(*arrays)
        if name == "floor_divide":  # the array API's, not NumPy's (core/SEMANTICS.md)
            a, b = arrays
            want = np.where(np.isinf(a) | np.isinf(b), np.floor(a / b), want)
    call = getattr(fz, name)
    for f in (call, fz.trace(call)):
        got = np.asarray(f(*map(fz.asarray, arrays)))
        wrong = differences(got, want, bound) & ~np.asarray(excused)
        assert not wrong.any(), [
            f"{name}{tuple(a[i].item() for a in arrays)} is {got[i]}, NumPy has {want[i]}"
            for i in map(tuple, np.argwhere(wrong)[:8])
        ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name, dtype):
    agree(name, UNARY[name], [values(dtype)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(name, dtype):
    x = values(dtype)
    a, b = (m.copy() for m in np.broadcast_arrays(x[:, None], x))
    excused, bound = False, 2
    with np.errstate(all="ignore"):
        if name == "remainder" and dtype != "float16":  # exact for quotients below
            excused = abs(a / b) >= (2**22 if dtype == "float32" else 2**51)
            excused &= np.isfinite(a) & (b != 0)
        if name in ("maximum", "minimum"):  # NumPy takes either zero
            excused = (a == 0) & (b == 0)
        if name == "logaddexp":  # nothing is left where the sum is near 1
            excused = abs(np.logaddexp(a, b)) < 0.5
            bound = 4
    agree(name, BINARY[name], [a, b], excused, bound)


@pytest.mark.parametrize("dtype", DTYPES)
def test_signbit_reads_the_sign_of_any_nan(dtype):
    quiet = {"float16": 0x7E01, "float32": 0x7FC00001, "float64": 0x7FF8 << 48}[dtype]
    top = 1 << (8 * np.dtype(dtype).itemsize - 1)
    x = fz.asarray(np.array([quiet, quiet | top, 0, top] * 9, WORDS[dtype]).view(dtype))
    want = [False, True] * 18
    assert fz.signbit(x).tolist() == want
    assert fz.trace(lambda t: fz.signbit(t[::-1]))(x).tolist() == want[::-1]
    assert fz.signbit(fz.copysign(fz.ones(36, dtype=dtype), x)).tolist() == want


def test_signbit_of_what_has_no_sign_of_its_own():
    for dtype in ("int8", "int64", "uint8", "uint64", "bool"):
        x = np.array([0, 1, 5, 100]).astype(dtype)
        assert fz.signbit(fz.asarray(x)).tolist() == [False] * 4
    assert fz.signbit(fz.asarray(np.array([-1, 0, -128], "int8"))).tolist() == [True, False, True]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_acosh_of_large_negatives_is_nan(dtype):
    x = np.array([-9e7, -1e8, -1e38, np.finfo(dtype).min, -np.inf, 0.5, -0.0], dtype)
    assert np.isnan(np.asarray(fz.acosh(fz.asarray(x)))).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_where_formulas_change(dtype):
    """A branch that is not taken, a bound that is met: the derivative is the function's own."""
    x = np.array([-710.0, -88.0, -30.0, -1.0, 0.0, 1.0, 30.0, 88.0, 1e8], dtype)
    wide = x.astype(np.longdouble)
    with np.errstate(over="ignore"):
        cosh, sinh = np.cosh(wide).astype(dtype), np.sinh(wide).astype(dtype)
    for f, want in (
        (fz.sinh, cosh),
        (fz.cosh, sinh),
        (fz.asinh, (1 / np.hypot(1, wide)).astype(dtype)),
    ):
        got = np.asarray(fz.grad(lambda t, f=f: f(t).sum())(fz.asarray(x)))
        np.testing.assert_allclose(got, want, rtol=2e-5 if dtype == "float32" else 1e-13)
    x = np.array([1 + 2**-20, 1.5, 30, 1e8, 1e18], dtype)
    got = np.asarray(fz.grad(lambda t: fz.acosh(t).sum())(fz.asarray(x)))
    wide = x.astype(np.longdouble)
    np.testing.assert_allclose(got, 1 / np.sqrt((wide - 1) * (wide + 1)), rtol=1e-6)


def test_vecdot_is_numpys():
    rng = np.random.default_rng(2)
    for shapes, axis in (
        (((2, 3), (3,)), -1),
        (((4, 2, 3), (2, 3)), -1),
        (((2, 3), (2,)), 0),
        (((3, 2), (3, 1)), 0),
        (((0, 3), (3,)), -1),
    ):
        a, b = (rng.integers(0, 9, shape) for shape in shapes)
        for dtype in ("uint8", "int32", "float32", "bool"):
            x, y = a.astype(dtype), b.astype(dtype)
            want, got = (
                np.vecdot(x, y, axis=axis),
                fz.vecdot(fz.asarray(x), fz.asarray(y), axis=axis),
            )
            assert got.dtype.name == dtype == want.dtype.name
            np.testing.assert_array_equal(np.asarray(got), want)
    for shapes in (((2, 3), (2, 1)), ((3,), (1,)), ((2, 3), (2,))):
        with pytest.raises(
            ValueError, match=r"\[vecdot\] axis -1 has 3 elements in .* and [12] in"
        ):
            fz.vecdot(*(fz.ones(shape) for shape in shapes))
    with pytest.raises(IndexError, match=r"\[vecdot\] axis -1 is out of range for rank 0"):
        fz.vecdot(fz.asarray(1.0), fz.ones(3))
