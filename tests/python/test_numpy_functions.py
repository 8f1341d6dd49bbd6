"""NumPy's functions that call methods, and the tensor's own methods they call."""

import numpy as np
import pytest

import frazil as fz

A = np.array([[1.5, -2.25, 4.0], [0.5, 3.125, -1.0]], "float32")

CALLS = [
    lambda m, x: m.sum(x), lambda m, x: m.sum(x, axis=1), lambda m, x: m.sum(x, keepdims=True),
    lambda m, x: m.sum(x, dtype="float64"), lambda m, x: m.prod(x, axis=0),
    lambda m, x: m.mean(x), lambda m, x: m.mean(x, axis=(0, 1), dtype="float64", keepdims=True),
    lambda m, x: m.std(x), lambda m, x: m.std(x, axis=0, ddof=1), lambda m, x: m.var(x, ddof=1),
    lambda m, x: m.max(x), lambda m, x: m.min(x, axis=-1), lambda m, x: m.any(x > 3),
    lambda m, x: m.all(x > 3, axis=0), lambda m, x: m.argmax(x), lambda m, x: m.argmin(x, axis=1),
    lambda m, x: m.round(x, 1), lambda m, x: m.round(x), lambda m, x: m.clip(x, -1, 2),
    lambda m, x: m.clip(x, None, 2), lambda m, x: m.squeeze(x[:1]), lambda m, x: m.transpose(x),
    lambda m, x: m.swapaxes(x, 0, 1),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(CALLS)))
def test_numpy_function_of_a_tensor(i):
    got, wanted = CALLS[i](np, fz.asarray(A)), CALLS[i](np, A)
    assert isinstance(got, fz.Tensor)
    assert got.shape == wanted.shape and got.dtype.name == wanted.dtype.name
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-6)


def test_integers():
    for dtype in ("int8", "bool", "uint32"):
        a = np.array([1, 0, 1], dtype)
        for name in ("sum", "mean", "max", "std"):
            got, wanted = getattr(np, name)(fz.asarray(a)), getattr(np, name)(a)
            assert got.dtype.name == wanted.dtype.name and got.item() == pytest.approx(wanted)


def test_out_and_both_corrections():
    with pytest.raises(TypeError) as error:
        fz.asarray(A).sum(out=np.zeros(()))
    assert str(error.value) == "[sum] out= must be None: results are new tensors."
    with pytest.raises(TypeError) as error:
        fz.asarray(A).std(correction=1, ddof=1)
    assert str(error.value) == "[std] takes correction or ddof, not both."


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int64"])
@pytest.mark.parametrize("decimals", [-3, -1, 0, 1, 2])
def test_round(dtype, decimals):
    a = np.array([15, 25, -15, 12.25, -0.125, 99, 2.675]).astype(dtype)
    got, wanted = round(fz.asarray(a), decimals), np.round(a, decimals)
    assert got.dtype.name == dtype
    np.testing.assert_array_equal(np.asarray(got), wanted)
    for same in (fz.round(a, decimals), fz.round(fz.asarray(a), decimals=decimals),
                 np.around(fz.asarray(a), decimals), fz.asarray(a).round(decimals)):  # fmt: skip
        assert same.dtype == got.dtype and same.tolist() == got.tolist()
    traced = fz.trace(lambda x: round(x, decimals))
    for _ in range(2):
        assert traced(fz.asarray(a)).tolist() == got.tolist()
    assert round(fz.asarray(a)).tolist() == np.round(a).tolist()


def test_nonzero():
    a = np.array([[0, 3, 0], [4, 0, -1]])
    for x in (a, a.astype("float32"), a > 0, a[:0], a.T):
        for got in (fz.nonzero(fz.asarray(x)), fz.where(fz.asarray(x)), fz.asarray(x).nonzero()):
            assert isinstance(got, tuple)
            assert [i.tolist() for i in got] == [i.tolist() for i in np.nonzero(x)]
    with pytest.raises(ValueError) as error:
        fz.nonzero(fz.asarray(3))
    assert str(error.value) == "[nonzero] needs at least one axis, got i64[]; use reshape."
    with pytest.raises(ValueError, match=r"^\[where\] needs at least one axis, got i64\[\];"):
        fz.where(fz.asarray(3))
    with pytest.raises(TypeError, match="takes 3 positional arguments, got 2"):
        fz.where(fz.asarray([True]), 1)


def test_nonzero_in_a_trace():
    traced = fz.trace(lambda x: fz.take(x * 10, fz.where(x > 2)[0], axis=0) + 1)
    for values in ([1, 2, 3, 4], [5, 1, 1, 1], [0, 0, 0, 0], [1, 2, 3, 4]):
        assert traced(fz.asarray(values)).tolist() == [v * 10 + 1 for v in values if v > 2]


def test_matmul_of_bools():
    rng = np.random.default_rng(0)
    for a, b in (((3, 4), (4, 5)), ((4,), (4,)), ((2, 3, 300), (300, 2))):
        x, y = rng.random(a) < 0.1, rng.random(b) < 0.1
        got = fz.asarray(x) @ fz.asarray(y)
        assert got.dtype is fz.bool and got.tolist() == (x @ y).tolist()


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool", "float16", "float32", "float64"])
def test_arrays_have_the_type_number_of_numpys_own(dtype):
    # Several of NumPy's types have 64 bits; libraries in C tell them apart by number.
    t, a = fz.ones((2, 3), dtype=dtype), np.ones((2, 3), dtype)
    arrays = [np.asarray(t), np.array(t), t.numpy(), np.asarray(t.T), np.asarray(t[0, 0])]
    arrays += [t.__array__(), np.asarray(t, dtype=dtype), np.asarray(memoryview(t)), t[:0].numpy()]
    assert {x.dtype.num for x in arrays} == {a.dtype.num}
    np.testing.assert_array_equal(fz.asarray(np.asarray(t)), a)


def test_scipy_reads_int64():
    ndimage = pytest.importorskip("scipy.ndimage")
    t = fz.asarray([[1, 0, 2], [2, 2, 0]])
    a = np.asarray(t.tolist())
    assert list(ndimage.value_indices(t)) == [0, 1, 2]
    for x in (t, t.astype("uint64")):
        np.testing.assert_array_equal(
            ndimage.rank_filter(x, 1, size=2), ndimage.rank_filter(a, 1, size=2)
        )
