"""arange of integers is exact; boolean masks without elements index as NumPy's do."""

import itertools

import numpy as np
import pytest

import frazil as fz

BOUNDS = [0, 1, -1, 7, -7, 2**31, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**62) - 3]


@pytest.mark.parametrize("start", BOUNDS)
def test_integers_are_exact(start):
    for length, step in itertools.product([0, 1, 2, 3, 10], [1, 2, 3, -1, -2, 10**9 + 7, -(2**40)]):
        for rest in (0, -1 if step > 0 else 1):
            stop = start + length * step + rest
            want = list(range(start, stop, step))
            if want and not all(-(2**63) <= v < 2**63 for v in want) or abs(stop) > 2**63:
                continue
            got = fz.arange(start, stop, step)
            assert got.tolist() == want and got.dtype is fz.int64, (start, stop, step)


def test_lengths_that_a_double_does_not_hold():
    assert fz.arange(2**53, 2**53 + 3).tolist() == [2**53, 2**53 + 1, 2**53 + 2]
    assert fz.arange(2**62, 2**62 + 10).shape == (10,)
    assert fz.arange(2**63 - 1, 2**63 - 4, -1).tolist() == [2**63 - 1, 2**63 - 2, 2**63 - 3]
    assert fz.arange(-(2**63), 2**63 - 1, 2**62).tolist() == [-(2**63), -(2**62), 0, 2**62]
    assert fz.arange(0, 5, 2**63).tolist() == [0]
    assert fz.arange(5, 0, 2**63).tolist() == []


def test_unsigned():
    x = fz.arange(2**63, 2**63 + 3)
    assert x.dtype is fz.uint64 and x.tolist() == [2**63, 2**63 + 1, 2**63 + 2]
    x = fz.arange(2**63 - 2, 2**63 + 2)
    assert x.dtype is fz.uint64 and x.tolist() == [2**63 - 2, 2**63 - 1, 2**63, 2**63 + 1]
    assert fz.arange(2**64 - 1, 2**64 - 4, -1).tolist() == [2**64 - 1, 2**64 - 2, 2**64 - 3]
    assert fz.arange(2**63 - 2, 2**63).dtype is fz.int64  # the bound is no element
    assert fz.arange(2**64 - 1, 2**64 - 1).shape == (0,)
    with pytest.raises(OverflowError, match=r"\[arange\] -3 to 18446744073709551615 fits neither"):
        fz.arange(-3, 2**64 - 1, 2**63)
    with pytest.raises(OverflowError, match=r"\[arange\].*out of bounds for 64 bits"):
        fz.arange(2**70, 2**70 + 3)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "float32", "float64"])
def test_dtypes_as_numpy(dtype):
    for args in ((5,), (5, 0, -1), (0, 300, 100), (2**40, 2**40 + 3), (True, 4), (7, 7)):
        if dtype == "uint8" and args[0] > 255 or dtype == "int32" and args[0] > 2**31:
            continue  # NumPy refuses
        if dtype == "int8" and args[0] > 127:
            continue
        want = np.arange(*args, dtype=dtype)
        got = fz.arange(*args, dtype=dtype)
        assert got.dtype.name == dtype and got.tolist() == want.tolist(), args
    x = fz.arange(2**63, 2**63 + 3, dtype="float64")
    assert x.tolist() == [float(2**63)] * 3


def test_floats_as_numpy():
    for args in ((0, 1, 0.25), (0.5, 3), (3.5,), (1, 0, -0.25), (0, 1, -0.5), (2**53, 2**53 + 3.0)):
        want = np.arange(*args)
        got = fz.arange(*args, dtype="float64")
        np.testing.assert_allclose(np.asarray(got), want)
        assert fz.arange(*args).dtype is fz.float32


def test_what_has_no_end():
    for args in (
        (-(2**63), 2**63 - 1),
        (0, 2**64 - 1),
        (0, float("inf")),
        (float("nan"), 1),
        (0, 1e300),
    ):
        with pytest.raises(ValueError, match=r"\[arange\] .* to .* by 1 has too many elements"):
            fz.arange(*args)
    with pytest.raises((MemoryError, ValueError)):
        fz.arange(2**58)
    for step in (0, 0.0, float("nan")):
        with pytest.raises(ValueError, match=r"\[arange\] step must not be zero"):
            fz.arange(0, 1, step)


def outcome(f):
    try:
        return f().shape
    except IndexError:
        return "IndexError"


SHAPES = [s for n in range(4) for s in itertools.product((0, 1, 2), repeat=n)]


@pytest.mark.parametrize("shape", SHAPES)
def test_masks_of_every_small_shape(shape):
    a = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    x = fz.asarray(a)

    def both(index, key):
        want, got = outcome(lambda: a[index(key)]), outcome(lambda: x[index(fz.asarray(key))])
        assert got == want, (key.shape, index)
        b, y = a.copy(), fz.asarray(a)
        if want == "IndexError":
            with pytest.raises(IndexError):
                y[index(fz.asarray(key))] = 9
        else:
            b[index(key)] = 9
            y[index(fz.asarray(key))] = 9
            assert x[index(fz.asarray(key))].tolist() == a[index(key)].tolist()
        assert y.tolist() == b.tolist()

    for mask in SHAPES:
        for value in (False, True):
            key = np.full(mask, value)
            both(lambda m: m, key)
            both(lambda m: (slice(None), m), key)
            both(lambda m: (m, None), key)
            both(lambda m: (Ellipsis, m), key)


@pytest.mark.parametrize("shape", [(0,), (3,), (2, 3), (0, 2)])
@pytest.mark.parametrize("key", [[], [[]], [[], []], ([],), [[[]]], ()])
def test_lists_without_elements_are_integers(key, shape):
    a = np.zeros(shape)
    x = fz.asarray(a)
    assert outcome(lambda: x[key]) == outcome(lambda: a[key])
    after = (slice(None), key) if key else ()
    assert outcome(lambda: x[after]) == outcome(lambda: a[after])
    x[key], a[key] = 1, 1
    assert x.tolist() == a.tolist()
