"""Python ints beside tensors: what fits, what overflows, and what has an answer all the same."""

import operator

import numpy as np
import pytest

import frazil as fz

INTS = [0, -1, 2, 300, -300, 2**31, 2**63 - 1, 2**63, -(2**63), 2**64 - 1, 2**64, 2**70, -(2**70)]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64", "float32"])
@pytest.mark.parametrize("compare", COMPARISONS, ids=lambda f: f.__name__)
def test_comparisons_are_exact(dtype, compare):
    info = np.finfo(dtype) if dtype == "float32" else np.iinfo(dtype)
    a = np.array([0, 1, info.max, info.min], dtype)
    x = fz.asarray(a)
    traced = fz.trace(compare)
    for n in INTS:
        for got, wanted in (
            (compare(x, n), compare(a, n)),
            (compare(n, x), compare(n, a)),
            (traced(x, n), compare(a, n)),
        ):
            assert got.dtype is fz.bool and got.tolist() == wanted.tolist(), n


@pytest.mark.parametrize("compare", COMPARISONS, ids=lambda f: f.__name__)
def test_uint64_beside_signed_is_exact(compare):
    u = np.array([0, 2**63 - 1, 2**63, 2**64 - 1], "uint64")[:, None]
    for dtype in ("int8", "int64"):
        s = np.array([0, -1, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
        x, y = fz.asarray(u), fz.asarray(s)
        assert compare(x, y).tolist() == compare(u, s).tolist()
        assert compare(y, x).tolist() == compare(s, u).tolist()


def test_bool_compares_with_any_int():
    assert (fz.asarray([True, False]) < 2**70).tolist() == [True, True]
    assert fz.equal(1, 2**70).item() is False and fz.less(2**63, 5).item() is False


def test_arithmetic_overflows():
    x = fz.asarray([1, 2], dtype="int32")
    for call in (lambda: x + 2**70, lambda: 2**70 - x, lambda: x // 2**70, lambda: x**2**70):
        with pytest.raises(OverflowError, match="Python integer beyond 64 bits is out of bounds"):
            call()
    with pytest.raises(OverflowError) as error:
        fz.maximum(x, -(2**70))
    assert str(error.value) == "[maximum] Python integer beyond 64 bits is out of bounds for int32."
    with pytest.raises(OverflowError) as error:
        fz.asarray([1.5]) * 2**2000
    assert (
        str(error.value) == "[multiply] Python integer beyond 64 bits is out of bounds for float32."
    )


def test_floats_take_large_ints():
    a = np.array([1.5], "float32")
    x = fz.asarray(a)
    assert (x + 2**70).tolist() == (a + np.float32(2**70)).tolist()
    assert (x == 2**70).tolist() == [False]
    assert (fz.asarray([1, 2]) / 2**70).tolist() == [2.0**-70, 2.0**-69]
    assert fz.asarray([2**70, 1.0]).tolist() == [2.0**70, 1.0]
    assert fz.full(2, -(2**70), dtype="float64").tolist() == [-(2.0**70)] * 2


@pytest.mark.parametrize("dtype", ["int8", "uint64", "int32"])
def test_clip_at_bounds_outside_the_dtype(dtype):
    a = np.array([1, 2, 100], dtype)
    x = fz.asarray(a)
    for low, high in ((-300, 50), (2, 2**70), (-(2**70), 2**70), (None, 2**64), (-(2**70), None)):
        if high is not None or low is not None:
            got = fz.clip(x, low, high)
            assert got.dtype.name == dtype and got.tolist() == np.clip(a, low, high).tolist()
    for low, high in ((2**70, None), (None, -(2**70)), (2**64, 2**65)):
        with pytest.raises(OverflowError, match=r"^\[clip\] Python integer beyond 64 bits"):
            fz.clip(x, low, high)
    with pytest.raises(OverflowError) as error:
        fz.clip(fz.asarray([1], dtype="int8"), 300, 400)
    assert str(error.value) == "[clip] Python integer 300 is out of bounds for int8."
